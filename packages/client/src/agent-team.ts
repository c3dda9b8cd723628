// AgentTeam (AT-05, D-17): a configured team as an object. Each run is a task, so it outlives the program.
import { BeaverError, isTerminalTaskEvent } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import {
  readTeamConfiguration,
  type TeamConfiguration,
  type TeamConfigurationInput,
  type TeamReport,
  teamReport,
  type TeamStreamEvent,
  teamStream,
} from '@beaver/team-patterns'
import type { SubmittedTask, SubmitTask } from '@beaver/contracts'
import type { BeaverClient } from './beaver-client.ts'
import { followTask } from './follow-task.ts'
import { type TaskOptions, typedTask } from './task-input.ts'

/**
 * What a run of a team may be given: the options of a task, but for those of a root agent. In one session,
 * round_robin without tasks keeps its turn (D-48).
 */
export interface TeamRunOptions extends Pick<
  TaskOptions,
  'workspace' | 'sessionId' | 'taskId' | 'title' | 'userId' | 'source' | 'timeZone' | 'approvals' | 'budget'
> {
  /**
   * The absolute path of the folder in which the members may work.
   *
   * @deprecated the name of this option is `workspace`
   */
  readonly workspaceDir?: string
  /** If it aborts, this program stops waiting. The run continues. */
  readonly signal?: AbortSignal
}

/** The report of a run that has ended, with the ids of its task and its session. */
export type TeamRun = TeamReport & SubmittedTask

/**
 * A configured team. Each run is a task of the workflow `AgentTeam`.
 *
 * @example
 * const members = ['optimist', 'sceptic']
 * const team = new AgentTeam(beaver, { strategy: 'broadcast', members, coordinator: 'editor' })
 * const { success, member_outputs } = await team.run('Should we ship on Friday?')
 * success // => true
 * Object.keys(member_outputs) // => ['optimist', 'sceptic']
 * new AgentTeam(beaver, { members: [] }) // throws invalid_arguments
 */
export class AgentTeam {
  readonly #client: BeaverClient
  readonly configuration: TeamConfiguration

  /** @throws {BeaverError} `invalid_arguments`, with the path in the configuration */
  constructor(client: BeaverClient, configuration: TeamConfigurationInput) {
    const read = readTeamConfiguration(configuration)
    if (!read.ok) {
      const { path, message } = read.error
      throw new BeaverError('invalid_arguments', `The team is not valid: ${message}`, {
        problems: [{ path, message }],
      })
    }
    this.#client = client
    this.configuration = read.configuration
  }

  /**
   * A team whose configuration comes from elsewhere, such as a team file or the body of a request.
   *
   * @throws {BeaverError} `invalid_arguments`, with the path in the configuration
   * @example
   * const team = AgentTeam.read(beaver, JSON.parse('{ "members": ["optimist", "sceptic"] }'))
   * team.configuration.members.map(({ name }) => name) // => ['optimist', 'sceptic']
   */
  static read(client: BeaverClient, configuration: unknown): AgentTeam {
    return new AgentTeam(client, configuration as TeamConfigurationInput)
  }

  /**
   * Runs the team to its end.
   *
   * @throws {BeaverError} the codes of `BeaverClient.submit`; `timeout` if `signal` aborted before the end;
   * `unreachable` if the client was closed before the end
   */
  async run(message?: string, options: TeamRunOptions = {}): Promise<TeamRun> {
    const events: RecordedEvent[] = []
    const submitted = await this.#client.submit(this.task(message, options))
    for await (const event of this.#client.watch(submitted.task_id, options)) events.push(event)
    if (!isTerminalTaskEvent(events.at(-1)?.type ?? '')) throw notFollowed(submitted.task_id, options.signal)
    return { ...submitted, ...teamReport(events) }
  }

  /**
   * Runs the team and yields its events and the pieces of its answers as they come (D-50). It ends after its
   * one terminal event, or when `signal` aborts; the run then continues.
   *
   * @throws {BeaverError} the codes of `BeaverClient.submit`
   */
  async *runStream(message?: string, options: TeamRunOptions = {}): AsyncGenerator<TeamStreamEvent> {
    const { task_id } = await this.#client.submit({ ...this.task(message, options), stream: true })
    const stream = teamStream()
    for await (const each of followTask(this.#client, task_id, options)) {
      if ('event' in each) yield* stream.next(each.event)
      else if ('delta' in each) yield* stream.live(each.delta)
    }
  }

  /** The task that a run submits. */
  task(
    message?: string,
    { workspaceDir, workspace = workspaceDir, ...options }: Omit<TeamRunOptions, 'signal'> = {},
  ): SubmitTask {
    const args = { ...this.configuration, ...(message === undefined ? {} : { message }) }
    return typedTask({ workflow: 'AgentTeam', arguments: args }, { ...options, workspace })
  }
}

/** A watch ends before its task if its signal aborts or its client is closed. */
function notFollowed(taskId: string, signal: AbortSignal | undefined): BeaverError {
  const [code, why] =
    signal?.aborted === true
      ? (['timeout', 'did not end in time'] as const)
      : (['unreachable', 'can no longer be followed'] as const)
  return new BeaverError(
    code,
    `The team run ${why}. It continues as task ${taskId}. Watch this task, or run the team again with this taskId.`,
  )
}
