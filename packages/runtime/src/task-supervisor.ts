// TaskSupervisor: drives one claimed task, in the daemon's main thread, to its terminal event or until this
// daemon releases it. After a release, a suspension or a loss, nothing more is written. A task that only
// waits is suspended: its loops are dropped, and an alarm or a wake brings it back (D-64). The work is in
// task-run.ts; assess-task.ts and claim-task.ts decide before whether the task may be driven.
import type { LoopEnd } from '@beaver/agent'
import {
  type Asker,
  BeaverError,
  type Clock,
  type DomainEvent,
  event,
  type LogId,
  messageOf,
  taskFacts,
  type TaskRequest,
} from '@beaver/core'
import { draft, drafted, newestRecord } from '@beaver/core/journal'
import { type ActorRefFrom, assign, createActor, setup } from 'xstate'
import { type ClaimedTask, givenUp } from './claim-task.ts'
import { isFinalFault, isUnverified } from './final-faults.ts'
import { type LoadedTask, loadTask } from './load-task.ts'
import { seemsToWait, type Suspension, suspensionOf } from './suspension.ts'
import type { ClientAnswers } from './client-answers.ts'
import type { Answer, Decision } from './task-approvals.ts'
import type { TaskLog } from './task-log.ts'
import type { TaskPorts } from './task-ports.ts'
import { type LoopNow, type RootEnd, TaskRun } from './task-run.ts'
import type { LiveTeam } from './task-teams.ts'
import type { RaiseRequest } from './task-raises.ts'
import type { SteerRequest } from './task-steers.ts'

/** How long the first entry of a task that is being opened waits for the first events of its root. */
const openingMsMax = 100
/** How long a wait must still last to be worth a suspension. */
const waitMsMin = 2_000

/** What a supervisor holds of its task at one moment. */
export interface TaskNow {
  readonly log: LogId
  readonly request: TaskRequest
  /** The state of its machine. */
  readonly state:
    | 'running'
    | 'finishing'
    | 'suspending'
    | 'suspended'
    | 'releasing'
    | 'released'
    | 'lost'
    | 'ended'
  /** For how long this daemon has driven the task, in milliseconds. */
  readonly drivenMs: number
  readonly ownersLost: ClaimedTask['ownersLost']
  readonly loops: readonly LoopNow[]
  readonly teams: readonly LiveTeam[]
}

export class TaskSupervisor {
  readonly log: LogId
  readonly outcome: Promise<TaskOutcome>
  readonly #taskLog: TaskLog
  readonly #ports: TaskPorts
  readonly #run: TaskRun
  readonly #actor: ActorRefFrom<typeof taskMachine>
  readonly #waitTimer: WaitTimer
  readonly #ownersLost: ClaimedTask['ownersLost']
  readonly #claimedAtMs: number

  constructor(task: ClaimedTask, ports: TaskPorts) {
    const { cancelReason } = task.loaded.state
    this.log = task.log
    this.#ownersLost = task.ownersLost
    this.#claimedAtMs = ports.clock.now()
    this.#taskLog = task.taskLog
    this.#ports = ports
    this.#waitTimer = new WaitTimer(ports, () => this.#begin(this.#lookWhetherItWaits()))
    this.#run = new TaskRun(task, ports, {
      cancelReason,
      onWait: () => this.#waitTimer.arm(),
      // A log that is closed by now belongs to the next owner, whose wait is as long.
      onClientGone: (reason) => void this.cancel(reason).catch(() => {}),
    })
    const effects: TaskEffects = {
      run: () => this.#begin(this.#work()),
      finish: (end, terminal) => this.#begin(this.#finish({ end, terminal })),
      suspend: (wait) => this.#begin(this.#suspend(wait)),
      release: (reason) => this.#begin(this.#release(reason)),
    }
    this.#actor = createActor(taskMachine, { input: { effects, cancelReason } })
    const { fenced } = task.taskLog
    fenced.addEventListener(
      'abort',
      () => (isFinalFault(fenced.reason) ? this.#begin(task.taskLog.fail()) : this.#lose()),
      { once: true },
    )
    // The submitter waits for this write, so bound the wait even if the worker thread is busy.
    const opening =
      task.opening === null ? null : ports.clock.after(openingMsMax, () => void task.taskLog.flush())
    this.outcome = this.#ending().finally(() => opening?.cancel())
    this.#actor.start()
  }

  /** The terminal event, if this daemon wrote it. */
  end(): DomainEvent | null {
    return this.#actor.getSnapshot().context.terminal ?? this.#run.terminal
  }

  /** What it holds at this moment. Nothing is read from the journal, and no worker thread is asked. */
  now(): TaskNow {
    return {
      log: this.log,
      request: this.#run.request,
      state: this.#actor.getSnapshot().value,
      drivenMs: this.#ports.clock.now() - this.#claimedAtMs,
      ownersLost: this.#ownersLost,
      loops: this.#run.activity(),
      teams: this.#run.teams?.liveTeams() ?? [],
    }
  }

  /**
   * Journals the request before it takes effect, so the next owner obeys it too. Resolves when it is durable.
   * @throws {BeaverError} `conflict`; `fenced` if this daemon released the task meanwhile
   */
  async cancel(reason: string, asker: Asker = {}): Promise<void> {
    this.#mustBeDriven()
    if (this.#ended || this.#run.terminal !== null)
      throw new BeaverError('conflict', `The task ${this.log.task} has ended already.`)
    await this.#taskLog.append([draft(event('task_cancel_requested', { reason, ...asker }))])
    this.#actor.send({ type: 'cancel', reason })
    this.#run.cancel(reason)
  }

  /**
   * Cancels one node of a running team and blocks the nodes that depend on it. @throws {BeaverError}
   * `not_found`, `conflict`
   */
  async cancelNode(nodeId: string, reason: string, asker: Asker = {}): Promise<void> {
    this.#mustBeDriven()
    const { teams } = this.#run
    if (this.#ended || teams === null)
      throw new BeaverError('conflict', `The task ${this.log.task} has no running team.`)
    await teams.cancelNode(nodeId, reason, asker)
  }

  /** Journals a person's decision about a call. @throws {BeaverError} `not_found`, `conflict` */
  async decide(decision: Decision): Promise<void> {
    this.#mustBeDriven()
    if (this.#ended)
      throw new BeaverError('conflict', `The task ${this.log.task} has no call that waits for an approval.`)
    await this.#run.approvals.decide(decision)
  }

  /**
   * Journals a person's answer to a question of a call. @throws {BeaverError} `not_found`, `conflict`,
   * `invalid_arguments`
   */
  async answer(answer: Answer): Promise<void> {
    this.#mustBeDriven()
    if (this.#ended)
      throw new BeaverError('conflict', `The task ${this.log.task} has no call that asks a question.`)
    await this.#run.approvals.answer(answer)
  }

  /** Journals the client's answers to calls of its tools. @throws {BeaverError} `not_found`, `conflict` */
  async answerForClient(answers: ClientAnswers): Promise<void> {
    this.#mustBeDriven()
    await this.#run.approvals.answerForClient(answers)
  }

  /**
   * Journals a text for the root agent. @throws {BeaverError} `conflict`; `fenced` if this daemon released
   * the task meanwhile
   */
  async steer(asked: SteerRequest): Promise<void> {
    this.#mustBeDriven()
    await this.#run.steer(asked)
  }

  /**
   * Gives more to a budget of the task. @throws {BeaverError} `conflict`; `fenced` if this daemon released the
   * task meanwhile
   */
  async raise(asked: RaiseRequest): Promise<void> {
    this.#mustBeDriven()
    if (this.#ended) throw new BeaverError('conflict', `The task ${this.log.task} has ended already.`)
    await this.#run.raise(asked)
  }

  /** Closes its accounts of shared budgets, when it has ended. */
  closeAccounts(): Promise<void> {
    return this.#run.closeAccounts()
  }

  release(reason: string): void {
    this.#actor.send({ type: 'release', reason })
  }

  /** Releases the task, and ends its calls, if another daemon owns it by now. */
  checkOwner(): void {
    this.#taskLog.stillOurs().catch(() => {}) // A log that is fenced loses the task by itself.
  }

  get #ended(): boolean {
    return this.#actor.getSnapshot().context.terminal !== null
  }

  /** A released task is not over: `fenced` makes the caller look for its owner again. */
  #mustBeDriven(): void {
    if (!this.#ended && this.#actor.getSnapshot().status !== 'active')
      throw new BeaverError('fenced', `This daemon released the task ${this.log.task}.`)
  }

  /** Resolves when the machine has ended and nothing of the task is held. */
  #ending(): Promise<TaskOutcome> {
    return new Promise((resolve) => {
      this.#actor.subscribe({
        next: ({ status, value, context }) => {
          if (status !== 'done') return
          this.#waitTimer.stop()
          // A log that ended with its task is closed.
          if (context.terminal === null || this.#run.loops > 0)
            this.#taskLog.close('This daemon released the task.')
          this.#run.drop('The daemon released the task.')
          resolve(value === 'lost' ? this.#lostHow() : (value as TaskOutcome))
        },
        error: (error) => {
          this.#tellBroken(error)
          resolve('lost')
        },
      })
    })
  }

  /** An effect that fails loses the task, or ends it if another try is of no use. */
  #begin(effect: Promise<void>): void {
    effect.catch(async (error: unknown) => {
      if (this.#actor.getSnapshot().status !== 'active') return
      this.#tellBroken(error)
      const end = await this.#giveUp(error).catch(() => null)
      if (end === null) this.#lose()
      else this.#actor.send({ type: 'given.up', terminal: end })
    })
  }

  #lose(): void {
    if (this.#actor.getSnapshot().status === 'active') this.#actor.send({ type: 'fenced' })
  }

  #tellBroken(error: unknown): void {
    const { daemonId: daemon, logger } = this.#ports
    const fencedOff = error instanceof BeaverError && error.code === 'fenced'
    if (fencedOff) taskFacts.lost(logger, this.log, { daemon, reason: messageOf(error) })
    else if (isFinalFault(error))
      taskFacts.appendRefused(logger, this.log, { daemon, reason: messageOf(error) })
    else taskFacts.crashed(logger, this.log, { daemon, error })
  }

  /**
   * Ends a task whose events can never be written. The failed append closed the log, so a new log continues
   * it.
   */
  async #giveUp(error: unknown): Promise<DomainEvent | null> {
    if (!isFinalFault(error)) return null
    const taskLog = this.#taskLog
    const now = await loadTask(this.log, this.#ports)
    // A task whose acceptance could not be written does not exist; its submitter gets the error.
    if (now.state.submitted === null || now.state.ended !== null) return null
    // Another daemon may own the task by now. Two daemons that claim at one moment choose the same epoch, so
    // compare the daemon's id too.
    const { daemonId } = this.#ports
    if (now.head.epoch > taskLog.epoch || (now.head.epoch === taskLog.epoch && now.state.owner !== daemonId))
      return null
    const events = givenUp(
      { class: 'internal', message: `The task cannot continue: ${messageOf(error)}` },
      { claims: taskLog.epoch, usage: this.#run.usage },
    )
    // The claim goes with the first events of the task, so it may be missing too.
    const claim = now.head.epoch < taskLog.epoch ? [event('task_claimed', { daemon: daemonId })] : []
    await taskLog.after(now).appendLast([...claim, ...events].map(draft), 'Beaver gave up on the task.')
    return events.at(-1) as DomainEvent
  }

  async #work(): Promise<void> {
    // The work creates actors, which an action of XState must not do.
    await Promise.resolve()
    this.#actor.send({ type: 'root.ended', ...(await this.#run.work()) })
  }

  async #finish({ end, terminal }: RootEnd): Promise<void> {
    const last = drafted(terminal ?? this.#run.endOf(end))
    if (terminal === null) await this.#taskLog.appendLast([last.draft], 'The task has ended.')
    this.#actor.send({ type: 'finished', terminal: last.event })
  }

  async #lookWhetherItWaits(): Promise<void> {
    const [run, timer, taskLog] = [this.#run, this.#waitTimer, this.#taskLog]
    if (!run.waits) return
    if (!run.activity().every(seemsToWait)) return timer.again()
    await taskLog.flush()
    const now = await this.#readNow()
    if (now === null) return timer.again()
    const { state, head } = now
    // Another daemon took the task over, or a decision was recorded while this claim was on its way. The
    // fence would refuse the next write, but a task that only waits writes nothing.
    if (head.epoch > taskLog.epoch || head.taskseq > taskLog.given)
      return taskLog.close('Somebody else wrote into its log.')
    const wait = suspensionOf(run.activity(), state.runs, waitMsMin)
    // Suspend only if nothing happened while the log was read.
    if (wait === null || head.taskseq !== taskLog.given || run.approvals.busy()) return timer.again()
    this.#actor.send({ type: 'suspend', wait })
  }

  /** `null`: the log cannot be read now. That loses nothing, and nothing must be written. */
  async #readNow(): Promise<LoadedTask | null> {
    try {
      return await loadTask(this.log, this.#ports)
    } catch (error) {
      if (isFinalFault(error) || isUnverified(error)) throw error
      return null
    }
  }

  async #suspend({ waitsFor, waitMs, reason }: Suspension): Promise<void> {
    const { queue, journal, daemonId: daemon, logger } = this.#ports
    const { given } = this.#taskLog
    // Who gives more to a shared budget finds there that this task waits.
    await this.#run.accountsWritten()
    await queue.wakeIn(this.log, waitMs)
    const until = new Date(journal.now() + waitMs).toISOString()
    const suspended = event('task_suspended', { daemon, waits_for: waitsFor, wait_ms: waitMs, until, reason })
    // A decision may come while the alarm is set. The suspension does not know it, so the task is handed over
    // instead.
    const changed = this.#taskLog.given !== given || this.#run.approvals.busy()
    const last = changed
      ? event('task_released', { daemon, reason: 'Something happened while the task was being suspended.' })
      : suspended
    await this.#taskLog.appendLast([draft(last)], 'The task waits without a daemon.')
    if (!changed) taskFacts.suspended(logger, this.log, { daemon, waitsFor, until, reason })
    // Nothing would wake a task that is handed over, so its delivery is given back.
    this.#actor.send({ type: changed ? 'released' : 'suspended' })
  }

  async #release(reason: string): Promise<void> {
    const { daemonId: daemon, logger } = this.#ports
    await this.#taskLog.appendLast(
      [draft(event('task_released', { daemon, reason }))],
      'The task was handed over.',
    )
    taskFacts.released(logger, this.log, { daemon, reason })
    this.#actor.send({ type: 'released' })
  }

  /**
   * Whether another daemon wrote since this daemon claimed the task. An unreadable journal counts as
   * overtaken; the lease expires.
   */
  async #lostHow(): Promise<TaskOutcome> {
    if (!this.#taskLog.fenced.aborted) return 'lost'
    try {
      const last = await this.#ports.journal.last(this.log)
      if (last === null) return 'lost'
      const newest = newestRecord(last)
      if (newest === null) return 'lost' // A stranger wrote last. The next claim ends the task.
      const { epoch, source } = newest
      return epoch >= this.#taskLog.epoch && source !== this.#ports.source ? 'overtaken' : 'lost'
    } catch {
      return 'overtaken'
    }
  }
}

// Decides when to check whether a task only waits: after a short pause, then after longer and longer ones.

const pauseMsMin = 1_000
const pauseMsMax = 30_000

class WaitTimer {
  readonly #clock: Clock
  readonly #look: () => void
  #pauseMs = pauseMsMin
  #timer: { cancel(): void } | null = null
  #stopped = false

  constructor({ clock }: { readonly clock: Clock }, look: () => void) {
    this.#clock = clock
    this.#look = look
  }

  /** Starts again with short pauses, because something new begins to wait. */
  arm(): void {
    this.#pauseMs = pauseMsMin
    this.#set()
  }

  /** Checks again later: the task cannot be suspended yet. */
  again(): void {
    this.#pauseMs = Math.min(this.#pauseMs * 2, pauseMsMax)
    this.#set()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  #set(): void {
    if (this.#stopped) return
    this.#timer?.cancel()
    this.#timer = this.#clock.after(this.#pauseMs, () => {
      this.#timer = null
      this.#look()
    })
  }
}

// The states of a task that a daemon has claimed.
//
//   running ─root.ended─▶ finishing ─finished─▶ ended
//   running ─suspend─▶ suspending ─suspended─▶ suspended
//   running ─release─▶ releasing ─released─▶ released
//   any ─fenced─▶ lost      any ─given.up─▶ ended
//
// Four states are final: `ended` (the journal holds the terminal event), `suspended` (the task only waits,
// and the daemon holds nothing of it), `released` (it was handed over) and `lost` (another daemon owns it, or
// this daemon cannot go on). The entry action of a state is its effect. Effects come with the input and take
// what they need from the context.

type TaskMachineEvent =
  | { readonly type: 'root.ended'; readonly end: LoopEnd; readonly terminal: DomainEvent | null }
  /** The terminal event is in the journal. */
  | { readonly type: 'finished'; readonly terminal: DomainEvent }
  | { readonly type: 'suspend'; readonly wait: Suspension }
  | { readonly type: 'suspended' }
  | { readonly type: 'release'; readonly reason: string }
  | { readonly type: 'released' }
  | { readonly type: 'given.up'; readonly terminal: DomainEvent }
  | { readonly type: 'cancel'; readonly reason: string }
  | { readonly type: 'fenced' }

/** The entry actions of the states. */
interface TaskEffects {
  run(): void
  /** @param terminal the terminal event, if it was written with the root's end */
  finish(end: LoopEnd, terminal: DomainEvent | null): void
  suspend(wait: Suspension): void
  release(reason: string): void
}

interface TaskContext {
  readonly effects: TaskEffects
  /** Why the task is to be cancelled. */
  readonly cancelReason: string | null
  /** The terminal event, once it is decided. */
  readonly terminal: DomainEvent | null
}

const taskMachine = setup({
  types: {} as {
    context: TaskContext
    events: TaskMachineEvent
    input: Pick<TaskContext, 'effects' | 'cancelReason'>
  },
  actions: {
    run: ({ context }) => context.effects.run(),
    finish: ({ context, event }) =>
      event.type === 'root.ended' && context.effects.finish(event.end, event.terminal),
    suspend: ({ context, event }) => event.type === 'suspend' && context.effects.suspend(event.wait),
    release: ({ context, event }) => event.type === 'release' && context.effects.release(event.reason),
    keepReason: assign(({ context, event }) =>
      event.type === 'cancel' ? { cancelReason: context.cancelReason ?? event.reason } : {},
    ),
    keepEnd: assign(({ event }) => ('terminal' in event ? { terminal: event.terminal } : {})),
  },
}).createMachine({
  id: 'TaskSupervisor',
  context: ({ input }) => ({ ...input, terminal: null }),
  initial: 'running',
  on: {
    'given.up': { target: '.ended', actions: 'keepEnd' },
    fenced: '.lost',
    cancel: { actions: 'keepReason' },
  },
  states: {
    running: {
      entry: 'run',
      on: {
        'root.ended': { target: 'finishing', actions: 'keepEnd' },
        suspend: 'suspending',
        release: 'releasing',
      },
    },
    finishing: { entry: 'finish', on: { finished: { target: 'ended', actions: 'keepEnd' } } },
    suspending: { entry: 'suspend', on: { suspended: 'suspended', released: 'released' } },
    releasing: { entry: 'release', on: { released: 'released' } },
    ended: { type: 'final' },
    suspended: { type: 'final' },
    released: { type: 'final' },
    lost: { type: 'final' },
  },
})

/** `overtaken`: another daemon owns the task now, so this one must not give it back. */
type TaskOutcome = 'ended' | 'suspended' | 'released' | 'lost' | 'overtaken'
