// AgentService: Beaver inside a program of one's own (requirements.md §18). It composes the parts the apps are made of; loops are
// made by the daemon, one for each run, so that nothing here is one big agent.
// A1. What may be called when stands in lifecycle.ts. A2. `stop` is of this instance: its own tasks, nobody else's.
// A3. Tasks of one session are accepted in the order of the calls. A4. `stop` loses no task; `shutdown` always ends: what has not
//     ended by then stays in the journal, and the next service with this home goes on with it.
import type { BeaverClient, SubmitTask } from '@beaver/client'
import { BeaverError, messageOf } from '@beaver/core'
import { type Operation, mustAllow, type ServiceState } from './lifecycle.ts'
import { type FollowOptions, type OpenTask, openTask, type Submission } from './open-task.ts'
import { type AgentServiceOptions, readOptions, type Settings } from './options.ts'
import type { AgentRunResult } from './run-result.ts'
import { type Runtime, type ServiceInfo, startRuntime } from './runtime.ts'
import { type ShutdownHook, shutdownHooks } from './shutdown-hooks.ts'

/** What to do, in words; or a workflow to run as it is, without a root agent: `GraphWorkflow`, `workflow:<id>`, `AgentTeam`. */
export type TaskInput = string | { readonly workflow: string; readonly arguments: Readonly<Record<string, unknown>> }

export interface TaskOptions extends FollowOptions {
  /** Tasks of one session follow one another, and later ones know what was said before. Default: a new session. */
  readonly sessionId?: string
  /** Makes a repeated call harmless: the same task with the same id is the same task, also after a crash. */
  readonly taskId?: string
  /** Absolute path of the folder its agents work in. Default: the service's. */
  readonly workspace?: string
  readonly skill?: string
  readonly profile?: string
  /** Who asks, for the record. Default: `program`. */
  readonly source?: string
  /** For the record: a name for the task, and whom it is for. */
  readonly title?: string
  readonly userId?: string
  /** Calls that need an approval: wait for one, or refuse. Default: `wait` when the service has `onApproval`, else `refuse`. */
  readonly approvals?: 'wait' | 'refuse'
}

export interface StopOptions {
  /** How long open tasks may go on. Default: 600,000 for `stop`, 5,000 for `shutdown`. */
  readonly graceMs?: number
  /** Cancel what has not ended by then. Default: false. */
  readonly force?: boolean
}

const stopGraceMs = 600_000
const shutdownGraceMs = 5_000
/** What cancelled tasks need to end. */
const cancelMsMax = 10_000
/** Tasks one service waits for at a time. */
const openTasksMax = 10_000

/**
 * @example
 * await using service = new AgentService()
 * const { output_text } = await service.processDirect('Say what you are.')
 */
export class AgentService implements AsyncDisposable {
  readonly #settings: Settings
  readonly #hooks
  readonly #open = new Set<OpenTask>()
  /** The last submission of each session that has one under way. */
  readonly #lanes = new Map<string, Promise<unknown>>()
  #state: ServiceState = 'idle'
  #runtime: Promise<Runtime> | null = null
  #booted: Runtime | null = null
  #failure: unknown = null
  #closing: Promise<void> | null = null

  /** Starts nothing yet. @throws {BeaverError} `invalid_configuration` */
  constructor(options: AgentServiceOptions = {}) {
    this.#settings = readOptions(options)
    this.#hooks = shutdownHooks(this.#settings.tell)
  }

  get state(): ServiceState {
    return this.#state
  }

  /** For what a service has no method for: queries, other tasks. @throws {BeaverError} `wrong_state` before the first task or `boot()`, and when closed */
  get client(): BeaverClient {
    if (this.#booted === null)
      throw new BeaverError('wrong_state', `client is refused: this AgentService is ${this.#state} and not booted. Await boot() first.`)
    return this.#booted.client
  }

  /** Brings the runtime up. The first task and `start()` do it by themselves. @throws {BeaverError} `server_missing`, `start_failed`, … */
  async boot(): Promise<ServiceInfo> {
    this.#must('boot')
    return (await this.#up()).info
  }

  /**
   * Runs one task outside of running mode, to its end. Boots at the first call; everything stays warm until `close()`.
   * A task that failed resolves: its `status` says so.
   * @throws {BeaverError} `wrong_state` in running mode; `invalid_arguments`, `unknown_skill`, `unknown_profile`,
   *   `unknown_workflow`, `workspace_missing`, `conflict`: then nothing was stored
   */
  async processDirect(task: TaskInput, options: TaskOptions = {}): Promise<AgentRunResult> {
    this.#must('processDirect')
    return this.#run(task, options)
  }

  /** Enters running mode: from now on tasks go through `submitDirect`. @throws {BeaverError} `wrong_state`, and as `boot` */
  async start(): Promise<void> {
    this.#must('start')
    this.#mustHaveNoOpenTask('start')
    const before = this.#state
    this.#state = 'starting'
    try {
      await this.#up()
      this.#state = 'running'
    } catch (error) {
      this.#state = before
      throw error
    }
  }

  /** As `processDirect`, in running mode: any number at once, those of one session in order. @throws {BeaverError} as it */
  async submitDirect(task: TaskInput, options: TaskOptions = {}): Promise<AgentRunResult> {
    this.#must('submitDirect')
    return this.#run(task, options)
  }

  /**
   * What a task came to, now or later: one of this service, or of an earlier one with this home.
   * @throws {BeaverError} `not_found`
   */
  async result(taskId: string, options: FollowOptions = {}): Promise<AgentRunResult> {
    this.#must('result')
    const { client, find } = await this.#up()
    const log = await find(taskId)
    if (log === null) throw new BeaverError('not_found', `There is no task ${taskId} in this home.`)
    return this.#follow(async () => ({ client, submitted: { task_id: log.task, session_id: log.session } }), options)
  }

  /**
   * Ends running mode: takes no new tasks, waits for those it has, with `force` cancels what has not ended after `graceMs`.
   * @throws {BeaverError} `timeout` when tasks are still open: they go on, no new ones are taken, and `stop` may be called again
   */
  async stop({ graceMs = stopGraceMs, force = false }: StopOptions = {}): Promise<void> {
    this.#must('stop')
    if (this.#state === 'stopped') return
    this.#state = 'stopping'
    if (!(await this.#drain(graceMs, force))) {
      const open = [...this.#open].map((each) => each.taskId ?? 'one not submitted yet')
      const shown = `${open.slice(0, 5).join(', ')}${open.length > 5 ? `, and ${open.length - 5} more` : ''}`
      throw new BeaverError(
        'timeout',
        `Not stopped after ${graceMs / 1000} s: ${open.length} open (${shown}). Call stop() again to wait longer, or stop({ force: true }) to cancel.`,
      )
    }
    // A shutdown that was called meanwhile has gone further.
    if (this.#state === 'stopping') this.#state = 'stopped'
  }

  /**
   * `stop` and `close` in one, from any state. What is still open after `graceMs` is cancelled with `force`, else handed over: its
   * promise rejects with `no_daemon`, and the next service with this home goes on with it.
   */
  async shutdown({ graceMs = shutdownGraceMs, force = false }: StopOptions = {}): Promise<void> {
    if (this.#closing !== null) return this.#closing
    if (this.#state === 'starting') await this.#runtime?.catch(() => {})
    if (this.#closing === null) {
      if (this.#state !== 'stopped') this.#state = 'stopping'
      await this.#drain(graceMs, force)
    }
    return this.#close()
  }

  /** Gives everything back: threads, connections, the nats-server. Again: nothing. @throws {BeaverError} `wrong_state` unless idle or stopped */
  async close(): Promise<void> {
    this.#must('close')
    if (this.#state !== 'closed') this.#mustHaveNoOpenTask('close')
    return this.#close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown()
  }

  /**
   * Called once, when the service closes, after its last task: hooks run in the reverse order of their registration, for at most
   * 5 s each. Returns what takes the hook back.
   */
  onShutdown(hook: ShutdownHook): () => void {
    return this.#hooks.add(hook)
  }

  #must(operation: Operation): void {
    mustAllow(operation, this.#state)
    if (this.#failure !== null && operation !== 'close' && operation !== 'stop')
      throw new BeaverError(
        'wrong_state',
        `${operation}() is refused: the runtime failed (${messageOf(this.#failure)}). Close this service and make a new one.`,
      )
  }

  #mustHaveNoOpenTask(operation: 'start' | 'close'): void {
    if (this.#open.size === 0) return
    throw new BeaverError('wrong_state', `${operation}() is refused: ${this.#open.size} direct tasks have not ended. Await them first, or call shutdown().`)
  }

  /** The runtime; a start that failed may be tried again. */
  #up(): Promise<Runtime> {
    this.#runtime ??= startRuntime(this.#settings).then(
      (runtime) => {
        this.#booted = runtime
        runtime.failed.catch((error: unknown) => this.#fail(error))
        return runtime
      },
      (error: unknown) => {
        this.#runtime = null
        throw error
      },
    )
    return this.#runtime
  }

  #fail(error: unknown): void {
    if (this.#closing !== null) return
    this.#failure = error
    for (const each of this.#open)
      each.letGo(
        new BeaverError('unreachable', `The runtime failed (${messageOf(error)}). The task ${each.taskId ?? ''} is in the journal, if it was submitted.`),
      )
  }

  #run(task: TaskInput, options: TaskOptions): Promise<AgentRunResult> {
    const { sessionId, taskId, workspace, skill, profile, source = 'program', title, userId, onDelta } = options
    const request: SubmitTask = {
      ...(typeof task === 'string' ? { task } : { workflow: { name: task.workflow, arguments: task.arguments } }),
      workspace,
      skill,
      profile,
      source,
      title,
      user_id: userId,
      stream: onDelta === undefined ? undefined : true,
      approvals: options.approvals ?? (this.#settings.onApproval === null ? 'refuse' : 'wait'),
    }
    return this.#follow(
      () =>
        this.#inLane(sessionId, async () => {
          const { client } = await this.#up()
          return { client, submitted: await client.submit({ ...request, task_id: taskId, session_id: sessionId }) }
        }),
      options,
    )
  }

  #follow(submit: () => Promise<Submission>, options: FollowOptions): Promise<AgentRunResult> {
    if (this.#open.size >= openTasksMax)
      return Promise.reject(new BeaverError('timeout', `This AgentService waits for ${openTasksMax} tasks already. Try again when some have ended.`))
    const { onApproval, tell } = this.#settings
    const open = openTask(submit, { ...options, onApproval, tell })
    this.#open.add(open)
    return open.result.finally(() => this.#open.delete(open))
  }

  /** One after the other within a session; a submission that failed holds up nobody. */
  #inLane<Value>(session: string | undefined, act: () => Promise<Value>): Promise<Value> {
    if (session === undefined) return act()
    const before = this.#lanes.get(session) ?? Promise.resolve()
    const mine = before.then(act, act)
    this.#lanes.set(session, mine)
    const leave = (): void => void (this.#lanes.get(session) === mine && this.#lanes.delete(session))
    mine.then(leave, leave)
    return mine
  }

  /** Waits until no task is open; `true` when none is. */
  async #drain(graceMs: number, force: boolean): Promise<boolean> {
    if (await this.#settled(graceMs)) return true
    if (!force) return false
    for (const each of this.#open) each.cancel('The program stopped.')
    return this.#settled(cancelMsMax)
  }

  async #settled(withinMs: number): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, withinMs)
    await Promise.race([Promise.allSettled([...this.#open].map(({ result }) => result)), late])
    clearTimeout(timer)
    await Promise.resolve() // those that have ended leave
    return this.#open.size === 0
  }

  #close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    this.#state = 'closed'
    for (const each of this.#open) each.letGo(handedOver(each))
    const runtime = await this.#runtime?.catch(() => null)
    this.#booted = null
    await (runtime?.close(() => this.#hooks.run()) ?? this.#hooks.run())
  }
}

function handedOver({ taskId }: OpenTask): BeaverError {
  if (taskId === null)
    return new BeaverError(
      'wrong_state',
      'The service was shut down before the task was accepted. Give it to the next one, with the same taskId if it has one.',
    )
  return new BeaverError(
    'no_daemon',
    `The service was shut down before the task ${taskId} ended. The next one with this home goes on with it; result(${JSON.stringify(taskId)}) gives what it comes to.`,
  )
}
