// DaemonSupervisor: takes tasks while it has room, keeps their leases, drains on request. One a process.
// D1. A task is acknowledged only after its terminal event, or when something else is sure to bring it back: an alarm, a wake, the end
//     of the task before it. D2. At most `tasksMax` tasks are driven at once; one that only waits is none of them (D-64).
// D3. A drained daemon has handed over or finished every task it held. D4. A task it accepts it may drive before the queue delivers it;
//     the delivery, which is the lease, then comes to it, or to another daemon, which hands it on. D5. What it accepts and has no room
//     for it drives in the order of acceptance. D6. Leases are renewed only while the journal answers.
import {
  type Delivery,
  type DomainEvent,
  type Entry,
  logKey,
  type LogId,
  messageOf,
  pause,
  systemFacts,
  taskFacts,
  type TaskQueue,
  TransientMap,
} from '@beaver/core'
import { admissions } from './admissions.ts'
import { claimTask } from './claim-task.ts'
import { HeldTask } from './held-task.ts'
import { taskOf } from './load-task.ts'
import { lookAt } from './look.ts'
import { openedTask, type Opening } from './opened-task.ts'
import { pastTasks } from './past-tasks.ts'
import type { TaskPorts } from './task-ports.ts'
import { type SupervisedTask, superviseTask } from './task-supervisor.ts'
import { waitingLine } from './waiting-line.ts'

/**
 * What became of a delivery that was offered to the daemon which claimed the task.
 * - `taken`: it drives the task and has the lease now. - `ended`: it ended the task. - `refused`: it lives, and does not drive it.
 * - `gone`: it does not answer.
 */
export type HandedOn = 'taken' | 'ended' | 'refused' | 'gone'

export interface DaemonOptions extends Omit<TaskPorts, 'past' | 'queue' | 'admissions'> {
  readonly queue: TaskQueue
  readonly tasksMax: number
  readonly leaseMs: number
  /** A task ended here; `end` when this daemon wrote its terminal event. */
  readonly onEnded: (log: LogId, end: DomainEvent | null) => void
  /** Gives a delivery to the daemon that claimed its task. */
  readonly handOn?: (owner: string, delivery: Delivery) => Promise<HandedOn>
  /** Whether the journal answers. Default: always. */
  readonly healthy?: () => boolean
}

export interface Daemon {
  /** The tasks it drives. */
  readonly tasks: Pick<TransientMap<string, SupervisedTask>, 'get' | 'has' | 'size' | 'values'>
  /** Drives a task that is being accepted here; `null` when there is no room for it, or others wait for room. */
  open(log: LogId, opening: Opening): { readonly over: Promise<unknown> } | null
  /** Drives a task that was accepted here, when there is room. A hint: the queue delivers it too. */
  enqueue(log: LogId, first: Entry): void
  /** Takes the delivery of a task it drives, which came to another daemon. */
  takeOver(delivery: Delivery): Exclude<HandedOn, 'gone'>
  /** Takes no new tasks; lets running ones finish for `graceMs`, then hands them over. */
  drain(graceMs: number): Promise<void>
}

const fullPauseMs = 100
const pauseMsMin = 500
const pauseMsMax = 60_000
const endedMax = 10_000
/** Wakes fetched at a time: they come beside the acceptances and may exceed the room for a moment. */
const wakesMax = 16
const pullMs = 5_000
const brokenQueueMs = 500

export function startDaemon(options: DaemonOptions): Daemon {
  const { clock, queue, logger } = options
  const ports: TaskPorts = { ...options, past: pastTasks(options), admissions: admissions(clock) }
  /** Every task that is looked at or driven. */
  const held = new TransientMap<string, HeldTask>()
  const tasks = new TransientMap<string, SupervisedTask>()
  /** Tasks that were opened here and ended before they were delivered. */
  const endedEarly = new Set<string>()
  const line = waitingLine()
  const draining = new AbortController()
  const wakers = new Set<() => void>()

  const room = (): number => options.tasksMax - held.size

  function take(delivery: Delivery): void {
    const key = logKey(delivery.log)
    const known = held.get(key)
    if (known?.lease(delivery) === true) return
    if (delivery.cause === 'accepted' && endedEarly.delete(key)) return delivery.acknowledge()
    if (draining.signal.aborted || room() <= 0) return delivery.giveBack(fullPauseMs)
    const first = line.remove(key)
    hold(delivery.log, delivery, { opening: null, first: delivery.deliveries === 1 ? (delivery.first ?? first) : null })
  }

  function hold(log: LogId, delivery: Delivery | null, from: { opening: Opening | null; first: Entry | null }): HeldTask {
    const task = new HeldTask(log, delivery)
    const key = logKey(log)
    held.set(key, task)
    task.over = pursue(task, from)
      .catch((error: unknown) => broken(task, error))
      .finally(() => {
        if (held.get(key) === task) held.delete(key)
        next()
      })
    return task
  }

  /** Looks at the task, and drives it when that is due; again when it was woken meanwhile. */
  async function pursue(task: HeldTask, from: { opening: Opening | null; first: Entry | null }): Promise<void> {
    const { log } = task
    const { first } = from
    /** Until the first claim: what is claimed again later is in the journal. */
    let { opening } = from
    /** The task as its first entry tells it: that may not be the newest. */
    let known = opening !== null ? openedTask(opening) : first === null ? null : await taskOf(log, [first], options)
    for (;;) {
      const cause = task.startLook()
      const isNewest = known === null || opening !== null
      const seen = await lookAt(log, cause, known, options)
      known = null
      switch (seen.kind) {
        case 'nothing':
          return task.settle()
        case 'ended':
          await wakeNext(log, seen.loaded.acceptedRevision)
          options.onEnded(log, null)
          return task.settle()
        case 'waits':
          await queue.wakeIn(log, seen.delayMs)
          break
        case 'follows':
          break
        case 'due': {
          const { owner } = seen.loaded.state
          if (owner !== null && owner !== options.daemonId && task.newest !== null) {
            const how = (await options.handOn?.(owner, task.newest)) ?? 'gone'
            if (how === 'taken') {
              if (leftToAnother(task)) return
              continue
            }
            if (how === 'ended') return task.settle()
            if (!isNewest) continue
          }
          const claim = await claimTask(log, seen.loaded, opening, ports)
          if (claim.kind === 'given_up') {
            taskFacts.deadLettered(logger, log, { daemon: options.daemonId, claims: seen.loaded.state.ownersLost })
            await ended(task, seen.loaded.acceptedRevision, claim.end)
            return
          }
          taskFacts.claimed(logger, log, { daemon: options.daemonId, epoch: claim.task.taskLog.epoch, from: owner })
          const driven = superviseTask(claim.task, ports)
          tasks.set(logKey(log), driven)
          task.drivenBy(driven)
          const outcome = await driven.outcome
          tasks.delete(logKey(log))
          const acceptedRevision = opening?.acceptedRevision() || seen.loaded.acceptedRevision
          opening = null
          if (outcome === 'ended') return ended(task, acceptedRevision, driven.end())
          if (outcome === 'overtaken') {
            if (leftToAnother(task)) return
            continue
          }
          if (outcome !== 'suspended') return task.giveBack(outcome === 'lost' ? pauseAfter(task) : 0)
          break
        }
        default:
          return seen satisfies never
      }
      // What brings it back is durable; a wake that came while it was looked at is looked at now.
      if (!task.woken || draining.signal.aborted) return task.settle()
    }
  }

  /**
   * Whether a task that another daemon drives is left to it. Its delivery is not for this daemon to give back. A wake that came meanwhile
   * may say that the other daemon is gone: then the task is looked at again, or given back by a daemon that is draining.
   */
  function leftToAnother(task: HeldTask): boolean {
    if (task.woken && draining.signal.aborted) task.giveBack(0)
    return !task.woken || draining.signal.aborted
  }

  async function ended(task: HeldTask, acceptedRevision: number, end: DomainEvent | null): Promise<void> {
    const { log } = task
    if (end !== null) tellEnd(log, end)
    options.onEnded(log, end)
    if (task.newest === null) rememberEnded(logKey(log))
    await wakeNext(log, acceptedRevision)
    task.settle()
  }

  function tellEnd(log: LogId, end: DomainEvent): void {
    if (end.type === 'task_completed' || end.type === 'task_incomplete' || end.type === 'task_failed' || end.type === 'task_cancelled')
      taskFacts.ended(logger, log, end, { daemon: options.daemonId })
  }

  /** The session's next task may begin. It is woken before this one is acknowledged, so that nobody forgets it. */
  async function wakeNext(log: LogId, acceptedRevision: number): Promise<void> {
    const following = await options.journal.next(log, acceptedRevision)
    if (following !== null) await queue.wake({ ...log, task: following })
  }

  function broken(task: HeldTask, error: unknown): void {
    const fencedOff = (error as { code?: unknown }).code === 'fenced'
    if (!fencedOff) taskFacts.crashed(logger, task.log, { daemon: options.daemonId, error })
    task.giveBack(fencedOff ? pauseMsMin : pauseAfter(task))
  }

  /** What breaks again and again is tried ever more seldom. */
  const pauseAfter = ({ newest }: HeldTask): number => Math.min(pauseMsMax, pauseMsMin * 2 ** Math.min(10, newest?.deliveries ?? 1))

  /** Its delivery may have gone to another daemon: the oldest are forgotten. */
  function rememberEnded(key: string): void {
    if (endedEarly.size >= endedMax) endedEarly.delete(endedEarly.values().next().value as string)
    endedEarly.add(key)
  }

  /** There may be room: those who wait in line come first, then the queue. */
  function next(): void {
    while (room() > 0 && !draining.signal.aborted) {
      const first = line.shift()
      if (first === null) break
      if (!held.has(logKey(first.log))) hold(first.log, null, { opening: null, first: first.entry })
    }
    for (const wake of [...wakers]) wake()
  }

  async function takeTasks(of: 'accepted' | 'woken'): Promise<void> {
    /** What was wrong when the queue was read last: told once. */
    let told: string | null = null
    while (!draining.signal.aborted) {
      const free = line.size > 0 ? 0 : room()
      if (free <= 0 || options.healthy?.() === false) {
        await roomOrPause()
        continue
      }
      const deliveriesMax = of === 'accepted' ? free : Math.min(free, wakesMax)
      try {
        let given = 0
        for await (const delivery of queue.pull({ of, deliveriesMax, waitMs: pullMs, signal: draining.signal })) {
          given++
          take(delivery)
        }
        told = null
        if (of === 'accepted' && given < deliveriesMax) line.caughtUp()
      } catch (error) {
        const fault = messageOf(error)
        if (fault !== told) systemFacts.queueUnreadable(logger, { error, daemon: options.daemonId })
        told = fault
        await pause(clock, brokenQueueMs, draining.signal)
      }
    }
  }

  /** Resolves when a task was let go of; while the journal does not answer, after a moment. */
  function roomOrPause(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        wakers.delete(done)
        timer.cancel()
        resolve()
      }
      const timer = clock.after(options.healthy?.() === false ? fullPauseMs : pullMs, done)
      wakers.add(done)
    })
  }

  const beat = (): void => {
    if (options.healthy?.() !== false) for (const task of held.values()) task.extend()
    heartbeat = clock.after(options.leaseMs / 3, beat)
  }
  let heartbeat = clock.after(options.leaseMs / 3, beat)
  const taking = Promise.all([takeTasks('accepted'), takeTasks('woken')])

  return {
    tasks,
    open(log, opening) {
      if (draining.signal.aborted || room() <= 0 || line.size > 0 || line.behind || held.has(logKey(log))) return null
      return { over: hold(log, null, { opening, first: null }).over }
    },
    enqueue(log, first) {
      if (draining.signal.aborted || held.has(logKey(log))) return
      line.push(log, first)
      next()
    },
    takeOver(delivery) {
      const key = logKey(delivery.log)
      if (delivery.cause === 'accepted' && endedEarly.delete(key)) return 'ended'
      const known = held.get(key)
      if (known?.driven !== true || !known.lease(delivery)) return 'refused'
      delivery.extend()
      return 'taken'
    },
    async drain(graceMs) {
      draining.abort()
      line.clear()
      next()
      await taking
      const all = (): Promise<unknown> => Promise.all([...held.values()].map((task) => task.over))
      const grace = new AbortController() // its timer would keep a program alive that embeds the daemon
      await Promise.race([all(), pause(clock, graceMs, grace.signal)])
      grace.abort()
      for (const task of held.values()) task.release('The daemon is shutting down.')
      await all()
      heartbeat.cancel()
    },
  }
}
