// The host runs the tasks behind the app: it is a service in this process, or a daemon over NATS. The app
// itself starts no loops (WEB-10). It starts and shuts down a service only if it takes the service over
// (WEB-09). A host that does not run refuses requests, and no request starts it (WEB-05, WEB-06).
import { type BeaverClient, submitAndFollow, typedTask } from '@beaver/client'
import type { SubmittedTask, SubmitTask } from '@beaver/contracts'
import { BeaverError, type LiveDelta, type LiveProgress } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { readTraceContext } from '@beaver/core/trace'
import { type AgentRunResult, evolveTaskView, newTaskView, resultOf } from '@beaver/core/task-view'
import { type Caller, hasRole } from './access.ts'

/** How a request follows its task. */
export interface Following {
  /** When it aborts, the request stops waiting for the task. The task continues. */
  readonly signal: AbortSignal
  readonly onSubmitted?: (submitted: SubmittedTask) => void
  readonly onEvent?: (event: RecordedEvent) => void
  readonly onDelta?: (delta: LiveDelta) => void
  readonly onProgress?: (progress: LiveProgress) => void
}

export interface TaskHost {
  /** `service`: in this process. `daemon`: over NATS. */
  readonly mode: 'service' | 'daemon'
  /**
   * The folder for tasks that do not name one. `null`: the gateway does not know the folder of the daemon.
   */
  readonly workspace: string | null
  running(): boolean
  /** @throws {BeaverError} `wrong_state` if the host is a service that does not run */
  client(): BeaverClient
  /**
   * Submits a task and waits for its end.
   *
   * @throws {BeaverError} `timeout` if `signal` aborted; the codes of `BeaverClient.submit`
   */
  run(task: SubmitTask, following: Following): Promise<AgentRunResult>
  start(): Promise<void>
  stop(): Promise<void>
}

/** The caller of a request, and the host of the tasks that it asks for. */
export interface Asker {
  readonly host: TaskHost
  readonly caller: Caller
}

/** A service in this process that runs the tasks, such as an `AgentService`. */
export interface HostedService {
  /** `running`: it accepts tasks. All other states refuse them. */
  readonly state: string
  /** The absolute path of the folder for tasks that do not name one. */
  readonly workspace: string
  /** The app reads this only while the service runs. */
  readonly client: BeaverClient
  start(): Promise<void>
  /** Ends the service at once. */
  close(): Promise<void>
  /**
   * Ends the service. `graceMs`: how long tasks may continue, in milliseconds. `force`: tasks that still run
   * after that are cancelled.
   */
  shutdown(options: { readonly graceMs: number; readonly force: boolean }): Promise<void>
}

/** How long tasks may continue when the app closes, in milliseconds (WEB-07). */
const graceMs = 5_000

/** @param owned whether the app starts and shuts down the service */
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

/** @param connected whether the connection to NATS works now */
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

type ChangeTask = <Task extends NamedTask & Pick<SubmitTask, 'workspace' | 'trace'>>(task: Task) => Task
/** The ids of a new task that its caller may choose. */
export type NamedTask = Pick<SubmitTask, 'session_id' | 'task_id'>

/** Returns the same host, except that `change` can alter or refuse each task before it is submitted. */
function throughChange(host: TaskHost, change: ChangeTask): TaskHost {
  const client = (): BeaverClient => {
    const own = host.client()
    return {
      ...own,
      submit: async (input, options) => own.submit(change(typedTask(input, options))),
      run: async (input, { timeoutMs, ...options } = {}) =>
        own.run(change(typedTask(input, options)), { timeoutMs }),
    }
  }
  return { ...host, client, run: async (task, following) => host.run(change(task), following) }
}

/**
 * Confines the tasks of HTTP callers to the daemon's own folder and the configured roots. Without this, a
 * task could work in any folder that the daemon's user can reach.
 */
export const confinedHost = (host: TaskHost): TaskHost =>
  throughChange(host, (task) => (task.workspace === undefined ? task : { ...task, roots_only: true }))

/**
 * The host as one caller may use it: a token with a user cannot submit a task under an id that belongs to a
 * chat of a channel. Otherwise the people of the chat would find its session or their message's id in use.
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

/** The host for a request whose headers name a trace: the tasks that it begins belong there. */
export function hostInTrace(host: TaskHost, headers: Headers): TaskHost {
  const trace = readTraceContext(headers.get('traceparent'), headers.get('tracestate'))
  if (trace === null) return host
  const traced = throughChange(host, (task) => ({ ...task, trace }))
  const client = (): BeaverClient => {
    const own = traced.client()
    return { ...own, retry: (taskId, options) => own.retry(taskId, { ...options, trace }) }
  }
  return { ...traced, client }
}

/** Applies the same check to a retry, which is a new task in the session of the old one. */
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
