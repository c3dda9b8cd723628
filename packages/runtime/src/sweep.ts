// The sweep finds open tasks that no daemon drives, and wakes them; the daemon that takes a wake reads the
// journal and decides. A dead daemon's tasks are woken at once. A task without a daemon that waits for
// nothing is woken after `idleMs`, because its delivery, wake or alarm was lost. A silent daemon counts as
// gone only after a silence longer than any lease.
import {
  type Clock,
  type Logger,
  type LogId,
  logKey,
  messageOf,
  type OpenTask,
  type OpenTasks,
  pause,
  type Peers,
} from '@beaver/core'
import type { TaskQueue } from '@beaver/core/journal'

export interface SweepPorts extends ForsakenPorts {
  readonly openTasks: OpenTasks
  readonly queue: Pick<TaskQueue, 'wake'>
  readonly logger: Logger
}

export interface Sweep {
  /** Sweeps now. @param owner only tasks of this daemon, which is gone @returns how many tasks were woken */
  now(owner?: string): Promise<number>
  stop(): Promise<void>
}

export interface SweepTimes {
  /** Default 10 s. */
  readonly everyMs?: number
  /** How long a task without a wait may be idle. Default 10 s. */
  readonly idleMs?: number
  /** How long a daemon may be silent before it counts as gone. Longer than the lease. Default 30 s. */
  readonly silentMs?: number
}

const pageMax = 1_000
const wakesMax = 16
/** Sweeps after a death, as the read model may be a moment behind the journal. */
const againMs = [0, 150, 400, 1_000] as const

export function startSweep(
  ports: SweepPorts,
  { everyMs = 10_000, idleMs = 10_000, silentMs = 30_000 }: SweepTimes = {},
): Sweep {
  const { clock, logger } = ports
  const stopping = new AbortController()
  let working: Promise<unknown> = Promise.resolve()
  let failing = false
  const wake = waking(ports, stopping.signal)
  const forsakenOf = forsakenTasks(ports, { silentMs })

  /** @param reason a part of the names of the wakes */
  async function sweep(reason: string, owner?: string): Promise<number> {
    try {
      const open = await ports.openTasks.list({
        tenant: ports.tenant,
        idleMsMin: idleMs,
        limit: pageMax,
        ...(owner === undefined ? {} : { owner }),
      })
      if (failing) logger.info('sweep_works', 'The daemon can list open tasks again.')
      failing = false
      const forsaken = owner === undefined ? await forsakenOf(open) : open
      await wake(forsaken, reason)
      if (forsaken.length > 0) tellSwept(logger, forsaken.length, owner)
      return forsaken.length
    } catch (error) {
      if (!failing)
        logger.warn(
          'sweep_failed',
          `Open tasks cannot be listed or woken: ${messageOf(error)} Until it works again, only leases bring tasks back.`,
        )
      failing = true
      return 0
    }
  }

  /** Sweeps do not overlap. */
  function now(reason: string, owner?: string): Promise<number> {
    const swept = working.then(() => (stopping.signal.aborted ? 0 : sweep(reason, owner)))
    working = swept
    return swept
  }

  const nowAndThen = (): string => `at ${Math.floor(clock.now() / everyMs)}`

  async function again(reason: string, owner?: string): Promise<number> {
    let woken = 0
    for (const pauseMs of againMs) {
      await pause(clock, pauseMs, stopping.signal)
      woken += await now(reason, owner)
    }
    return woken
  }

  /**
   * Wakes the tasks that a dead daemon drove, then those for which it was woken by another daemon's death.
   */
  async function afterDeathOf(owner: string): Promise<number> {
    const reason = `after ${owner}`
    return (await again(reason, owner)) + (await now(reason))
  }

  const timed = (async () => {
    await again(nowAndThen())
    while (!stopping.signal.aborted) {
      await pause(clock, everyMs, stopping.signal)
      await now(nowAndThen())
    }
  })()

  return {
    now: (owner) => (owner === undefined ? now(nowAndThen()) : afterDeathOf(owner)),
    async stop() {
      stopping.abort()
      await timed
      await working
    },
  }
}

/**
 * Wakes tasks until `signal` aborts. Several daemons may sweep at once, so each wake has a name, and the
 * queue keeps one wake of a name. The name contains the reason (a certain daemon's death, or the time of the
 * sweep), because the daemon that took the last wake may have died with it. At most `wakesMax` wakes are on
 * their way at once: the server stores all wakes of a burst before it delivers the first. @returns a function
 * that rejects if a wake could not be stored
 */
function waking(
  { queue, tenant }: Pick<SweepPorts, 'queue' | 'tenant'>,
  signal: AbortSignal,
): (tasks: readonly OpenTask[], reason: string) => Promise<void> {
  /** The names of the wakes that were stored for the newest reason; the queue would drop a second one. */
  let stored = new Set<string>()
  let storedFor = ''

  async function wake(task: OpenTask, reason: string): Promise<void> {
    const name = `sweep ${task.task_id} ${task.taskseq} ${reason}`
    if (stored.has(name)) return
    await queue.wake(logOf(tenant, task), { name })
    stored.add(name)
  }

  return async (tasks, reason) => {
    if (reason !== storedFor) stored = new Set()
    storedFor = reason
    for (let i = 0; i < tasks.length && !signal.aborted; i += wakesMax)
      await Promise.all(tasks.slice(i, i + wakesMax).map((task) => wake(task, reason)))
  }
}

function tellSwept(logger: Logger, tasks: number, owner: string | undefined): void {
  const counted = tasks === 1 ? 'One open task had' : `${tasks} open tasks had`
  logger.warn('tasks_swept', `${counted} no daemon. A daemon looks at each of them now.`, {
    tasks,
    ...(owner === undefined ? {} : { from: owner }),
  })
}

// Finds the open tasks that no daemon drives. A task is forsaken if it has no owner, if its owner is gone, or
// if the read model gives it to this daemon and this daemon does not drive it. It asks the owners whether
// they live.

interface ForsakenPorts {
  readonly peers: Pick<Peers, 'state'>
  readonly clock: Clock
  readonly tenant: string
  readonly daemonId: string
  /** Whether this daemon drives the task. */
  readonly drives: (key: string) => boolean
}

const logOf = (tenant: string, { session_id: session, task_id: task }: OpenTask): LogId =>
  ({ tenant, session, task }) as LogId

/** Remembers from call to call since when each daemon has been silent. */
function forsakenTasks(
  ports: ForsakenPorts,
  { silentMs }: { silentMs: number },
): (open: readonly OpenTask[]) => Promise<OpenTask[]> {
  /** Daemons that did not answer the last question, and since when. */
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
