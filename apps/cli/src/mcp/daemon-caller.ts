// Runs the calls of the MCP server on a daemon. Each call becomes a task, which is submitted, followed to its
// end, and cancelled if the client cancels. No call hangs: without a system it fails at once, and if the
// system disappears it fails within a bounded time. If an agent asks a question and the client can answer
// questions, the call ends with the question; the task waits, and the client's next call continues it. Each
// call looks for the system again, because the system may have been started or restarted since the last call.
import { BeaverError, messageOf } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { agentAsks, budgetAsks, evolveTaskView, newTaskView } from '@beaver/core/task-view'
import type {
  AskingWorkflow,
  CallError,
  WorkflowCaller,
  WorkflowCallOptions,
  WorkflowCallResult,
} from '@beaver/mcp'
import type { Config } from '@beaver/platform'
import { connect, type Connection } from '../connection.ts'
import { followTask } from '../follow/follow-task.ts'
import { type FoundSystem, hasEnded, lookForSystem } from '../system/find-system.ts'
import { waitKey } from '../view/budget-lines.ts'
import type { PersonCommand } from './person-command.ts'
import {
  answerAll,
  askedIn,
  budgetWaits,
  callWaits,
  everyQuestion,
  mcpSource,
  personWaits,
  questionsFor,
  questionWaits,
} from './task-questions.ts'
import { happeningNow, nodesEnded, progressIn } from './team-progress.ts'

export interface DaemonCaller extends WorkflowCaller {
  /**
   * Cancels the tasks that wait for an answer of their client and that no call continues, because the client
   * is gone.
   */
  leave(): Promise<void>
  /** Resolves when no call is open, but not later than after `withinMs`. */
  idle(withinMs: number): Promise<void>
}

export interface DaemonCallerOptions {
  /** The absolute path of the tasks' workspace. Default: the daemon's workspace. */
  readonly workspace?: string | undefined
  /**
   * Receives a line when something waits for a person, because some clients do not show the progress of a
   * call.
   */
  readonly tell?: ((line: string) => void) | undefined
  /** Formats the commands that a person types. */
  readonly command: PersonCommand
}

const askingMax = 1_000

/**
 * Adds a task and drops the oldest ones beyond the bound: a server with many clients does not know which of
 * them never come back.
 */
function addBounded(asking: Set<string>, taskId: string): void {
  asking.add(taskId)
  for (const oldest of asking) if (asking.size > askingMax) asking.delete(oldest)
}

export function daemonCaller(config: Config, options: DaemonCallerOptions): DaemonCaller {
  const { tell = () => {}, command } = options
  const open = new Set<Promise<unknown>>()
  /** The tasks that wait for an answer of the client. */
  const asking = new Set<string>()

  async function onSystem(
    act: (connection: Connection, system: FoundSystem) => Promise<WorkflowCallResult>,
  ): Promise<WorkflowCallResult> {
    const system = lookForSystem(config)
    if (system === null) return { ok: false, error: noSystem(config, command) }
    try {
      await using connection = await connect(system)
      return await act(connection, system)
    } catch (error) {
      return { ok: false, error: callErrorOf(error) }
    }
  }

  const call = (
    name: string,
    args: Readonly<Record<string, unknown>>,
    callOptions: WorkflowCallOptions,
  ): Promise<WorkflowCallResult> =>
    onSystem(async (connection, system) => {
      const submitted = await connection.client.submit({
        workflow: { name, arguments: args },
        workspace: options.workspace,
        source: mcpSource,
      })
      tell(accepted(submitted.task_id, name, command))
      return await followCall(
        { connection, system, config, command, tell },
        { ...callOptions, taskId: submitted.task_id, after: 0 },
      )
    })

  const goOn: WorkflowCaller['goOn'] = (taskId, answers, callOptions) =>
    onSystem(async (connection, system) => {
      const { client } = connection
      const before = await askedIn(taskId, client.events(taskId))
      let late: readonly string[]
      try {
        late = await answerAll(client, taskId, before, answers(everyQuestion(before)))
      } catch (error) {
        if (!(error instanceof BeaverError && error.code === 'invalid_arguments')) throw error
        return { ok: true, asks: { taskId, questions: questionsFor(before.waiting), fault: error.message } }
      }
      const { waiting, taskseq } = await askedIn(taskId, client.events(taskId))
      const called =
        waiting.length > 0 && callOptions.asks
          ? { ok: true as const, asks: { taskId, questions: questionsFor(waiting) } }
          : await followCall(
              { connection, system, config, command, tell },
              { ...callOptions, taskId, after: taskseq },
            )
      return late.length === 0 ? called : withNote(called, late.join(' '))
    })

  const opened = (calling: Promise<WorkflowCallResult>): Promise<WorkflowCallResult> => {
    open.add(calling)
    void calling.finally(() => open.delete(calling))
    return calling.then((called) => {
      if (called.ok && 'asks' in called) addBounded(asking, called.asks.taskId)
      return called
    })
  }

  return {
    call: (name, args, callOptions) => opened(call(name, args, callOptions)),
    goOn(taskId, answers, callOptions) {
      const going = goOn(taskId, answers, callOptions)
      // If the call fails, its task keeps waiting, and is cancelled when the client leaves.
      void going.then(({ ok }) => ok && asking.delete(taskId))
      return opened(going)
    },
    async leave() {
      if (asking.size > 0) await onSystem(({ client }) => cancelAll(client, asking))
    },
    async idle(withinMs) {
      const late = new Promise<void>((resolve) => setTimeout(resolve, withinMs).unref())
      await Promise.race([Promise.allSettled(open), late])
    },
  }
}

async function cancelAll(
  client: Connection['client'],
  taskIds: Iterable<string>,
): Promise<WorkflowCallResult> {
  const message = 'The MCP client is gone.'
  await Promise.allSettled(Array.from(taskIds, (taskId) => client.cancel(taskId, message)))
  return { ok: false, error: { code: 'cancelled', message } }
}

/** A program that is killed cannot cancel its tasks, so it prints this line when a task is accepted. */
const accepted = (taskId: string, workflow: string, command: PersonCommand): string =>
  `The task ${taskId} runs ${workflow} for an MCP client, and ends with the call. If this program is killed (SIGKILL), the task goes on. Cancel it then with: ${command(`cancel ${taskId}`)}`

/** Adds to the result why an answer of the client does not count. */
function withNote(called: WorkflowCallResult, note: string): WorkflowCallResult {
  if (!called.ok) return called
  return 'asks' in called
    ? { ok: true, asks: { ...called.asks, fault: note } }
    : { ok: true, result: { ...called.result, note } }
}

/** The error for a home in which no system runs. */
export function noSystem({ home }: Config, command: PersonCommand): CallError {
  return {
    code: 'no_daemon',
    message: `No Beaver system runs in ${home}. Start one with "${command('up')}", or name another with --home, --nats-url or NATS_URL.`,
  }
}

const argumentsPath = /^workflow\.arguments\.?/

/** The error of a call, with the code and the path of the first problem if it has one. */
export function callErrorOf(error: unknown): CallError {
  if (!(error instanceof BeaverError))
    return { code: 'internal', message: `Beaver has a defect: ${messageOf(error)}` }
  const [problem] = error.problems
  if (problem?.code !== undefined)
    return { code: problem.code, message: problem.message, path: problem.path.replace(argumentsPath, '') }
  if (error.code === 'unreachable') return { code: 'no_daemon', message: error.message }
  return { code: error.code, message: error.message }
}

// Follows the task of one call until it ends or asks its client. The client hears every few seconds what
// happens, so that a long wait does not look like a hanging call. If the client cancels, the task is
// cancelled and followed to its end for a bounded time.

interface CalledTask extends WorkflowCallOptions {
  readonly taskId: string
  /** The `taskseq` in the task's log up to which its questions are already known. */
  readonly after: number
}

interface CallPlace {
  readonly connection: Connection
  readonly system: FoundSystem
  readonly config: Config
  readonly command: PersonCommand
  /** Receives a line when something waits for a person. */
  readonly tell: (line: string) => void
}

const cancelMsMax = 5_000
const tellEveryMs = 3_000

/** @throws {BeaverError} the codes of `followTask` */
const followCall = (place: CallPlace, called: CalledTask): Promise<WorkflowCallResult> =>
  new FollowedCall(place, called).result()

class FollowedCall {
  readonly #place: CallPlace
  readonly #called: CalledTask
  readonly #stop = new AbortController()
  readonly #view = newTaskView()
  readonly #budgetsTold = new Set<string>()
  #asking: AskingWorkflow | null = null
  #notice: string | null = null
  #last = ''

  constructor(place: CallPlace, called: CalledTask) {
    this.#place = place
    this.#called = called
  }

  async result(): Promise<WorkflowCallResult> {
    const { connection, system, config } = this.#place
    const { taskId, signal } = this.#called
    signal.addEventListener('abort', this.#cancel, { once: true })
    if (signal.aborted) this.#cancel()
    const telling = setInterval(() => this.#tellNow(), tellEveryMs)
    try {
      const followed = await followTask(connection, taskId, {
        signal: this.#stop.signal,
        onEvent: (event) => this.#event(event),
        onNotice: (notice) => {
          this.#notice = notice
          if (notice !== null) this.#report(notice)
        },
        systemGone: () => hasEnded(system, config),
      })
      if (followed.kind === 'ended') {
        const { status, result, session_id: sessionId } = followed.end
        const outcome = {
          taskId,
          sessionId,
          finalOutput: result.final_output,
          outputs: result.outputs,
          failure: result.failure?.message ?? null,
        }
        return {
          ok: true,
          result: { ...outcome, status: status as 'completed' | 'incomplete' | 'failed' | 'cancelled' },
        }
      }
      if (this.#asking !== null) return { ok: true, asks: this.#asking }
      return {
        ok: false,
        error: {
          code: 'cancelled',
          message: `The task ${taskId} was asked to stop, but did not stop in time.`,
        },
      }
    } finally {
      clearInterval(telling)
      signal.removeEventListener('abort', this.#cancel)
    }
  }

  readonly #cancel = (): void => {
    setTimeout(() => this.#stop.abort(), cancelMsMax).unref()
    this.#place.connection.client
      .cancel(this.#called.taskId, 'Cancelled by the MCP client.')
      .catch(() => this.#stop.abort())
  }

  #event(event: RecordedEvent): void {
    evolveTaskView(this.#view, event)
    if (event.taskseq > this.#called.after) this.#waits(event)
    if (event.type === 'task_submitted') this.#tell(this.#accepted())
    const message = progressIn(event)
    if (message !== null) this.#tell(message)
  }

  #accepted(): string {
    const { taskId } = this.#called
    return `The task ${taskId} was accepted. Look at it with: ${this.#place.command(`show ${taskId}`)}`
  }

  #tellNow(): void {
    const waits = personWaits(this.#called.taskId, this.#view, this.#place.command)
    this.#report(this.#notice ?? waits ?? happeningNow(this.#view, Date.now()) ?? this.#last)
  }

  /** Reports what a person has to do. A question of an agent ends the call if its client can answer. */
  #waits({ type }: RecordedEvent): void {
    const { taskId, asks } = this.#called
    const { command } = this.#place
    if (type === 'approval_requested')
      return this.#tellPerson(callWaits(taskId, this.#view.askedCalls, command) ?? '')
    for (const ask of budgetAsks(this.#view)) {
      if (this.#budgetsTold.has(waitKey(ask))) continue
      this.#budgetsTold.add(waitKey(ask))
      this.#tellPerson(budgetWaits(taskId, ask, command))
    }
    const asked = type === 'question_asked' ? this.#view.openQuestions.at(-1) : undefined
    if (asked === undefined) return
    this.#tellPerson(questionWaits(taskId, asked, command))
    if (!asks || !agentAsks(asked)) return
    this.#asking = { taskId, questions: questionsFor([asked]) }
    this.#stop.abort()
  }

  #tellPerson(message: string): void {
    this.#place.tell(message)
    this.#called.onWaits(message)
    this.#tell(message)
  }

  /** The message of an event is reported until the next event. */
  #tell(message: string): void {
    this.#last = message
    this.#report(message)
  }

  #report(message: string): void {
    const total = this.#view.nodes.size || null
    this.#called.onProgress({ done: nodesEnded(this.#view), total, message })
  }
}
