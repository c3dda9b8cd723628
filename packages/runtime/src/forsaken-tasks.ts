// Which open tasks nobody drives. It asks the daemons that are named as owners, and decides nothing else.
// F1. A task without an owner is forsaken, and one whose owner is gone. F2. A daemon that is silent may live: it counts as gone when it
//     was silent for longer than any lease. F3. A task of this daemon's own is forsaken when this daemon does not drive it.
import { type Clock, logKey, type LogId, type OpenTask, type Peers } from '@beaver/core'

export interface ForsakenPorts {
  readonly peers: Pick<Peers, 'state'>
  readonly clock: Clock
  readonly tenant: string
  readonly daemonId: string
  /** Whether this daemon drives the task. */
  readonly drives: (key: string) => boolean
}

export const logOf = (tenant: string, { session_id: session, task_id: task }: OpenTask): LogId => ({ tenant, session, task }) as LogId

/** Remembers from call to call since when each daemon has been silent. */
export function forsakenTasks(ports: ForsakenPorts, { silentMs }: { silentMs: number }): (open: readonly OpenTask[]) => Promise<OpenTask[]> {
  /** Daemons that did not answer when they were asked last. */
  let silentSince = new Map<string, number>()

  return async (open) => {
    const owners = [...new Set(open.flatMap(({ owner }) => (owner === null || owner === ports.daemonId ? [] : [owner])))]
    const states = await Promise.all(owners.map(async (owner) => ({ owner, state: await ports.peers.state(owner) })))
    const nowMs = ports.clock.now()
    silentSince = new Map(states.flatMap(({ owner, state }) => (state === 'silent' ? [[owner, silentSince.get(owner) ?? nowMs]] : [])))
    const isGone = ({ owner, state }: (typeof states)[number]): boolean => state === 'gone' || nowMs - (silentSince.get(owner) ?? nowMs) >= silentMs
    const gone = new Set(states.filter(isGone).map(({ owner }) => owner))
    return open.filter((task) => {
      if (task.owner === ports.daemonId) return !ports.drives(logKey(logOf(ports.tenant, task)))
      return task.owner === null || gone.has(task.owner)
    })
  }
}
