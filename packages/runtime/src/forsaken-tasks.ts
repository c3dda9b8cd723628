// Finds the open tasks that no daemon drives. It asks the daemons that the read model names as owners, and
// does nothing else. A task is forsaken if it has no owner, or if its owner is gone. A daemon that does not
// answer may still live. It counts as gone only after it was silent for longer than any lease. A task that
// the read model gives to this daemon is forsaken if this daemon does not drive it.
import { type Clock, logKey, type LogId, type OpenTask, type Peers } from '@beaver/core'

export interface ForsakenPorts {
  readonly peers: Pick<Peers, 'state'>
  readonly clock: Clock
  readonly tenant: string
  readonly daemonId: string
  /** Whether this daemon drives the task. */
  readonly drives: (key: string) => boolean
}

export const logOf = (tenant: string, { session_id: session, task_id: task }: OpenTask): LogId =>
  ({ tenant, session, task }) as LogId

/** Remembers from call to call since when each daemon has been silent. */
export function forsakenTasks(
  ports: ForsakenPorts,
  { silentMs }: { silentMs: number },
): (open: readonly OpenTask[]) => Promise<OpenTask[]> {
  /** Daemons that did not answer when they were asked last. */
  let silentSince = new Map<string, number>()

  return async (open) => {
    const owners = [
      ...new Set(open.flatMap(({ owner }) => (owner === null || owner === ports.daemonId ? [] : [owner]))),
    ]
    const states = await Promise.all(
      owners.map(async (owner) => ({ owner, state: await ports.peers.state(owner) })),
    )
    const nowMs = ports.clock.now()
    silentSince = new Map(
      states.flatMap(({ owner, state }) =>
        state === 'silent' ? [[owner, silentSince.get(owner) ?? nowMs]] : [],
      ),
    )
    const isGone = ({ owner, state }: (typeof states)[number]): boolean =>
      state === 'gone' || nowMs - (silentSince.get(owner) ?? nowMs) >= silentMs
    const gone = new Set(states.filter(isGone).map(({ owner }) => owner))
    return open.filter((task) => {
      if (task.owner === ports.daemonId) return !ports.drives(logKey(logOf(ports.tenant, task)))
      return task.owner === null || gone.has(task.owner)
    })
  }
}
