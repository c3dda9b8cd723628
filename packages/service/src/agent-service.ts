// AgentService runs Beaver inside another program, from the same parts as the apps (LC-01 to LC-12). The
// service is not an agent: its daemon makes a loop for each run. lifecycle.ts defines which operation is
// allowed in which state. `stop` waits for the tasks that this instance started, and ignores tasks whose
// results it only awaits. Tasks of one session are accepted in the order of the calls. No task is lost: a
// task that is open when the service shuts down stays in the journal, and the next service with this home
// continues it.
import { type BeaverClient, readOutput, type TaskInput, type TaskOptions, typedTask } from '@beaver/client'
import { BeaverError, type JsonValue, messageOf, pause, systemClock } from '@beaver/core'
import type { AgentRunResult } from '@beaver/core/task-view'
import { teamPatterns } from '@beaver/team-patterns'
import { addWorkflows } from '@beaver/workflows'
import { type Operation, mustAllow, type ServiceState } from './lifecycle.ts'
import { type FollowOptions, type OpenTask, openTask, type Submission } from './open-task.ts'
import { type AgentServiceOptions, readOptions, type Settings } from './options.ts'
import { programClient, type TaskKeeper } from './program-client.ts'
import { type Runtime, type ServiceInfo, startRuntime } from './runtime.ts'
import { type ShutdownHook, shutdownHooks } from './shutdown-hooks.ts'

/** The options of `stop` and `shutdown`. */
export interface StopOptions {
  /**
   * How long open tasks may continue, in milliseconds. `Infinity` sets no limit. Default: 600,000 for `stop`,
   * 5,000 for `shutdown`.
   */
  readonly graceMs?: number
  /** Whether to cancel the tasks that are open after `graceMs`. Default: false. */
  readonly force?: boolean
}

const stopGraceMs = 600_000
const shutdownGraceMs = 5_000
/** How long cancelled tasks may take to end, in milliseconds. */
const cancelMsMax = 10_000
/** How many tasks one service follows at the same time. */
const openTasksMax = 10_000

/**
 * A service that runs tasks in this process: with `processDirect` outside of running mode, or with `start`
 * and `submitDirect` in running mode.
 *
 * @example
 * await using service = new AgentService()
 * const { status, model } = await service.processDirect('Say what you are.')
 * status // => 'completed'
 * model // => 'beaver-simulated-1'
 */
export class AgentService implements AsyncDisposable {
  readonly #settings: Settings
  readonly #hooks
  readonly #open = new Set<OpenTask>()
  /** The last submission of each session that has an unfinished submission. */
  readonly #lanes = new Map<string, Promise<unknown>>()
  #state: ServiceState = 'idle'
  #runtime: Promise<Runtime> | null = null
  #booted: { readonly client: BeaverClient } | null = null
  #failure: unknown = null
  #closing: Promise<void> | null = null

  /**
   * Reads and checks the options. The constructor starts nothing.
   *
   * @throws {BeaverError} `invalid_configuration`
   */
  constructor(options: AgentServiceOptions = {}) {
    addWorkflows(teamPatterns)
    this.#settings = readOptions(options)
    this.#hooks = shutdownHooks(this.#settings.tell)
  }

  /** The current state. */
  get state(): ServiceState {
    return this.#state
  }

  /** The absolute path of the folder in which agents work if their task names no folder. */
  get workspace(): string {
    return this.#settings.config.workspace
  }

  /**
   * The client of this service, for queries, for an `AgentTeam` and for further tasks. A task that the client
   * submits is a task of this service: `onApproval` decides about its calls, and `stop` waits for it. A
   * service that stops or has stopped refuses such a task with `wrong_state`.
   *
   * @throws {BeaverError} `wrong_state` before the first task or `boot()`, and after the service was closed
   */
  get client(): BeaverClient {
    if (this.#booted === null)
      throw new BeaverError(
        'wrong_state',
        `client is refused: this AgentService is ${this.#state} and not booted. Await boot() first.`,
      )
    return this.#booted.client
  }

  /**
   * Starts the runtime. The first task and `start()` call this, too. After a failed start, the caller may try
   * again.
   *
   * @throws {BeaverError} `wrong_state` if the service is closed or its runtime failed; `server_missing`,
   * `server_too_old`, `start_failed`, `unreachable`, `invalid_configuration`
   */
  async boot(): Promise<ServiceInfo> {
    this.#must('boot')
    return (await this.#up()).info
  }

  /**
   * Runs one task to its end, outside of running mode. The first call starts the runtime, which runs until
   * `close()`. If the task fails, the promise resolves, and `status` of the result says that the task failed.
   *
   * @throws {BeaverError} `wrong_state` unless the service is idle; `invalid_arguments`, `unknown_skill`,
   * `unknown_profile`, `unknown_workflow`, `workspace_missing`, `conflict` if the task was refused, and then
   * nothing was stored; `timeout` if 10,000 tasks are open; `no_daemon` if the service was shut down before
   * the task ended; `unreachable` if the runtime failed; the codes of `boot`
   * @throws {UnfitOutputError} `output_invalid` if the answer fails a check of `options.output` that JSON
   * Schema cannot express. The error contains the answer.
   * @example
   * await using service = new AgentService()
   * const types: string[] = []
   * const result = await service.processDirect('Say what you are.', { sessionId: 'docs', onEvent: ({ type }) => types.push(type) })
   * result.session_id // => 'docs'
   * types.at(-1) // => 'task_completed'
   */
  async processDirect<Output = JsonValue, Name extends string = string>(
    task: TaskInput<Name>,
    options: TaskOptions<Output> & FollowOptions = {},
  ): Promise<AgentRunResult<Output>> {
    this.#must('processDirect')
    return this.#run(task, options)
  }

  /**
   * Enters running mode, in which tasks go through `submitDirect`.
   *
   * @throws {BeaverError} `wrong_state` unless the service is idle or stopped and no task is open; the codes
   * of `boot`
   */
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

  /**
   * Runs one task to its end, in running mode. Many tasks may run at once; tasks of one session run in order.
   *
   * @throws {BeaverError} `wrong_state` unless the service is in running mode; otherwise the codes of
   * `processDirect`
   */
  async submitDirect<Output = JsonValue, Name extends string = string>(
    task: TaskInput<Name>,
    options: TaskOptions<Output> & FollowOptions = {},
  ): Promise<AgentRunResult<Output>> {
    this.#must('submitDirect')
    return this.#run(task, options)
  }

  /**
   * Waits for the result of a task that this service, or an earlier service with this home, accepted.
   *
   * @throws {BeaverError} `not_found` if the home has no task with this id; `wrong_state` if the service is
   * closed; the codes of `boot`
   */
  async result(taskId: string, options: FollowOptions = {}): Promise<AgentRunResult> {
    this.#must('result')
    const { client, find } = await this.#up()
    const log = await find(taskId)
    if (log === null) throw new BeaverError('not_found', `There is no task ${taskId} in this home.`)
    return this.#follow(async () => ({ client, submitted: { task_id: log.task, session_id: log.session } }), {
      ...options,
      ours: false,
    })
  }

  /**
   * Ends running mode: the service takes no new tasks and waits for its open tasks. With `force`, the service
   * cancels the tasks that are open after `graceMs`.
   *
   * @throws {BeaverError} `timeout` if tasks are still open: they continue, the service takes no new tasks,
   * and the caller may call `stop` again; `wrong_state` if the service was not started or is closed
   */
  async stop({ graceMs = stopGraceMs, force = false }: StopOptions = {}): Promise<void> {
    this.#must('stop')
    if (this.#state === 'stopped') return
    this.#state = 'stopping'
    if (!(await this.#drain(graceMs, force))) {
      const open = [...this.#ours()].map((each) => each.taskId ?? 'one not submitted yet')
      const shown = `${open.slice(0, 5).join(', ')}${open.length > 5 ? `, and ${open.length - 5} more` : ''}`
      throw new BeaverError(
        'timeout',
        `Not stopped after ${graceMs / 1000} s: ${open.length} open (${shown}). Call stop() again to wait longer, or stop({ force: true }) to cancel.`,
      )
    }
    // A `shutdown()` that was called in the meantime has already changed the state.
    if (this.#state === 'stopping') this.#state = 'stopped'
  }

  /**
   * Stops and closes the service, from any state. With `force`, the service cancels the tasks that are open
   * after `graceMs`. Without `force`, it hands them over: their promises reject with `no_daemon`, and the
   * next service with this home continues them.
   *
   * @throws {BeaverError} `internal` if a part does not stop within 20 s
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

  /**
   * Releases everything: threads, connections and the nats-server. Closing a closed service has no effect.
   *
   * @throws {BeaverError} `wrong_state` while the service is starting, running or stopping, or while a task
   * is open; `internal` if a part does not stop within 20 s
   */
  async close(): Promise<void> {
    this.#must('close')
    if (this.#state !== 'closed') this.#mustHaveNoOpenTask('close')
    return this.#close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown()
  }

  /**
   * Adds a hook that the service calls once when it closes, after its last task. Hooks run in the reverse
   * order of their registration, for at most 5 s each. `onWarning` gets the errors of hooks.
   *
   * @returns a function that removes the hook
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
    const open = this.#ours().length
    if (open === 0) return
    throw new BeaverError(
      'wrong_state',
      `${operation}() is refused: ${open} direct tasks have not ended. Await them first, or call shutdown().`,
    )
  }

  /** Returns the runtime and starts it if necessary. After a failed start, the next call tries again. */
  #up(): Promise<Runtime> {
    this.#runtime ??= startRuntime(this.#settings).then(
      (runtime) => {
        this.#booted = { client: programClient(runtime.client, this.#keeperOf(runtime.client)) }
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
        new BeaverError(
          'unreachable',
          `The runtime failed (${messageOf(error)}). The task ${each.taskId ?? ''} is in the journal, if it was submitted.`,
        ),
      )
  }

  async #run<Output, Name extends string>(
    task: TaskInput<Name>,
    options: TaskOptions<Output> & FollowOptions,
  ): Promise<AgentRunResult<Output>> {
    const { sessionId, onDelta } = options
    const { onApproval, onQuestion } = this.#settings
    const request = typedTask(task, {
      ...options,
      source: options.source ?? 'program',
      stream: options.stream ?? (onDelta === undefined ? undefined : true),
      approvals: options.approvals ?? (onApproval === null && onQuestion === null ? 'refuse' : 'wait'),
    })
    const { output, ...result } = await this.#follow(
      () =>
        this.#inLane(sessionId, async () => {
          const { client } = await this.#up()
          return { client, submitted: await client.submit(request) }
        }),
      { ...options, ours: true },
    )
    const value = await readOutput(options.output, { ...result, output })
    return value === undefined ? result : { ...result, output: value }
  }

  #keeperOf(client: BeaverClient): TaskKeeper {
    return {
      mustTakeTasks: (operation) => this.#must(operation),
      keep: (submit) => this.#follow(async () => ({ client, submitted: await submit() }), { ours: true }),
    }
  }

  /** Submits a task and follows it to its end. `ours` says whether this service started the task. */
  #follow(
    submit: () => Promise<Submission>,
    options: FollowOptions & { readonly ours: boolean },
  ): Promise<AgentRunResult> {
    if (this.#open.size >= openTasksMax)
      return Promise.reject(
        new BeaverError(
          'timeout',
          `This AgentService waits for ${openTasksMax} tasks already. Try again when some have ended.`,
        ),
      )
    const { onApproval, onQuestion, tell } = this.#settings
    const open = openTask(submit, { ...options, onApproval, onQuestion, tell })
    this.#open.add(open)
    return open.result.finally(() => this.#open.delete(open))
  }

  /**
   * Submits the tasks of one session one after the other. A failed submission does not hold up the next one.
   */
  #inLane<Value>(session: string | undefined, act: () => Promise<Value>): Promise<Value> {
    if (session === undefined) return act()
    const before = this.#lanes.get(session) ?? Promise.resolve()
    const mine = before.then(act, act)
    this.#lanes.set(session, mine)
    const leave = (): void => void (this.#lanes.get(session) === mine && this.#lanes.delete(session))
    mine.then(leave, leave)
    return mine
  }

  /** The open tasks that this service started. */
  #ours(): OpenTask[] {
    return [...this.#open].filter(({ ours }) => ours)
  }

  /** Waits until no task of this service is open, and returns whether that happened in time. */
  async #drain(graceMs: number, force: boolean): Promise<boolean> {
    if (await this.#settled(graceMs)) return true
    if (!force) return false
    for (const each of this.#ours()) each.cancel('The program stopped.')
    return this.#settled(cancelMsMax)
  }

  async #settled(withinMs: number): Promise<boolean> {
    const settled = new AbortController()
    await Promise.race([
      Promise.allSettled(this.#ours().map(({ result }) => result)),
      pause(systemClock, withinMs, settled.signal),
    ])
    settled.abort()
    await Promise.resolve() // Lets the tasks that have ended remove themselves.
    return this.#ours().length === 0
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
      'The service was shut down before the task was accepted. Submit it to the next service, with the same taskId if it has one.',
    )
  return new BeaverError(
    'no_daemon',
    `The service was shut down before the task ${taskId} ended. The next service with this home continues it. result(${JSON.stringify(taskId)}) returns its result.`,
  )
}
