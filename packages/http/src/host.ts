// What runs tasks behind the app: a service in this process, or a daemon over NATS. The app makes no loops of
// its own (WEB-10). A service is started and shut down with the app only if the app takes it over (WEB-09). A host that does not run takes no request, and
// nothing boots it (WEB-05, WEB-06).
import { type BeaverClient, submitAndFollow } from '@beaver/client'
import type { SubmittedTask, SubmitTask } from '@beaver/contracts'
import {
  type AgentRunResult,
  BeaverError,
  evolveTaskView,
  type LiveDelta,
  type LiveProgress,
  newTaskView,
  type RecordedEvent,
  resultOf,
} from '@beaver/core'
import { type Caller, hasRole } from './access.ts'

/** How a request follows its task. */
export interface Following {
  /** If it aborts, the request stops waiting. The task continues. */
  readonly signal: AbortSignal
  readonly onSubmitted?: (submitted: SubmittedTask) => void
  readonly onEvent?: (event: RecordedEvent) => void
  readonly onDelta?: (delta: LiveDelta) => void
  readonly onProgress?: (progress: LiveProgress) => void
}

export interface TaskHost {
  /** `service`: in this process. `daemon`: over NATS. */
  readonly mode: 'service' | 'daemon'
  /** The folder in which tasks work that name none. `null`: it is not known here. */
  readonly workspace: string | null
  running(): boolean
  /** @throws {BeaverError} `wrong_state` if it does not run */
  client(): BeaverClient
  /**
   * Runs a task to its end. @throws {BeaverError} `timeout` if `signal` aborted, and the codes of
   * `BeaverClient.submit`
   */
  run(task: SubmitTask, following: Following): Promise<AgentRunResult>
  start(): Promise<void>
  stop(): Promise<void>
}

/** A service in this process that runs the tasks. An `AgentService` is one. */
export interface HostedService {
  /** `running`: it takes tasks. */
  readonly state: string
  /** The absolute path of the folder in which agents work if a task names none. */
  readonly workspace: string
  /** Is read while the service runs. */
  readonly client: BeaverClient
  start(): Promise<void>
  /** Ends it at once. */
  close(): Promise<void>
  /** Ends it. `graceMs`: how long tasks may continue, in milliseconds; with `force`, they are cancelled then. */
  shutdown(options: { readonly graceMs: number; readonly force: boolean }): Promise<void>
}

/** How long tasks may continue when the app ends, in milliseconds (WEB-07). */
const graceMs = 5_000

/** @param owned whether the service starts and ends with the app */
export function serviceHost(service: HostedService, { owned }: { readonly owned: boolean }): TaskHost {
  const running = (): boolean => service.state === 'running'
  const client = (): BeaverClient => {
    if (!running())
      throw new BeaverError(
        'wrong_state',
        `The service is ${service.state}. It takes tasks when it has been started.`,
      )
    return service.client
  }
  return {
    mode: 'service',
    workspace: service.workspace,
    running,
    client,
    run: (task, following) => followed(client(), task, following),
    async start() {
      if (!owned) return
      try {
        await service.start()
      } catch (error) {
        await service.close()
        throw error
      }
    },
    stop: async () => void (owned && (await service.shutdown({ graceMs, force: true }))),
  }
}

/** @param connected whether NATS answers now */
export function daemonHost(client: BeaverClient, connected: () => boolean): TaskHost {
  return {
    mode: 'daemon',
    workspace: null,
    running: connected,
    client: () => client,
    run: (task, following) => followed(client, task, following),
    start: async () => {},
    stop: async () => {},
  }
}

type ChangeTask = <Task extends NamedTask & Pick<SubmitTask, 'workspace'>>(task: Task) => Task
/** The ids that a caller may choose. */
export type NamedTask = Pick<SubmitTask, 'session_id' | 'task_id'>

/** The same host. Each task goes through `change` first. */
function throughChange(host: TaskHost, change: ChangeTask): TaskHost {
  const client = (): BeaverClient => {
    const own = host.client()
    return {
      ...own,
      submit: async (task) => own.submit(change(task)),
      run: async (task, options) => own.run(change(task), options),
    }
  }
  return { ...host, client, run: async (task, following) => host.run(change(task), following) }
}

/**
 * The same host, for callers over HTTP: their tasks work in the daemon's own folder or a configured root, and
 * in no other folder of its user.
 */
export const confinedHost = (host: TaskHost): TaskHost =>
  throughChange(host, (task) => (task.workspace === undefined ? task : { ...task, roots_only: true }))

/**
 * The same host, for one caller: a token with a user makes no session and no task of a channel. The people of
 * the chat would find it taken.
 */
export function hostFor(
  caller: Caller,
  host: TaskHost,
  isOfChannel: (named: NamedTask) => boolean,
): TaskHost {
  if (caller.userId === undefined || hasRole(caller, 'admin')) return host
  const own = <Task extends NamedTask>(task: Task): Task => {
    if (!isOfChannel({ session_id: task.session_id, task_id: task.task_id })) return task
    const isSession = isOfChannel({ session_id: task.session_id })
    const path = isSession ? 'session_id' : 'task_id'
    const whose = isSession ? 'is a chat of a channel' : 'is that of a message in a chat of a channel'
    const message = `The ${isSession ? 'session' : 'task id'} ${task[path]} ${whose}, and only those who write there use it. Use another id, or leave it out.`
    throw new BeaverError('not_allowed', message, { problems: [{ path, message }] })
  }
  const changed = throughChange(host, own)
  return { ...changed, client: () => withOwnRetry(changed.client(), own) }
}

/** A retry is a new task of the same session. */
const withOwnRetry = (client: BeaverClient, own: (task: NamedTask) => NamedTask): BeaverClient => ({
  ...client,
  async retry(taskId, options) {
    for await (const first of client.events(taskId)) {
      if (first.type === 'task_submitted') own({ session_id: first.data.session_id })
      break
    }
    return client.retry(taskId, options)
  },
})

async function followed(
  client: BeaverClient,
  task: SubmitTask,
  { signal, onSubmitted = () => {}, onEvent, onDelta, onProgress }: Following,
): Promise<AgentRunResult> {
  const view = newTaskView()
  let taskId = ''
  const submitted = (at: SubmittedTask): void => {
    taskId = at.task_id
    onSubmitted(at)
  }
  const all =
    onDelta === undefined && onProgress === undefined
      ? eventsOf(client, task, { signal, submitted })
      : submitAndFollow(client, task, { signal, onSubmitted: submitted })
  for await (const each of all) {
    if ('delta' in each) onDelta?.(each.delta)
    else if ('progress' in each) onProgress?.(each.progress)
    else {
      evolveTaskView(view, each.event)
      onEvent?.(each.event)
    }
  }
  const result = resultOf(view)
  if (result === null)
    throw new BeaverError('timeout', `The task did not end in time. It continues as task ${taskId}.`)
  return result
}

async function* eventsOf(
  client: BeaverClient,
  task: SubmitTask,
  { signal, submitted }: { readonly signal: AbortSignal; readonly submitted: (at: SubmittedTask) => void },
): AsyncGenerator<{ readonly event: RecordedEvent }> {
  const at = await client.submit(task)
  submitted(at)
  for await (const event of client.watch(at.task_id, { signal })) yield { event }
}
