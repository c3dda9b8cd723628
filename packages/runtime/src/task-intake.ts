// Accepts a task: validates it, makes it durable, then answers. Nothing of a refused request is stored.
// I1. The same id with the same request gives the same answer. With another request, or in another session,
// it gives `conflict`. An id names one task of its tenant, even if several sessions use it at the same
// moment.
import { isAbsolute } from 'node:path'
import { mayBeAccepted, type RequestRead, type SubmittedTask } from '@beaver/contracts'
import {
  type ClientTool,
  BeaverError,
  type ErrorCode,
  type Ids,
  type JsonObject,
  type LogId,
  type SessionId,
  type TaskId,
  type TaskRequest,
} from '@beaver/core'
import { amountText, type BudgetLimits, budgetMeasures } from '@beaver/core/budget'
import { definitionPrefix } from '@beaver/core/graph'
import { isReservedTool } from '@beaver/agent'
import { hasSecret, maskedData } from '@beaver/core/secrets'
import {
  evidenceFault,
  finalFormFault,
  finalQuotesFault,
  type KnownTools,
  type Refusal,
  skillsOf,
  type Workflow,
} from '@beaver/workflows'
import { type AcceptPorts, acceptTask, type AskedBy, repeated } from './accept-task.ts'
import { limitsOf } from './budget-rules.ts'
import { namedImages, taskImages } from './task-images.ts'

export interface IntakePorts extends AcceptPorts {
  readonly ids: Ids
  readonly workspaceDefault: string
  readonly skillNames: readonly string[]
  readonly profileNames: readonly string[]
  /** The models that a task may name. */
  readonly modelNames: readonly string[]
  /** The skills that only tasks in this workspace may name. Absent: none. */
  readonly skillsIn?: (
    workspace: string,
    how?: { readonly now?: boolean },
  ) => Promise<readonly { readonly name: string }[]>
  /**
   * The tools that agents may have. `ofProfile`: those of a root with this profile and of its teams; `null`:
   * no limit. Absent: not known.
   */
  readonly tools?: {
    readonly known: KnownTools
    readonly ofProfile: (profile: string | null) => readonly string[] | null
  }
  /**
   * Reloads skills, profiles and definitions that have changed. `now`: even right after another look. Absent:
   * they do not change.
   */
  readonly refresh?: (how?: { readonly now: boolean }) => Promise<void>
  /** A workflow that a task may be, by its name. */
  readonly findWorkflow: (name: string) => Workflow | null
  /**
   * What is wrong with the file of a workflow or profile that is not loaded. `null`: there is no such file.
   * Absent: not known.
   */
  readonly brokenFile?: (name: string) => string | null
  /** The known names, for the error about an unknown one. */
  readonly workflowNames: readonly string[]
  /** Maps the given arguments to those that the task keeps; absent: the same. */
  readonly resolveArguments?: (
    workflow: string,
    args: JsonObject,
  ) => { readonly ok: true; readonly args: JsonObject } | Refusal
}

/**
 * @throws {BeaverError} `invalid_arguments`, `workspace_missing`, `workspace_refused`, `unknown_skill`,
 * `unknown_profile`, `unknown_workflow`, `conflict`, `not_allowed`
 */
export async function submitTask(
  request: RequestRead<'task.submit'>,
  ports: IntakePorts,
  caller: AskedBy = {},
): Promise<SubmittedTask> {
  const { journal, tenant } = ports
  for (const id of ['task_id', 'session_id'] as const)
    if (hasSecret(request[id] ?? ''))
      throw refuse(
        'invalid_arguments',
        id,
        `The ${id} looks like a key or contains one. It is the name of a log, where everybody can read it.`,
      )
  // Keep the order of the requests for one session, however long the validation of each takes.
  using place =
    request.session_id === undefined || request.fresh === 'session'
      ? null
      : ports.lines.place(tenant, request.session_id as SessionId)
  const there =
    request.task_id === undefined || request.fresh !== undefined
      ? null
      : await journal.find(tenant, request.task_id)
  const task = maskedData(await validated(request, ports, { accepted: there !== null }))
  const taskId = (request.task_id ?? ports.ids.next('task')) as TaskId
  // A task without a session begins one with its own id. A repeated request finds it by its id alone, in any
  // session.
  const log: LogId = {
    tenant,
    session: (request.session_id ?? there?.session ?? taskId) as SessionId,
    task: taskId,
  }
  if (there !== null) return await repeated(there, log, task, ports)
  const newSession =
    request.fresh === 'session' ||
    (request.session_id === undefined && (request.task_id === undefined || request.fresh === 'task'))
  const of = { ...caller, newSession, ...(place === null ? {} : { place }) }
  return await acceptTask(log, task, ports, of).catch((error: unknown) => {
    if (!(error instanceof BeaverError && (error.code === 'timeout' || error.code === 'unreachable')))
      throw error
    throw new BeaverError(error.code, `${error.message} ${mayBeAccepted(taskId)}`, { cause: error })
  })
}

/** D-68: a prefix that the runtime reserves for the runs of its teams. */
const workerSource = 'team:'

type Requested = RequestRead<'task.submit'>

/** @param of `accepted`: the id names a task already, so the request is only compared with that task */
async function validated(
  request: Requested,
  ports: IntakePorts,
  { accepted }: { readonly accepted: boolean },
): Promise<TaskRequest> {
  if (request.source?.startsWith(workerSource) === true)
    throw refuse(
      'invalid_arguments',
      'source',
      `The source ${JSON.stringify(request.source)} begins with "${workerSource}", which marks what Beaver itself starts. Give another one.`,
    )
  const workspace = request.workspace ?? ports.workspaceDefault
  if (!isAbsolute(workspace))
    throw refuse(
      'workspace_missing',
      'workspace',
      `The workspace ${JSON.stringify(workspace)} must be an absolute path.`,
    )
  const found = await ports.folders.at(workspace, { rootsOnly: request.roots_only === true })
  if (found.kind === 'missing')
    throw refuse(
      'workspace_missing',
      'workspace',
      `The folder ${workspace} does not exist. Name a folder that exists.`,
    )
  if (found.kind === 'file')
    throw refuse('workspace_missing', 'workspace', `${workspace} is a file. Name a folder.`)
  if (found.kind === 'refused')
    throw refuse('workspace_refused', 'workspace', refusedWorkspace(workspace, found.why))
  const work = await workOf(request, found.real, ports)
  mustBePossible(request, ports)
  if (!accepted) mustBeFree(request, ports)
  // The configuration may have changed since the task was accepted.
  if (!accepted) mustBeGiven(request.budget, ports)
  const given = request.images ?? []
  const images = accepted
    ? await namedImages(given, ports.blobs)
    : await taskImages(given, found.real, ports.blobs)
  return {
    ...work,
    workspace: found.real,
    source: request.source ?? 'nats',
    ...(request.stream === true ? { stream: true } : {}),
    ...(request.approvals === undefined ? {} : { approvals: request.approvals }),
    ...(request.required_evidence === undefined || request.required_evidence.length === 0
      ? {}
      : { required_evidence: request.required_evidence }),
    ...(request.output_schema === undefined ? {} : { output_schema: request.output_schema }),
    ...(request.budget === undefined || Object.keys(request.budget).length === 0
      ? {}
      : { budget: request.budget }),
    ...(images.length === 0 ? {} : { images }),
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(request.model_settings === undefined ? {} : { model_settings: request.model_settings }),
    ...(request.skills === undefined ? {} : { skills: request.skills }),
    ...(request.client_tools === undefined || request.client_tools.length === 0
      ? {}
      : { client_tools: request.client_tools.map(clientTool) }),
    ...(request.tool_choice === undefined ? {} : { tool_choice: request.tool_choice }),
    ...(request.title === undefined ? {} : { title: request.title }),
    ...(request.user_id === undefined ? {} : { user_id: request.user_id }),
    ...(request.time_zone === undefined ? {} : { time_zone: request.time_zone }),
    ...(request.instructions === undefined ? {} : { instructions: request.instructions }),
    ...(request.history === undefined || request.history.length === 0 ? {} : { history: request.history }),
    ...(request.history_until === undefined
      ? {}
      : { history_until: await earlierTask(request, request.history_until, ports) }),
  }
}

type GivenTool = NonNullable<Requested['client_tools']>[number]

const clientTool = ({ name, description, parameters }: GivenTool): ClientTool => ({
  name,
  ...(description === undefined ? {} : { description }),
  parameters: parameters ?? { type: 'object', properties: {} },
})

/**
 * A tool of a client has a name of its own, and the choice names tools that there are.
 *
 * @throws {BeaverError} `invalid_arguments`
 */
function mustBeFree(
  { client_tools: given = [], tool_choice: choice = 'auto' }: Requested,
  { tools }: IntakePorts,
): void {
  for (const [i, { name }] of given.entries())
    if (isReservedTool(name) || tools?.known.has(name) === true)
      throw refuse(
        'invalid_arguments',
        `client_tools.${i}.name`,
        `There is a tool or a workflow ${JSON.stringify(name)} in this system. Give your tool another name.`,
      )
  const [field, names] =
    typeof choice === 'string'
      ? ['names', []]
      : 'names' in choice
        ? ['names', choice.names]
        : ['except', choice.except]
  const own = new Set(given.map(({ name }) => name))
  const unknown = names.findIndex(
    (name) => !own.has(name) && !isReservedTool(name) && tools?.known.has(name) === false,
  )
  if (unknown !== -1)
    throw refuse(
      'invalid_arguments',
      `tool_choice.${field}.${unknown}`,
      `There is no tool ${JSON.stringify(names[unknown])}. Name a tool of the task or of this system.`,
    )
}

/** @throws {BeaverError} `invalid_arguments` if the task is not in the session of the request */
async function earlierTask(
  { session_id: session }: Requested,
  id: string,
  { journal, tenant }: IntakePorts,
): Promise<TaskId> {
  const earlier = await journal.find(tenant, id as TaskId)
  if (earlier !== null && earlier.session === session) return earlier.task
  throw refuse(
    'invalid_arguments',
    'history_until',
    `There is no task ${JSON.stringify(id)} in this session. Name the session of that task as "session_id".`,
  )
}

/** D-62. @throws {BeaverError} `invalid_arguments` for a check that no final text can pass */
function mustBePossible({ required_evidence, profile, workflow }: Requested, { tools }: IntakePorts): void {
  const allowed = workflow === undefined ? (tools?.ofProfile(profile ?? null) ?? null) : null
  const fault = evidenceFault(
    { required_evidence: required_evidence ?? [], allowed_tool_names: allowed },
    tools?.known,
  )
  if (fault !== null)
    throw refuse('invalid_arguments', fault.error.path, fault.error.message, fault.error.code)
  const at = (required_evidence ?? []).findIndex(
    (each) => typeof each === 'object' && each.kind === 'files_exist',
  )
  if (workflow === undefined || at === -1) return
  const message =
    'The check "files_exist" needs a root agent, which looks for the files after its answer. Give the check to a node of the workflow instead.'
  throw refuse('invalid_arguments', `required_evidence.${at}`, message, 'impossible_evidence')
}

/**
 * A request may lower the limits of a task, and not lift them.
 *
 * @throws {BeaverError} `invalid_arguments`
 */
export function mustBeGiven(
  asked: BudgetLimits | undefined,
  { budgets: rules }: Pick<AcceptPorts, 'budgets'>,
): void {
  const most = rules === undefined ? {} : (limitsOf(rules, {}, { of: 'task', per: 'run' }) ?? {})
  for (const measure of budgetMeasures) {
    const [wanted, limit] = [asked?.[measure], most[measure]]
    if (wanted !== undefined && limit !== undefined && wanted > limit)
      throw refuse(
        'invalid_arguments',
        `budget.${measure}`,
        `The task asks for ${amountText(measure, wanted)}, but the configuration gives a task at most ${amountText(measure, limit)}. Ask for less, or raise "budgets" of the configuration.`,
      )
  }
}

export const refusedWorkspace = (workspace: string, why: 'outside' | 'system'): string =>
  why === 'system'
    ? `Agents do not work in ${workspace}: it is a folder of the operating system or of Beaver, or it holds keys. Name another folder.`
    : `Agents may not work in ${workspace}: it is outside the workspace roots of this system. Name a folder in one of them, or add it to "workspace_roots" of the configuration of the daemon.`

type Work = Pick<TaskRequest, 'text' | 'skill' | 'profile' | 'workflow'>

/** Looks at the files once more before it refuses a name, because a file may be new. */
async function workOf(request: Requested, workspace: string, ports: IntakePorts): Promise<Work> {
  const { refresh } = ports
  await refresh?.()
  try {
    return await work()
  } catch (error) {
    if (refresh === undefined || !(error instanceof BeaverError && unknownNames.has(error.code))) throw error
    await refresh({ now: true })
    return work({ now: true })
  }

  async function work(how: { readonly now?: boolean } = {}): Promise<Work> {
    // Most tasks name no skill: then do not read the files of the workspace.
    const own =
      request.skill === undefined && request.skills === undefined && request.workflow === undefined
        ? []
        : ((await ports.skillsIn?.(workspace, how)) ?? [])
    const there = [...ports.skillNames, ...own.map(({ name }) => name)]
    for (const [i, name] of (request.skills ?? []).entries()) named('skill', name, there, `skills.${i}`)
    if (
      request.skills !== undefined &&
      request.skill !== undefined &&
      there.includes(request.skill) &&
      !request.skills.includes(request.skill)
    )
      throw refuse(
        'unknown_skill',
        'skill',
        `The skill ${JSON.stringify(request.skill)} is not one of "skills". Add it there, or leave it out.`,
      )
    const skillsHere = request.skills ?? there
    return request.workflow === undefined
      ? agentWork(request, ports, skillsHere)
      : workflowWork(request, request.workflow, { ports, skillsHere })
  }
}

const unknownNames: ReadonlySet<string> = new Set<ErrorCode>([
  'unknown_skill',
  'unknown_profile',
  'unknown_workflow',
])

function agentWork(
  { task = '', skill, profile, model }: Requested,
  ports: IntakePorts,
  skillsHere: readonly string[],
): Work {
  if (task.trim() === '') throw refuse('invalid_arguments', 'task', 'The task is empty. Say what to do.')
  if (model !== undefined && !ports.modelNames.includes(model)) {
    const message = `There is no model ${JSON.stringify(model)} (${loaded(ports.modelNames)}). They have their names in "models" of the configuration or of the program.`
    throw refuse('invalid_arguments', 'model', message)
  }
  if (skill !== undefined) named('skill', skill, skillsHere)
  if (profile !== undefined) {
    const broken = ports.profileNames.includes(profile) ? null : (ports.brokenFile?.(profile) ?? null)
    if (broken !== null)
      throw refuse(
        'unknown_profile',
        'profile',
        `The profile ${JSON.stringify(profile)} cannot be used, because its file is broken. ${broken} Correct it.`,
      )
    named('profile', profile, ports.profileNames)
  }
  return { text: task, skill: skill ?? null, ...(profile === undefined ? {} : { profile }) }
}

function workflowWork(
  request: Requested,
  { name, arguments: args }: NonNullable<Requested['workflow']>,
  { ports, skillsHere }: { readonly ports: IntakePorts; readonly skillsHere: readonly string[] },
): Work {
  for (const field of [
    'task',
    'skill',
    'profile',
    'model',
    'model_settings',
    'instructions',
    'history',
    'history_until',
    'images',
    'client_tools',
    'tool_choice',
  ] as const)
    if (request[field] !== undefined)
      throw refuse(
        'invalid_arguments',
        field,
        `"${field}" is for a root agent, but a task with "workflow" has none. Leave it out. Give the workflow its "arguments".`,
      )
  const workflow = ports.findWorkflow(name)
  if (workflow === null) {
    const broken = isDefinition(name)
      ? (ports.brokenFile?.(name.slice(definitionPrefix.length)) ?? null)
      : null
    const message =
      broken === null
        ? `There is no workflow ${JSON.stringify(name)}. Workflows: ${ports.workflowNames.join(', ')}.`
        : `The workflow ${JSON.stringify(name)} cannot be used, because its file is broken. ${broken} Correct it. Other workflows: ${ports.workflowNames.join(', ')}.`
    throw refuse('unknown_workflow', 'workflow.name', message)
  }
  const resolved = ports.resolveArguments?.(workflow.name, args as JsonObject) ?? {
    ok: true,
    args: args as JsonObject,
  }
  if (!resolved.ok) throw refusedArguments(resolved)
  const plan = workflow.plan(resolved.args)
  if (!plan.ok) throw refusedArguments(plan)
  const checks = request.required_evidence ?? []
  const whole = workflow.program === undefined
  const unfounded =
    (whole ? finalQuotesFault(plan.graph, checks) : null) ??
    (whole || isDefinition(name) ? finalFormFault(plan.graph, checks) : null)
  if (unfounded !== null)
    throw refuse('invalid_arguments', unfounded.error.path, unfounded.error.message, unfounded.error.code)
  const missing = skillsOf(plan.graph).find(({ skill }) => !skillsHere.includes(skill))
  if (missing !== undefined) {
    const message = `There is no skill ${JSON.stringify(missing.skill)}, which the agent ${JSON.stringify(missing.agent)} must use (${loaded(skillsHere)}).`
    throw refuse('unknown_skill', 'workflow.arguments', message)
  }
  return { text: plan.graph.task, skill: null, workflow: { name: workflow.name, arguments: resolved.args } }
}

/** The graph of a definition may grow, but the node with its outputs exists from the start. */
const isDefinition = (name: string): boolean => name.startsWith(definitionPrefix)

function refusedArguments({ error: { code, message, path } }: Refusal): BeaverError {
  return refuse(
    'invalid_arguments',
    path === '' ? 'workflow.arguments' : `workflow.arguments.${path}`,
    message,
    code,
  )
}

function named(what: 'skill' | 'profile', name: string, known: readonly string[], path: string = what): void {
  if (!known.includes(name))
    throw refuse(`unknown_${what}`, path, `There is no ${what} ${JSON.stringify(name)} (${loaded(known)}).`)
}

const loaded = (names: readonly string[]): string =>
  names.length === 0 ? 'none is loaded' : `loaded: ${names.join(', ')}`

/** @param code the code of the fault itself, if it has one */
function refuse(error: ErrorCode, path: string, message: string, code?: string): BeaverError {
  return new BeaverError(error, message, {
    problems: [{ path, message, ...(code === undefined ? {} : { code }) }],
  })
}
