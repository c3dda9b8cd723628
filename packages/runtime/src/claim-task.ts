// Claims a task: after a claim, this daemon is the only one that writes the task's log. Nothing of the task
// takes effect before its claim is durable. A task that loses too many owners is given up in the same write;
// the bounds are the rows `task` and `task_without_progress` of core's supervisors. A lost owner is charged
// to the task only if a tool call was under way: an owner that dies while the task waits proves nothing,
// unless it happens repeatedly without progress.
import { type BlobStore, type DomainEvent, event, type LogId, noUsage, type Usage } from '@beaver/core'
import { lostWithoutProgress, ownerLosses, retryCopy, type SuspectTools } from '@beaver/core/fold'
import { draft, type Journal, type SignatureJudge } from '@beaver/core/journal'
import { type Failure, isExceeded, timesWithoutProgress } from '@beaver/core/supervision'
import { evaluateNode } from '@beaver/evidence'
import { programOf } from '@beaver/workflows'
import { appliedBudgets, type LimitRules, unbounded } from './budget-rules.ts'
import { foreignText } from './final-faults.ts'
import { type LoadedTask, loadTask } from './load-task.ts'
import type { Opening } from './opened-task.ts'
import { taskEnd } from './task-end.ts'
import { TaskLog, type TaskLogPorts } from './task-log.ts'

export interface ClaimedTask {
  readonly log: LogId
  readonly loaded: LoadedTask
  readonly taskLog: TaskLog
  readonly opening: Opening | null
  /** Tools that may have killed an owner: from now on each call runs in its own process. */
  readonly suspects: SuspectTools
  /**
   * How many owners the task had lost: those that are charged to it, and those in a row without progress.
   */
  readonly ownersLost: { readonly charged: number; readonly inARow: number }
}

export type Claim =
  | { readonly kind: 'claimed'; readonly task: ClaimedTask }
  /** The task was given up; `end` is its terminal event. */
  | { readonly kind: 'given_up'; readonly end: DomainEvent }

export interface ClaimPorts extends TaskLogPorts {
  readonly daemonId: string
  readonly limits: { readonly ownersLostMax: number }
  /** What may be spent. Absent: anything. */
  readonly budgets?: LimitRules
  /** Called when the claim of a task whose owner was lost is durable. */
  readonly onTakenOver?: () => void
}

/** @throws {BeaverError} `fenced` if another daemon was faster, `unreachable`, `too_large` */
export async function claimTask(
  log: LogId,
  loaded: LoadedTask,
  opening: Opening | null,
  ports: ClaimPorts,
): Promise<Claim> {
  const { state, head, revision } = loaded
  const taskLog = new TaskLog(log, { head, revision, epoch: head.epoch + 1, opening }, ports)
  const { budgets: rules = unbounded } = ports
  const budgets = state.submitted === null ? [] : appliedBudgets(rules, state.submitted.request, log)
  const claimed = event('task_claimed', {
    daemon: ports.daemonId,
    ...(budgets.length === 0 ? {} : { budgets }),
  })
  const { charged, suspects } = ownerLosses(loaded.events)
  const strange = loaded.foreign > 0 ? foreignText(loaded.foreign) : null
  const inARow = state.ownersLost + (lostWithoutProgress(state) ? 1 : 0)
  const ownersLost = { charged, inARow }
  const { ownersLostMax } = ports.limits
  const chargedTooOften = isExceeded(charged, { restartsMax: ownersLostMax })
  if (
    strange !== null ||
    chargedTooOften ||
    isExceeded(inARow, { restartsMax: timesWithoutProgress * ownersLostMax })
  ) {
    const message =
      strange !== null
        ? strange
        : chargedTooOften
          ? `The task lost ${charged} owners while its tools were at work. Beaver gave up on it.`
          : `The task lost ${inARow} owners in a row without progress. Beaver gave up on it.`
    const events = givenUp(
      { class: strange === null ? 'worker_lost' : 'internal', message },
      { claims: Math.max(charged, inARow), usage: noUsage },
    )
    await taskLog.appendLast([claimed, ...events].map(draft), 'Beaver gave up on the task.')
    if (state.owner !== null) ports.onTakenOver?.()
    return { kind: 'given_up', end: events.at(-1) as DomainEvent }
  }
  const copied = await copiedEvents(log, loaded, ports)
  if (copied.length > 0) {
    await taskLog.append([claimed, ...copied].map(draft))
    const whole = await loadTask(log, ports)
    return {
      kind: 'claimed',
      task: {
        log,
        loaded: whole,
        taskLog,
        opening,
        ownersLost,
        suspects: ownerLosses(whole.events).suspects,
      },
    }
  }
  // A new task's claim is one message with the first events of its root run: no model or tool is called
  // before both are durable.
  if (loaded.events.length === 1) taskLog.hold([draft(claimed)])
  else await taskLog.append([draft(claimed)])
  if (state.owner !== null) ports.onTakenOver?.()
  return { kind: 'claimed', task: { log, loaded, taskLog, opening, suspects, ownersLost } }
}

/** The terminal event of a task that is given up. */
export function givenUp(
  failure: Failure,
  of: { readonly claims: number; readonly usage: Usage },
): DomainEvent[] {
  const end = {
    status: 'failed',
    facts: { outputText: '', outputSeq: 0, tools: [] },
    failure,
    usage: noUsage,
    provider: null,
    model: null,
  } as const
  return [event('task_dead_lettered', { claims: of.claims }), taskEnd(end, [], of.usage)]
}

/**
 * What the log of a retry begins with, behind its claim and in the same write, so that the copy is whole or
 * absent. Empty for any other task, and for a retry that has its copy.
 */
async function copiedEvents(
  log: LogId,
  { state, head }: LoadedTask,
  ports: { readonly journal: Pick<Journal, 'last' | 'read'> & SignatureJudge; readonly blobs: BlobStore },
): Promise<readonly DomainEvent[]> {
  const of = state.submitted?.request.retry_of
  if (of === undefined || state.copied !== null) return []
  const old = await loadTask({ ...log, task: of }, ports)
  // The old task was archived after the retry was accepted. A part of what completed must not pass for all of
  // it, so everything is done again.
  if (old.archive !== null) return []
  return retryCopy(
    old.events,
    { taskId: log.task, taskseq: head.taskseq + 2 },
    { programOf, gate: evaluateNode },
  )
}
