// RunningTaskDriver: takes tasks while it has room, renews their leases, and drains on request. A process has
// one. A delivery is acknowledged only after the task's terminal event, or after something durable will bring
// the task back: an alarm, a wake, or the end of the task before it. A daemon may drive a task that it
// accepted before the queue delivers it; if the delivery comes to another daemon, that daemon hands it to the
// owner.
import {
  type BeaverError,
  type DomainEvent,
  type Logger,
  type LogId,
  logKey,
  messageOf,
  pause,
  systemFacts,
  taskFacts,
} from '@beaver/core'
import { type Delivery, type Entry, foreignFault } from '@beaver/core/journal'
import { newSpend, spendEvent } from '@beaver/core/budget'
import { pauseBefore, supervisors } from '@beaver/core/supervision'
import { admissions } from './admissions.ts'
import { claimTask } from './claim-task.ts'
import type { TaskDriver, TaskDriverOptions, DrivenTasks, HandedOn } from './task-driver-ports.ts'
import { HeldTask } from './held-task.ts'
import { isUnverified } from './final-faults.ts'
import { unbounded, sharedBudgets } from './budget-rules.ts'
import { type LoadedTask, loadTask, taskOf } from './load-task.ts'
import { assessTask } from './assess-task.ts'
import { openedTask, type Opening } from './opened-task.ts'
import { pastTasks } from './past-tasks.ts'
import { type Refusals, refusals } from './refusals.ts'
import { closeAccounts as closeAccountsIn } from './shared-budgets.ts'
import type { TaskPorts } from './task-ports.ts'
import { TaskSupervisor } from './task-supervisor.ts'
import { waitingLine } from './waiting-line.ts'

const fullPauseMs = 100
/** The pause after another daemon was faster. By then its claim is in the journal. */
const fencedPauseMs = 500
const endedMax = 10_000
/** Wakes fetched at a time. They come beside the acceptances and may exceed the room briefly. */
const wakesMax = 16
const pullMs = 5_000
const brokenQueueMs = 500

export function startTaskDriver(options: TaskDriverOptions): TaskDriver {
  const daemon = new RunningTaskDriver(options)
  return {
    tasks: daemon.tasks,
    open: (log, opening) => daemon.open(log, opening),
    enqueue: (log, first) => daemon.enqueue(log, first),
    driver: (log) => daemon.driver(log),
    takeOver: (delivery) => daemon.takeOver(delivery),
    refused: () => daemon.refused(),
    drain: (graceMs) => daemon.drain(graceMs),
  }
}

class RunningTaskDriver implements TaskDriver {
  readonly tasks: DrivenTasks
  readonly #options: TaskDriverOptions
  readonly #ports: TaskPorts
  /** Every task that is looked at or driven. */
  readonly #held = new Map<string, HeldTask>()
  /**
   * Tasks that were opened here and ended before they were delivered, with the revisions of their
   * acceptances.
   */
  readonly #endedEarly = new Map<string, number>()
  readonly #line = waitingLine()
  readonly #refusals: Refusals
  readonly #draining = new AbortController()
  readonly #wakers = new Set<() => void>()
  #heartbeat: { cancel(): void }
  /**
   * When the leases were last renewed, and until when other daemons may have taken tasks over unseen because
   * the leases ran out.
   */
  #renewedAtMs: number
  #doubtfulUntilMs = 0
  readonly #taking: Promise<unknown>

  constructor(options: TaskDriverOptions) {
    this.#options = options
    this.tasks = options.tasks ?? new Map()
    this.#refusals = refusals(options)
    this.#ports = { ...options, past: pastTasks(options), admissions: admissions(options.clock) }
    this.#renewedAtMs = options.clock.now()
    this.#heartbeat = this.#beatLater()
    this.#taking = Promise.all([this.#takeTasks('accepted'), this.#takeTasks('woken')])
  }

  open(log: LogId, opening: Opening): { readonly over: Promise<unknown> } | null {
    if (
      this.#isDraining ||
      this.#room <= 0 ||
      this.#line.size > 0 ||
      this.#line.behind ||
      this.#held.has(logKey(log))
    )
      return null
    return { over: this.#hold(log, null, { opening, first: null }).over }
  }

  enqueue(log: LogId, first: Entry): void {
    if (this.#isDraining || this.#held.has(logKey(log))) return
    this.#line.push(log, first)
    this.#next()
  }

  async driver(log: LogId): Promise<TaskSupervisor | null> {
    const key = logKey(log)
    await this.#held.get(key)?.claimed()
    return this.tasks.get(key) ?? null
  }

  takeOver(delivery: Delivery): Exclude<HandedOn, 'gone'> {
    const key = logKey(delivery.log)
    if (delivery.cause === 'accepted' && this.#endedEarly.delete(key)) return 'ended'
    const known = this.#held.get(key)
    if (known?.driven !== true || !known.lease(delivery)) return 'refused'
    delivery.extend()
    return 'taken'
  }

  async drain(graceMs: number): Promise<void> {
    this.#draining.abort()
    this.#line.clear()
    this.#next()
    await this.#taking
    const all = (): Promise<unknown> => Promise.all([...this.#held.values()].map((task) => task.over))
    const grace = new AbortController() // its timer would keep a program alive that embeds the daemon
    await Promise.race([all(), pause(this.#options.clock, graceMs, grace.signal)])
    grace.abort()
    for (const task of this.#held.values()) task.release('The daemon is shutting down.')
    await all()
    this.#heartbeat.cancel()
  }

  refused(): number {
    return this.#refusals.count
  }

  get #isDraining(): boolean {
    return this.#draining.signal.aborted
  }

  get #room(): number {
    return this.#options.tasksMax - this.#held.size
  }

  get #healthy(): boolean {
    return this.#options.healthy?.() !== false
  }

  #take(delivery: Delivery): void {
    const key = logKey(delivery.log)
    const known = this.#held.get(key)
    const isOwn =
      delivery.first !== null &&
      (known?.wrote(delivery.first) === true || this.#endedEarly.get(key) === delivery.first.revision)
    const fault = delivery.first === null || isOwn ? null : foreignFault(delivery.first)
    if (fault !== null) {
      delivery.refuse(fault)
      return this.#refusals.add(delivery.log, `${key} ${delivery.first?.revision ?? ''}`, fault)
    }
    if (known?.lease(delivery) === true) return
    if (delivery.cause === 'accepted' && this.#endedEarly.delete(key)) return delivery.acknowledge()
    if (this.#isDraining || this.#room <= 0) return delivery.giveBack(fullPauseMs)
    const first = this.#line.remove(key)
    this.#hold(delivery.log, delivery, {
      opening: null,
      first: delivery.deliveries === 1 ? (delivery.first ?? first) : null,
    })
  }

  #hold(
    log: LogId,
    delivery: Delivery | null,
    from: { opening: Opening | null; first: Entry | null },
  ): HeldTask {
    const task = new HeldTask(log, delivery, from.opening)
    const key = logKey(log)
    this.#held.set(key, task)
    task.over = this.#pursue(task, from)
      .catch((error: unknown) =>
        isUnverified(error) ? this.#setAside(task, error) : this.#broken(task, error),
      )
      .finally(() => {
        if (this.#held.get(key) === task) this.#held.delete(key)
        this.#next()
      })
    return task
  }

  /** Looks at the task and drives it if it is due. Looks again after a wake. */
  async #pursue(task: HeldTask, from: { opening: Opening | null; first: Entry | null }): Promise<void> {
    const { log } = task
    const { first } = from
    /** Only for the first claim: a task that is claimed again is in the journal. */
    let { opening } = from
    /** The task by its first entry, which may not be the newest. */
    let known =
      opening !== null
        ? openedTask(opening)
        : first === null
          ? null
          : await taskOf(log, [first], this.#options)
    for (;;) {
      const cause = task.startLook()
      const isNewest = known === null || opening !== null
      const seen = await assessTask(log, cause, known, this.#options)
      known = null
      switch (seen.kind) {
        case 'nothing':
          return task.settle()
        case 'ended':
          await this.#wakeNext(log, seen.loaded.acceptedRevision)
          this.#options.onEnded(log, null, acceptedAt(seen.loaded))
          await this.#closeAccounts(() => this.#closeAccountsOf(log, seen.loaded))
          return task.settle()
        case 'waits':
          await this.#options.queue.wakeIn(log, seen.delayMs)
          break
        case 'follows':
          break
        case 'due': {
          const how = await this.#driveOrHandOn(task, seen.loaded, { opening, isNewest })
          opening = null
          if (how === 'done') return
          if (how === 'look_again') continue
          break
        }
        default:
          return seen satisfies never
      }
      // What brings the task back is durable, so only a new wake needs another look.
      if (!task.woken || this.#isDraining) return task.settle()
    }
  }

  /**
   * Hands a due task to its owner if that lives, and drives it otherwise. `waits`: it was driven and is
   * suspended.
   */
  async #driveOrHandOn(
    task: HeldTask,
    loaded: LoadedTask,
    of: { opening: Opening | null; isNewest: boolean },
  ): Promise<'done' | 'look_again' | 'waits'> {
    const { owner } = loaded.state
    if (owner !== null && owner !== this.#options.daemonId && task.newest !== null) {
      const how = (await this.#options.handOn?.(owner, task.newest)) ?? 'gone'
      if (how === 'taken') return this.#leftToAnother(task)
      if (how === 'ended') {
        task.settle()
        return 'done'
      }
      if (!of.isNewest) return 'look_again'
    }
    return this.#drive(task, loaded, of.opening)
  }

  async #drive(
    task: HeldTask,
    loaded: LoadedTask,
    opening: Opening | null,
  ): Promise<'done' | 'look_again' | 'waits'> {
    const { log } = task
    const driven = await task.claimedBy(this.#claim(task, loaded, opening))
    if (driven === null) return 'done'
    const outcome = await driven.outcome
    this.tasks.delete(logKey(log))
    switch (outcome) {
      case 'ended':
        await this.#ended(task, opening?.acceptedRevision() || loaded.acceptedRevision, {
          end: driven.end(),
          acceptedAt: acceptedAt(loaded),
          closeAccounts: () => driven.closeAccounts(),
        })
        return 'done'
      case 'overtaken':
        return this.#leftToAnother(task)
      case 'suspended':
        return 'waits'
      case 'lost':
        task.giveBack(pauseAfter(task))
        return 'done'
      case 'released':
        task.giveBack(0)
        return 'done'
      default:
        return outcome satisfies never
    }
  }

  /**
   * @returns the supervisor of the task, or `null` if the task was given up @throws {BeaverError} `fenced`,
   * `unreachable`, `too_large`
   */
  async #claim(task: HeldTask, loaded: LoadedTask, opening: Opening | null): Promise<TaskSupervisor | null> {
    const { log } = task
    const { daemonId: daemon, logger } = this.#options
    const claim = await claimTask(log, loaded, opening, this.#ports)
    if (claim.kind === 'given_up') {
      taskFacts.deadLettered(logger, log, { daemon, claims: loaded.state.ownersLost })
      await this.#ended(task, loaded.acceptedRevision, {
        end: claim.end,
        acceptedAt: acceptedAt(loaded),
        closeAccounts: async () => this.#closeAccountsOf(log, await loadTask(log, this.#options)),
      })
      return null
    }
    taskFacts.claimed(logger, log, { daemon, epoch: claim.task.taskLog.epoch, from: loaded.state.owner })
    const driven = new TaskSupervisor(claim.task, this.#ports)
    this.tasks.set(logKey(log), driven)
    task.drivenBy(driven)
    return driven
  }

  /**
   * Leaves a task to the daemon that drives it, without giving back its delivery. A wake that came meanwhile
   * may mean that the other daemon is gone: then this daemon looks again or, if it drains, gives the task
   * back.
   */
  #leftToAnother(task: HeldTask): 'done' | 'look_again' {
    if (!task.woken) return 'done'
    if (!this.#isDraining) return 'look_again'
    task.giveBack(0)
    return 'done'
  }

  /** Closes the accounts of a task before its delivery is acknowledged, so that no crash leaves one open. */
  async #closeAccounts(close: () => Promise<void>): Promise<void> {
    const { daemonId: daemon, logger } = this.#options
    // A broken account must not hold the task: no call can use that account, either.
    await close().catch((error: unknown) => systemFacts.accountUnreadable(logger, { error, daemon }))
  }

  /** Closes the accounts of an ended task that nobody drives here. */
  async #closeAccountsOf(log: LogId, { state, events }: LoadedTask): Promise<void> {
    const { budgets: rules = unbounded, book, journal } = this.#options
    const { request } = state.submitted ?? {}
    if (request === undefined || book === undefined || book === null) return
    const budgets = sharedBudgets(rules, request, log)
    if (budgets.length === 0) return
    const spend = newSpend()
    for (const each of events) spendEvent(spend, each, { atMs: Date.parse(each.time), ...rules })
    await closeAccountsIn(spend, { log, budgets, book, now: () => journal.now() })
  }

  async #ended(
    task: HeldTask,
    acceptedRevision: number,
    {
      end,
      acceptedAt: accepted,
      closeAccounts,
    }: {
      readonly end: DomainEvent | null
      readonly acceptedAt: string | null
      readonly closeAccounts: () => Promise<void>
    },
  ): Promise<void> {
    const { log } = task
    if (end !== null) tellEnd(this.#options, log, end)
    this.#options.onEnded(log, end, accepted)
    if (task.newest === null) this.#rememberEnded(logKey(log), acceptedRevision)
    await this.#wakeNext(log, acceptedRevision)
    await this.#closeAccounts(closeAccounts)
    task.settle()
  }

  /**
   * Wakes the session's next task. This happens before the ended task is acknowledged, so that no crash loses
   * the wake.
   */
  async #wakeNext(log: LogId, acceptedRevision: number): Promise<void> {
    const { journal, queue } = this.#options
    const following = await journal.next(log, acceptedRevision)
    if (following !== null) await queue.wake({ ...log, task: following })
  }

  /** Refuses a task whose log does not verify. The tasks behind it in the session continue. */
  async #setAside(task: HeldTask, error: BeaverError): Promise<void> {
    const { log } = task
    const { journal } = this.#options
    const reason = messageOf(error)
    this.#options.onQuarantined?.(log, error)
    const first = await journal.first(log).catch(() => null)
    if (first !== null) await this.#wakeNext(log, first.revision).catch(() => {}) // The sweep wakes it later.
    task.refuse(reason)
    this.#refusals.add(log, logKey(log), reason)
  }

  #broken(task: HeldTask, error: unknown): void {
    const { daemonId: daemon, logger } = this.#options
    const fencedOff = (error as { code?: unknown }).code === 'fenced'
    if (!fencedOff) taskFacts.crashed(logger, task.log, { daemon, error })
    task.giveBack(fencedOff ? fencedPauseMs : pauseAfter(task))
  }

  /** Bounded: a delivery that went to another daemon never removes its entry. */
  #rememberEnded(key: string, acceptedRevision: number): void {
    if (this.#endedEarly.size >= endedMax)
      this.#endedEarly.delete(this.#endedEarly.keys().next().value as string)
    this.#endedEarly.set(key, acceptedRevision)
  }

  /** Fills free room: first from the waiting line, then from the queue. */
  #next(): void {
    while (this.#room > 0 && !this.#isDraining) {
      const first = this.#line.shift()
      if (first === null) break
      if (!this.#held.has(logKey(first.log)))
        this.#hold(first.log, null, { opening: null, first: first.entry })
    }
    for (const wake of [...this.#wakers]) wake()
  }

  async #takeTasks(of: 'accepted' | 'woken'): Promise<void> {
    const { clock, daemonId: daemon, logger } = this.#options
    /** The last error of reading the queue, so that each is logged once. */
    let told: string | null = null
    while (!this.#isDraining) {
      const free = this.#line.size > 0 ? 0 : this.#room
      if (free <= 0 || !this.#healthy) {
        await this.#roomOrPause()
        continue
      }
      try {
        await this.#pull(of, of === 'accepted' ? free : Math.min(free, wakesMax))
        told = null
      } catch (error) {
        const fault = messageOf(error)
        if (fault !== told) systemFacts.queueUnreadable(logger, { error, daemon })
        told = fault
        await pause(clock, brokenQueueMs, this.#draining.signal)
      }
    }
  }

  async #pull(of: 'accepted' | 'woken', deliveriesMax: number): Promise<void> {
    let given = 0
    for await (const delivery of this.#options.queue.pull({
      of,
      deliveriesMax,
      waitMs: pullMs,
      signal: this.#draining.signal,
    })) {
      given++
      this.#take(delivery)
    }
    if (of === 'accepted' && given < deliveriesMax) this.#line.caughtUp()
  }

  /** Resolves when a task was released or, while the journal does not answer, after a pause. */
  #roomOrPause(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#wakers.delete(done)
        timer.cancel()
        resolve()
      }
      const timer = this.#options.clock.after(this.#healthy ? pullMs : fullPauseMs, done)
      this.#wakers.add(done)
    })
  }

  #beatLater(): { cancel(): void } {
    return this.#options.clock.after(this.#options.leaseMs / 3, () => {
      if (this.#healthy) this.#renew()
      this.#heartbeat = this.#beatLater()
    })
  }

  #renew(): void {
    const now = this.#options.clock.now()
    // A delivery on its way to another daemon becomes a claim within one lease.
    if (now - this.#renewedAtMs > this.#options.leaseMs) this.#doubtfulUntilMs = now + this.#options.leaseMs
    this.#renewedAtMs = now
    for (const task of this.#held.values()) {
      task.extend()
      if (now < this.#doubtfulUntilMs) task.checkOwner()
    }
  }
}

const acceptedAt = ({ events }: LoadedTask): string | null => events[0]?.time ?? null

/** Backoff by the number of deliveries. */
const pauseAfter = ({ newest }: HeldTask): number =>
  pauseBefore(newest?.deliveries ?? 1, supervisors.task_without_progress.backoff)

function tellEnd(
  { daemonId: daemon, logger }: { readonly daemonId: string; readonly logger: Logger },
  log: LogId,
  end: DomainEvent,
): void {
  if (
    end.type === 'task_completed' ||
    end.type === 'task_incomplete' ||
    end.type === 'task_failed' ||
    end.type === 'task_cancelled'
  )
    taskFacts.ended(logger, log, end, { daemon })
}
