// TaskSupervisor: the life of one claimed task, to its terminal event or until this daemon lets go of it. One a task, in the daemon's
// main thread. What the task does is in task-run.ts; whether it may be driven at all was decided before, in look.ts and claim-task.ts.
// K1. After a release, a suspension or a loss nothing more is written. K2. Cancel is journaled before it takes effect, and a task taken
//     over remembers it. K3. A task that only waits is suspended: its loops are dropped, and an alarm or a wake brings it back (D-64).
// K4. What can never succeed ends the task at once, with the reason.
import { BeaverError, type DomainEvent, draft, event, type LogId, messageOf, newestRecord, taskFacts } from '@beaver/core'
import { createActor } from 'xstate'
import { type ClaimedTask, givenUp, isHopeless } from './claim-task.ts'
import { type LoadedTask, loadTask } from './load-task.ts'
import { seemsToWait, type Suspension, suspensionOf } from './suspension.ts'
import type { Decision } from './task-approvals.ts'
import { taskMachine, type TaskOutcome } from './task-machine.ts'
import type { TaskPorts } from './task-ports.ts'
import { type RootEnd, TaskRun } from './task-run.ts'

export interface SupervisedTask {
  readonly log: LogId
  readonly outcome: Promise<TaskOutcome>
  /** How it ended, when this daemon wrote the terminal event. */
  end(): DomainEvent | null
  /** Journals the request; resolves when it is durable. @throws {BeaverError} `conflict` */
  cancel(reason: string): Promise<void>
  /** Cancels one node of a running team; what depends on it is blocked. @throws {BeaverError} `not_found`, `conflict` */
  cancelNode(nodeId: string, reason: string): Promise<void>
  /** Journals what a person decided about a call. @throws {BeaverError} `not_found`, `conflict` */
  decide(decision: Decision): Promise<void>
  release(reason: string): void
}

/** How long the first entry of a task that is being opened waits for the first events of its root. */
const openingMsMax = 100
/** How long a wait lasts before the task is looked at, and how long it must still last to be worth a suspension. */
const settleMs = 1_000
const waitMsMin = 2_000
const settleMsMax = 30_000

export function superviseTask(task: ClaimedTask, ports: TaskPorts): SupervisedTask {
  const { log, taskLog, loaded } = task
  const { promise: outcome, resolve } = Promise.withResolvers<TaskOutcome>()
  const settling = settler(ports, () => begin(lookWhetherItWaits))
  const run = new TaskRun(task, ports, { cancelReason: loaded.state.cancelReason, onWait: () => settling.arm() })
  const actor = createActor(taskMachine, {
    input: {
      effects: {
        run: () => begin(work),
        finish: (end, terminal) => begin(() => finish({ end, terminal })),
        suspend: (wait) => begin(() => suspend(wait)),
        release: (reason) => begin(() => release(reason)),
      },
      cancelReason: loaded.state.cancelReason,
    },
  })
  const fenced = (): void => {
    if (actor.getSnapshot().status === 'active') actor.send({ type: 'fenced' })
  }
  taskLog.fenced.addEventListener('abort', () => (isHopeless(taskLog.fenced.reason) ? begin(() => taskLog.fail()) : fenced()), { once: true })
  // The submitter waits for this write, so bound the wait even if the worker thread is busy.
  const opening = task.opening === null ? null : ports.clock.after(openingMsMax, () => void taskLog.flush())

  /** An effect that fails loses the task, or ends it when trying again is of no use. */
  function begin(effect: () => Promise<void>): void {
    effect().catch(async (error: unknown) => {
      if (actor.getSnapshot().status !== 'active') return
      tellBroken(error)
      const end = await hopeless(error).catch(() => null)
      if (end === null) fenced()
      else actor.send({ type: 'given.up', terminal: end })
    })
  }

  function tellBroken(error: unknown): void {
    const { daemonId: daemon, logger } = ports
    const fencedOff = error instanceof BeaverError && error.code === 'fenced'
    if (fencedOff) taskFacts.lost(logger, log, { daemon, reason: messageOf(error) })
    else if (isHopeless(error)) taskFacts.appendRefused(logger, log, { daemon, reason: messageOf(error) })
    else taskFacts.crashed(logger, log, { daemon, error })
  }

  /** Ends a task whose events can never be written. The log was closed by the append that failed: a new one goes on behind it. */
  async function hopeless(error: unknown): Promise<DomainEvent | null> {
    if (!isHopeless(error)) return null
    const now = await loadTask(log, ports)
    // One whose acceptance could not be written is no task: who submits it is told.
    if (now.state.submitted === null || now.state.ended !== null || now.head.epoch > taskLog.epoch) return null
    const events = givenUp({ class: 'internal', message: `The task cannot go on: ${messageOf(error)}` }, { claims: taskLog.epoch, usage: run.usage })
    // The claim goes with the first events of the task: it may be missing, too.
    const claim = now.head.epoch < taskLog.epoch ? [event('task_claimed', { daemon: ports.daemonId })] : []
    await taskLog.after(now).appendLast([...claim, ...events].map(draft), 'The task was given up on.')
    return events.at(-1) as DomainEvent
  }

  async function work(): Promise<void> {
    actor.send({ type: 'root.ended', ...(await run.work()) })
  }

  async function finish({ end, terminal }: RootEnd): Promise<void> {
    const written = terminal ?? run.endOf(end)
    if (terminal === null) await taskLog.appendLast([draft(written)], 'The task has ended.')
    actor.send({ type: 'finished', terminal: written })
  }

  async function lookWhetherItWaits(): Promise<void> {
    if (!run.waits) return
    if (!run.activity().every(seemsToWait)) return settling.again()
    await taskLog.flush()
    const now = await readNow()
    if (now === null) return settling.again()
    const { state, head } = now
    // Somebody else wrote: another daemon took the task over, or a decision was recorded while this claim was on its way. The next write
    // would be refused, but a task that only waits writes nothing.
    if (head.epoch > taskLog.epoch || head.taskseq > taskLog.given) return taskLog.close('Somebody else wrote to it.')
    const wait = suspensionOf(run.activity(), state.runs, waitMsMin)
    // Nothing may have happened while the log was read.
    if (wait === null || head.taskseq !== taskLog.given || run.approvals.busy()) return settling.again()
    actor.send({ type: 'suspend', wait })
  }

  /** `null`: it cannot be read at the moment. Nothing is lost by that, and nothing is to be written. */
  async function readNow(): Promise<LoadedTask | null> {
    try {
      return await loadTask(log, ports)
    } catch (error) {
      if (isHopeless(error)) throw error
      return null
    }
  }

  async function suspend({ waitsFor, waitMs, reason }: Suspension): Promise<void> {
    const given = taskLog.given
    await ports.queue.wakeIn(log, waitMs)
    const until = new Date(ports.journal.now() + waitMs).toISOString()
    const suspended = event('task_suspended', { daemon: ports.daemonId, waits_for: waitsFor, wait_ms: waitMs, until, reason })
    // A decision that came while the alarm was set is behind what the suspension is about: the task is handed over instead.
    const changed = taskLog.given !== given || run.approvals.busy()
    const last = changed ? event('task_released', { daemon: ports.daemonId, reason: 'Something happened while the task was being suspended.' }) : suspended
    await taskLog.appendLast([draft(last)], 'The task waits without a daemon.')
    if (!changed) taskFacts.suspended(ports.logger, log, { daemon: ports.daemonId, waitsFor, until, reason })
    actor.send({ type: 'suspended' })
  }

  async function release(reason: string): Promise<void> {
    await taskLog.appendLast([draft(event('task_released', { daemon: ports.daemonId, reason }))], 'The task was handed over.')
    taskFacts.released(ports.logger, log, { daemon: ports.daemonId, reason })
    actor.send({ type: 'released' })
  }

  /** Whether somebody else wrote since this daemon claimed the task. What cannot be read is taken for it: the lease decides then. */
  async function overtaken(): Promise<boolean> {
    if (!taskLog.fenced.aborted) return false
    const last = await ports.journal.last(log)
    if (last === null) return false
    const { epoch, source } = newestRecord(last)
    return epoch >= taskLog.epoch && source !== ports.source
  }

  const lostHow = (): Promise<TaskOutcome> =>
    overtaken().then(
      (is) => (is ? 'overtaken' : 'lost'),
      () => 'overtaken',
    )
  actor.subscribe({
    next: ({ status, value, context }) => {
      if (status !== 'done') return
      opening?.cancel()
      settling.stop()
      // A log that ended with its task is closed.
      if (context.terminal === null || run.loops > 0) taskLog.close('This daemon let go of the task.')
      run.drop('The daemon let go of the task.')
      resolve(value === 'lost' ? lostHow() : (value as TaskOutcome))
    },
    error: (error) => {
      tellBroken(error)
      resolve('lost')
    },
  })
  actor.start()

  const ended = (): boolean => actor.getSnapshot().context.terminal !== null || actor.getSnapshot().status !== 'active'
  return {
    log,
    outcome,
    end: () => actor.getSnapshot().context.terminal ?? run.terminal,
    async cancel(reason) {
      if (ended() || run.terminal !== null) throw new BeaverError('conflict', `The task ${log.task} has ended already.`)
      await taskLog.append([draft(event('task_cancel_requested', { reason }))])
      actor.send({ type: 'cancel', reason })
      run.cancel(reason)
    },
    async cancelNode(nodeId, reason) {
      if (ended() || run.teams === null) throw new BeaverError('conflict', `The task ${log.task} has no running team.`)
      await run.teams.cancelNode(nodeId, reason)
    },
    async decide(decision) {
      if (ended()) throw new BeaverError('conflict', `The task ${log.task} has no call that waits for an approval.`)
      await run.approvals.decide(decision)
    },
    release: (reason) => actor.send({ type: 'release', reason }),
  }
}

/** Looks again and again while something waits, ever more seldom; from the beginning when something new begins to wait. */
function settler({ clock }: Pick<TaskPorts, 'clock'>, look: () => void): { arm(): void; again(): void; stop(): void } {
  let pauseMs = settleMs
  let timer: { cancel(): void } | null = null
  let stopped = false
  const set = (): void => {
    if (stopped) return
    timer?.cancel()
    timer = clock.after(pauseMs, () => {
      timer = null
      look()
    })
  }
  return {
    arm() {
      pauseMs = settleMs
      set()
    },
    again() {
      pauseMs = Math.min(pauseMs * 2, settleMsMax)
      set()
    },
    stop() {
      stopped = true
      timer?.cancel()
    },
  }
}
