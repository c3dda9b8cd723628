// AgentTeam (S4, D-17): a configured team as an object one runs, over the same tasks, journal and runtime as everything else.
// A1. A run is a task of its own: it survives us. A2. `runStream` ends with exactly one terminal event (D-50).
import { BeaverError, type RecordedEvent } from '@beaver/core'
import { readTeamConfiguration, type TeamConfiguration, type TeamReport, teamReport, type TeamStreamEvent, teamStream } from '@beaver/workflows'
import type { SubmittedTask, SubmitTask } from '@beaver/contracts'
import type { BeaverClient } from './beaver-client.ts'
import { followTask } from './follow-task.ts'

export interface TeamRunOptions {
  /** Absolute path of the folder the members may work in; default: the daemon's. */
  readonly workspaceDir?: string
  /** Runs of one session follow one another; round_robin without tasks keeps its turn in it (D-48). Default: a new one. */
  readonly sessionId?: string
  readonly taskId?: string
  /** Aborting it stops waiting; the run goes on. */
  readonly signal?: AbortSignal
}

export type TeamRun = TeamReport & SubmittedTask

/**
 * @example
 * const team = new AgentTeam(client, { strategy: 'broadcast', members: ['optimist', 'sceptic'], coordinator: 'editor' })
 * const { final_output } = await team.run('Should we ship on Friday?')
 */
export class AgentTeam {
  readonly #client: BeaverClient
  readonly configuration: TeamConfiguration

  /** @throws {BeaverError} `invalid_arguments`, with the path in the configuration */
  constructor(client: BeaverClient, configuration: unknown) {
    const read = readTeamConfiguration(configuration)
    if (!read.ok) {
      const { path, message } = read.error
      throw new BeaverError('invalid_arguments', `The team is not valid: ${message}`, { problems: [{ path, message }] })
    }
    this.#client = client
    this.configuration = read.configuration
  }

  /** Runs the team to its end. @throws {BeaverError} as `BeaverClient.submit`, and `timeout` when `signal` aborted */
  async run(message?: string, options: TeamRunOptions = {}): Promise<TeamRun> {
    const events: RecordedEvent[] = []
    const submitted = await this.#client.submit(this.task(message, options))
    for await (const event of this.#client.watch(submitted.task_id, options)) events.push(event)
    if (events.at(-1) === undefined || options.signal?.aborted === true) {
      throw new BeaverError('timeout', `The team run was not waited for; it goes on as task ${submitted.task_id}.`)
    }
    return { ...submitted, ...teamReport(events) }
  }

  /** The run as it goes, answers while they are said (D-50). Ends after its terminal event, or when `signal` aborts: the run goes on then. */
  async *runStream(message?: string, options: TeamRunOptions = {}): AsyncGenerator<TeamStreamEvent> {
    const { task_id } = await this.#client.submit({ ...this.task(message, options), stream: true })
    const stream = teamStream()
    for await (const each of followTask(this.#client, task_id, options)) yield* 'event' in each ? stream.next(each.event) : stream.live(each.delta)
  }

  /** The task a run is. */
  task(message?: string, { workspaceDir, sessionId, taskId }: Omit<TeamRunOptions, 'signal'> = {}): SubmitTask {
    return {
      workflow: { name: 'AgentTeam', arguments: { ...this.configuration, ...(message === undefined ? {} : { message }) } },
      workspace: workspaceDir,
      session_id: sessionId,
      task_id: taskId,
    }
  }
}
