// DaemonSupervisor: takes tasks while it has room, keeps their leases, drains on request. One a process.
// D1. A task is acknowledged only after its terminal event. D2. At most `tasksMax` are held. D3. A drained daemon has handed
//     over or finished every task it held. D4. A task it accepts it may drive before the queue delivers it; the delivery, which is
//     the lease, then comes to it, or to another daemon, which hands it on.
import { type Delivery, type DomainEvent, logKey, type LogId, messageOf, pause, type TaskQueue, TransientMap } from '@beaver/core'
import { pastTasks } from './past-tasks.ts'
import type { Opening } from './opened-task.ts'
import { type SupervisedTask, superviseTask, type TaskArrival, type TaskPorts } from './task-supervisor.ts'

export interface DaemonOptions extends Omit<TaskPorts, 'past'> {
  readonly queue: TaskQueue
  readonly tasksMax: number
  readonly leaseMs: number
  /** A task ended here; `end` when this daemon wrote its terminal event. */
  readonly onEnded: (log: LogId, end: DomainEvent | null) => void
  /** Whether tasks wait here for one that another daemon may be driving. */
  readonly onParked: (parked: boolean) => void
  /** Gives a delivery to the daemon that claimed its task; `false` when that one is gone, or does not drive it. */
  readonly handOn?: (owner: string, delivery: Delivery) => Promise<boolean>
}

export interface Daemon {
  readonly tasks: Pick<TransientMap<string, SupervisedTask>, 'get' | 'has' | 'size' | 'values'>
  /** Drives a task that is being accepted here; `null` when there is no room for it. */
  open(log: LogId, opening: Opening): SupervisedTask | null
  /** Takes the delivery of a task it drives, which came to another daemon; `false` when it does not drive it. */
  takeOver(delivery: Delivery): boolean
  /** A task of the session may have ended: parked tasks look again. */
  sessionIdle(tenant: string, session: string): void
  /** Takes no new tasks; lets running ones finish for `graceMs`, then hands them over. */
  drain(graceMs: number): Promise<void>
}

const parkPauseMs = 1_000
const lostPauseMs = 1_000
const fullPauseMs = 100
const endedMax = 10_000

export function startDaemon(options: DaemonOptions): Daemon {
  const { clock, queue } = options
  const ports: TaskPorts = { ...options, past: pastTasks(options) }
  /** `delivery` is the newest: it carries the lease. A task that was opened here has none at first. */
  const held = new TransientMap<string, { task: SupervisedTask; delivery: Delivery | null }>()
  /** Tasks that were opened here and ended before they were delivered. */
  const endedEarly = new Set<string>()
  const tasks = new TransientMap<string, SupervisedTask>()
  const draining = new AbortController()
  let wake: () => void = () => {}

  function take(delivery: Delivery): void {
    const key = logKey(delivery.log)
    const known = held.get(key)
    if (known !== undefined) {
      if (known.delivery !== null) delivery.extend() // delivered again although ours
      known.delivery = delivery
      return
    }
    if (endedEarly.delete(key)) return delivery.acknowledge()
    if (held.size >= options.tasksMax) return delivery.giveBack(fullPauseMs)
    drive(delivery.log, delivery, {
      deliveries: delivery.deliveries,
      opening: null,
      handOn: async (owner) => (await options.handOn?.(owner, delivery)) ?? false,
    })
  }

  function drive(log: LogId, delivery: Delivery | null, arrival: TaskArrival): SupervisedTask {
    const key = logKey(log)
    const task = superviseTask(log, arrival, ports)
    const entry = { task, delivery }
    held.set(key, entry)
    tasks.set(key, task)
    void task.outcome.then((outcome) => {
      held.delete(key)
      tasks.delete(key)
      if (outcome === 'ended') {
        if (entry.delivery !== null) entry.delivery.acknowledge()
        else rememberEnded(key)
        options.onEnded(task.log, task.end())
      } else if (outcome !== 'overtaken') entry.delivery?.giveBack(outcome === 'lost' ? lostPauseMs : 0) // else it would be taken from its new owner
      wake()
    })
    return task
  }

  /** Its delivery may have gone to another daemon: the oldest are forgotten. */
  function rememberEnded(key: string): void {
    if (endedEarly.size >= endedMax) endedEarly.delete(endedEarly.values().next().value as string)
    endedEarly.add(key)
  }

  async function takeTasks(): Promise<void> {
    while (!draining.signal.aborted) {
      const room = options.tasksMax - held.size
      if (room <= 0) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      try {
        for await (const delivery of queue.pull({ deliveriesMax: room, waitMs: 5_000, signal: draining.signal })) take(delivery)
      } catch (error) {
        process.emitWarning(`The task queue cannot be read: ${messageOf(error)}`, 'BeaverDaemon')
        await pause(clock, 500, draining.signal)
      }
    }
  }

  let lastCheck = 0
  const beat = (): void => {
    for (const { delivery } of held.values()) delivery?.extend()
    const parked = [...held.values()].filter(({ task }) => task.parked())
    options.onParked(parked.length > 0)
    if (clock.now() - lastCheck >= parkPauseMs) {
      lastCheck = clock.now()
      for (const { task } of parked) task.recheck()
    }
    heartbeat = clock.after(options.leaseMs / 3, beat)
  }
  let heartbeat = clock.after(options.leaseMs / 3, beat)
  const taking = takeTasks()

  return {
    tasks,
    open(log, opening) {
      if (draining.signal.aborted || held.size >= options.tasksMax || held.has(logKey(log))) return null
      return drive(log, null, { deliveries: 1, opening, handOn: async () => false })
    },
    takeOver(delivery) {
      const known = held.get(logKey(delivery.log))
      if (known?.task.claimed() !== true) return false
      known.delivery = delivery
      delivery.extend()
      return true
    },
    sessionIdle(tenant, session) {
      for (const { task } of held.values()) if (task.log.session === session && task.log.tenant === tenant && task.parked()) task.recheck()
    },
    async drain(graceMs) {
      draining.abort()
      wake()
      await taking
      const all = (): Promise<unknown> => Promise.all([...held.values()].map(({ task }) => task.outcome))
      for (const { task } of held.values()) if (task.parked()) task.release('The daemon is shutting down.')
      const grace = new AbortController() // its timer would keep a program alive that embeds the daemon
      await Promise.race([all(), pause(clock, graceMs, grace.signal)])
      grace.abort()
      for (const { task } of held.values()) task.release('The daemon is shutting down.')
      await all()
      heartbeat.cancel()
    },
  }
}
