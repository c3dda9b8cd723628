// `beaver team run`: runs an AgentTeam from its configuration file, as a task. With --json, it prints the
// team's stream of events (D-50).
import { readFile } from 'node:fs/promises'
import { BeaverError, messageOf, whyUnreadable } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { readTeamConfiguration, type TeamStrategy, teamReport, teamStream } from '@beaver/team-patterns'
import type { GlobalOptions } from '../context.ts'
import type { JsonLines } from '../follow/present-task.ts'
import { runRequest } from './run.ts'
import { readTask, type TaskOptions } from './task-input.ts'

export interface TeamOptions extends Pick<
  TaskOptions,
  'session' | 'workspace' | 'taskId' | 'user' | 'evidence' | 'budget'
> {
  readonly file: string
  readonly strategy?: TeamStrategy
  readonly up?: true
  readonly quiet?: true
  readonly json?: true
  readonly input?: boolean
}

export async function runTeam(
  message: string | undefined,
  options: TeamOptions,
  globals: GlobalOptions,
): Promise<number> {
  const { file, strategy, ...rest } = options
  const given = {
    ...(await readTeamFile(file)),
    ...(strategy === undefined ? {} : { strategy }),
    ...(message === undefined ? {} : { message }),
  }
  const read = readTeamConfiguration(given)
  if (!read.ok) {
    const { path, message: fault } = read.error
    throw new BeaverError('invalid_arguments', `The team in ${file} is not valid: ${fault}`, {
      problems: [{ path, message: fault }],
    })
  }
  if (read.configuration.message === undefined && read.configuration.tasks === undefined) {
    throw new BeaverError(
      'invalid_arguments',
      `The message is missing. Say what the team must do: beaver team run -f ${file} "<message>", or give the file a "message".`,
      {
        problems: [{ path: 'message', message: 'is missing' }],
      },
    )
  }
  const request = await readTask(undefined, { ...rest, workflow: 'AgentTeam' }, { ...read.configuration })
  return runRequest(request, rest, globals, teamLines())
}

async function readTeamFile(file: string): Promise<object> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw new BeaverError(
      'invalid_arguments',
      `The team file ${file} cannot be read: ${whyUnreadable(cause)}.`,
      { cause },
    )
  }
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch (cause) {
    throw new BeaverError('invalid_arguments', `The team file ${file} is not JSON: ${messageOf(cause)}`, {
      cause,
    })
  }
  throw new BeaverError(
    'invalid_arguments',
    `The team file ${file} must contain one JSON object: {"strategy": "…", "members": […]}.`,
  )
}

/**
 * The lines of `--json`: the events of the stream, and then the report of the run with the ids of its task.
 */
function teamLines(): JsonLines {
  const stream = teamStream()
  const events: RecordedEvent[] = []
  return {
    ofEvent(event) {
      events.push(event)
      return stream.next(event)
    },
    result: ({ task_id, session_id, status, result: { usage, provider, model, simulated } }) => ({
      task_id,
      session_id,
      status,
      ...teamReport(events),
      usage,
      provider,
      model,
      simulated,
    }),
  }
}
