// Checks the input of `run` and `submit` before anything starts.
import { stat } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { isAbsolute, relative, resolve } from 'node:path'
import type { SubmitTask, SubmittedTask } from '@beaver/client'
import { BeaverError, type JsonObject } from '@beaver/core'
import type { Connection } from '../connection.ts'
import { UsageError } from '../failures.ts'
import { readArguments, readJson } from './read-arguments.ts'
import { readBudget } from './read-budget.ts'

export interface TaskOptions {
  readonly skill?: string
  readonly profile?: string
  /** The name of a configured model. */
  readonly model?: string
  readonly workflow?: string
  /** The path of the file with the arguments of `workflow`. */
  readonly file?: string
  readonly session?: string
  readonly workspace?: string
  readonly taskId?: string
  /** The user for whom the task runs. */
  readonly user?: string
  /** Paths of images in the workspace. */
  readonly image?: readonly string[]
  /** The path of the file with the checks of the final text. */
  readonly evidence?: string
  /** The path of the file with the JSON Schema of the answer. */
  readonly outputSchema?: string
  /** The most that the task may use, as `readBudget` reads it. */
  readonly budget?: string
}

/**
 * Reads the request from the options.
 *
 * @throws {BeaverError} `invalid_arguments` for an empty task or unreadable arguments, `workspace_missing`
 * @throws {UsageError} if the user named neither a task nor a workflow, or both
 */
export async function readTask(
  task: string | undefined,
  options: TaskOptions,
  args?: Readonly<Record<string, unknown>>,
): Promise<SubmitTask> {
  if (options.taskId === 'latest')
    throw new UsageError(
      'The word latest stands for the newest task, so no task has it as its id. Choose another one.',
    )
  const budget = options.budget === undefined ? {} : { budget: readBudget(options.budget) }
  const work = await workOf(task, options, args)
  const evidence =
    options.evidence === undefined ? {} : { required_evidence: await readEvidence(options.evidence, task) }
  const workspace = resolve(options.workspace ?? process.cwd())
  const found = await stat(workspace).catch(() => null)
  if (found?.isDirectory() !== true) {
    const what =
      found === null ? `The folder ${workspace} does not exist.` : `${workspace} is a file, not a folder.`
    throw new BeaverError('workspace_missing', `${what} Name a folder that exists with --workspace.`, {
      problems: [{ path: 'workspace', message: what }],
    })
  }
  return {
    ...work,
    ...evidence,
    ...budget,
    ...(options.outputSchema === undefined
      ? {}
      : { output_schema: await readSchema(options.outputSchema, task) }),
    ...(options.image === undefined
      ? {}
      : { images: options.image.map((path) => (isAbsolute(path) ? relative(workspace, path) : path)) }),
    user_id: options.user,
    workspace,
    session_id: options.session,
    task_id: options.taskId,
    source: 'cli',
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  }
}

/** Submits a task. The session `latest` means the session with the newest task. */
export async function submitTask(
  { client }: Pick<Connection, 'client'>,
  request: SubmitTask,
): Promise<SubmittedTask> {
  if (request.session_id !== 'latest') return await client.submit(request)
  const { session } = await client.query('session', {
    session_id: 'latest',
    user_id: request.user_id,
    limit: 1,
  })
  return await client.submit({ ...request, session_id: session.session_id })
}

/** Reads the checks. Only the daemon judges them; this makes sure that the file contains a list. */
async function readEvidence(
  file: string,
  task: string | undefined,
): Promise<NonNullable<SubmitTask['required_evidence']>> {
  if (file === '-' && task === '-')
    throw new UsageError(
      'The task and --evidence cannot both be read from stdin. Write the checks into a file.',
    )
  const checks = await readJson(file, 'a list of checks')
  if (Array.isArray(checks)) return checks as NonNullable<SubmitTask['required_evidence']>
  throw new BeaverError(
    'invalid_arguments',
    `${file === '-' ? 'The input' : `The file ${file}`} must contain a JSON list of checks, such as [{"kind": "output_length", "min": 200}].`,
    {
      problems: [{ path: 'required_evidence', message: 'must be a list' }],
    },
  )
}

/** Reads the schema. Only the daemon judges it; this makes sure that the file contains an object. */
async function readSchema(file: string, task: string | undefined): Promise<JsonObject> {
  if (file === '-' && task === '-')
    throw new UsageError(
      'The task and --output-schema cannot both be read from stdin. Write the schema into a file.',
    )
  const schema = await readJson(file, 'a JSON Schema')
  if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) return schema as JsonObject
  const message = `${file === '-' ? 'The input' : `The file ${file}`} must contain a JSON Schema, such as {"type": "object"}.`
  throw new BeaverError('invalid_arguments', message, {
    problems: [{ path: 'output_schema', message: 'must be an object' }],
  })
}

/** @param args the arguments of `workflow`, if the caller has already read them */
async function workOf(
  task: string | undefined,
  options: TaskOptions,
  args?: Readonly<Record<string, unknown>>,
): Promise<SubmitTask> {
  if (options.workflow === undefined) return agentWork(task, options)
  return args === undefined
    ? workflowWork(options.workflow, task, options)
    : { workflow: { name: options.workflow, arguments: args } }
}

async function agentWork(
  task: string | undefined,
  { skill, profile, model, file }: TaskOptions,
): Promise<SubmitTask> {
  if (file !== undefined)
    throw new UsageError(
      'The option --file gives the arguments of a workflow. Name the workflow with --workflow.',
    )
  if (task === undefined)
    throw new UsageError(
      'The task is missing. Write it in quotes, such as beaver run "Report on this folder", or name a workflow with --workflow.',
    )
  const text = task === '-' ? await textOf(process.stdin) : task
  if (text.trim() === '') {
    throw new BeaverError(
      'invalid_arguments',
      'The task is empty. Write in quotes what to do, such as beaver run "Report on this folder".',
      {
        problems: [{ path: 'task', message: 'must not be empty' }],
      },
    )
  }
  return { task: text, skill, profile, model }
}

async function workflowWork(
  name: string,
  task: string | undefined,
  { skill, profile, model, file }: TaskOptions,
): Promise<SubmitTask> {
  const given = { 'A task': task, '--skill': skill, '--profile': profile, '--model': model }
  const forAgent = Object.entries(given).find(([, value]) => value !== undefined)?.[0] ?? null
  if (forAgent !== null)
    throw new UsageError(
      `${forAgent} is for a root agent, but --workflow runs without one. Say what to do in the arguments of the workflow (--file).`,
    )
  const args = file === undefined ? {} : await readArguments(file, name)
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    throw new BeaverError('invalid_arguments', `The arguments of ${name} must be one JSON object.`, {
      problems: [{ path: 'workflow.arguments', message: 'must be an object' }],
    })
  return { workflow: { name, arguments: args as Readonly<Record<string, unknown>> } }
}
