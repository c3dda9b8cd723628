// Which operations a service allows in which state (LC-03 to LC-09), as a pure, total table: each operation
// is allowed or refused in each state. A refusal says what to call instead.
import { BeaverError } from '@beaver/core'

/**
 * The state of a service.
 * - `idle`: new; it takes direct tasks.
 * - `starting`: `start()` is not finished.
 * - `running`: from `start()` to `stop()`.
 * - `stopping`: `stop()` or `shutdown()` waits for open tasks.
 * - `stopped`: it takes no tasks, and the runtime still runs.
 * - `closed`: everything is released.
 */
export type ServiceState = 'idle' | 'starting' | 'running' | 'stopping' | 'stopped' | 'closed'

/** The methods whose use depends on the state. */
export type Operation =
  | 'boot'
  | 'processDirect'
  | 'start'
  | 'submitDirect'
  | 'client.submit'
  | 'client.run'
  | 'client.retry'
  | 'stop'
  | 'close'
  | 'result'

const allowed = null
const gone = 'It is closed. Make a new AgentService.'
const inRunningMode = 'In running mode tasks go through submitDirect().'
const isStarting = 'Await start() first.'
const isStopping = 'It takes no new tasks. Await stop(), then start() it again, or make a new AgentService.'
const hasStopped = 'It takes no new tasks. Call start() to take tasks again, or make a new AgentService.'

/** The client of the service may start tasks in running mode and outside of it. */
const byClient = {
  idle: allowed,
  starting: allowed,
  running: allowed,
  stopping: isStopping,
  stopped: hasStopped,
  closed: gone,
}

const table: Readonly<Record<Operation, Readonly<Record<ServiceState, string | null>>>> = {
  boot: {
    idle: allowed,
    starting: allowed,
    running: allowed,
    stopping: allowed,
    stopped: allowed,
    closed: gone,
  },
  processDirect: {
    idle: allowed,
    starting: inRunningMode,
    running: inRunningMode,
    stopping: isStopping,
    stopped: hasStopped,
    closed: gone,
  },
  start: {
    idle: allowed,
    starting: isStarting,
    running: 'It has been started.',
    stopping: 'Await stop() first.',
    stopped: allowed,
    closed: gone,
  },
  submitDirect: {
    idle: 'Call start() first, or use processDirect() for a single task.',
    starting: isStarting,
    running: allowed,
    stopping: isStopping,
    stopped: hasStopped,
    closed: gone,
  },
  'client.submit': byClient,
  'client.run': byClient,
  'client.retry': byClient,
  stop: {
    idle: 'It has not been started. Call close().',
    starting: isStarting,
    running: allowed,
    stopping: allowed,
    stopped: allowed,
    closed: gone,
  },
  close: {
    idle: allowed,
    starting: 'Await start() and stop() first, or call shutdown().',
    running: 'Await stop() first, or call shutdown().',
    stopping: 'Await stop() first, or call shutdown().',
    stopped: allowed,
    closed: allowed,
  },
  result: {
    idle: allowed,
    starting: allowed,
    running: allowed,
    stopping: allowed,
    stopped: allowed,
    closed: gone,
  },
}

/** The reason why a state refuses an operation; `null` if the state allows it. */
export function refusalOf(operation: Operation, state: ServiceState): string | null {
  return table[operation][state]
}

/**
 * Throws if the state refuses the operation.
 *
 * @throws {BeaverError} `wrong_state`; the message names the state and what to call instead
 */
export function mustAllow(operation: Operation, state: ServiceState): void {
  const why = refusalOf(operation, state)
  if (why !== null)
    throw new BeaverError('wrong_state', `${operation}() is refused: this AgentService is ${state}. ${why}`)
}
