// Claiming a task: from here on this daemon is the one that writes its log.
// C1. Each claim has an epoch higher than every earlier one. C2. Nothing of the task takes effect before its claim is durable.
// C3. A task that killed its owners again and again is given up on, with the reason, in the same write. An owner is charged to it only
//     when a call of a tool was under way; one that died while the task waited says nothing about the task, unless that happens
//     without end.
// C4. The first claim of a retry brings what it keeps of the task it retries, in the same write.
import {
  type BeaverError,
  type DomainEvent,
  draft,
  event,
  type Failure,
  type LogId,
  lostWithoutProgress,
  noUsage,
  ownerLosses,
  type SuspectTools,
  type Usage,
} from '@beaver/core'
import { type LoadedTask, loadTask } from './load-task.ts'
import type { Opening } from './opened-task.ts'
import { copiedEvents } from './retry-request.ts'
import { taskEnd } from './task-end.ts'
import { TaskLog, type TaskLogPorts } from './task-log.ts'

export interface ClaimedTask {
  readonly log: LogId
  readonly loaded: LoadedTask
  readonly taskLog: TaskLog
  readonly opening: Opening | null
  /** Tools that may have killed an owner: they run in a process of their own from now on. */
  readonly suspects: SuspectTools
}

export type Claim =
  | { readonly kind: 'claimed'; readonly task: ClaimedTask }
  /** It was given up on; `end` is its terminal event. */
  | { readonly kind: 'given_up'; readonly end: DomainEvent }

export interface ClaimPorts extends TaskLogPorts {
  readonly daemonId: string
  readonly limits: { readonly ownersLostMax: number }
}

/** Owners that a task may lose in a row without getting on, whatever the reason: so many times as it may kill. */
const inARowTimes = 20

/** @throws {BeaverError} `fenced` when somebody else was faster, `unreachable`, `too_large` */
export async function claimTask(log: LogId, loaded: LoadedTask, opening: Opening | null, ports: ClaimPorts): Promise<Claim> {
  const { state, head, revision } = loaded
  const taskLog = new TaskLog(log, { head, revision, epoch: head.epoch + 1, opening }, ports)
  const claimed = event('task_claimed', { daemon: ports.daemonId })
  const { charged, suspects } = ownerLosses(loaded.events)
  const inARow = state.ownersLost + (lostWithoutProgress(state) ? 1 : 0)
  if (charged > ports.limits.ownersLostMax || inARow > inARowTimes * ports.limits.ownersLostMax) {
    const message =
      charged > ports.limits.ownersLostMax
        ? `The task lost ${charged} owners while its tools were at work, and was given up on.`
        : `The task lost ${inARow} owners in a row without getting on, and was given up on.`
    const events = givenUp({ class: 'worker_lost', message }, { claims: Math.max(charged, inARow), usage: noUsage })
    await taskLog.appendLast([claimed, ...events].map(draft), 'The task was given up on.')
    return { kind: 'given_up', end: events.at(-1) as DomainEvent }
  }
  const copied = await copiedEvents(log, loaded, ports)
  if (copied.length > 0) {
    await taskLog.append([claimed, ...copied].map(draft))
    const whole = await loadTask(log, ports)
    return { kind: 'claimed', task: { log, loaded: whole, taskLog, opening, suspects: ownerLosses(whole.events).suspects } }
  }
  // A new task's claim is one message with the first events of its root run: nothing is asked of anybody before they are durable.
  if (loaded.events.length === 1) taskLog.hold([draft(claimed)])
  else await taskLog.append([draft(claimed)])
  return { kind: 'claimed', task: { log, loaded, taskLog, opening, suspects } }
}

/** What a task ends with that is given up on. */
export function givenUp(failure: Failure, of: { readonly claims: number; readonly usage: Usage }): DomainEvent[] {
  const end = { status: 'failed', facts: { outputText: '', outputSeq: 0, tools: [] }, failure, usage: noUsage, provider: null, model: null } as const
  return [event('task_dead_lettered', { claims: of.claims }), taskEnd(end, null, of.usage)]
}

/** Whether trying again can never help: what the task would write does not fit, or its log cannot be read. */
export function isHopeless(error: unknown): error is BeaverError {
  const code = (error as { code?: unknown }).code
  return code === 'too_large' || code === 'corrupt_journal'
}
