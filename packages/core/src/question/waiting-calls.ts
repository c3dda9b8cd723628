// Finds the calls of a task that wait for a decision, from the events that a follower of the task has.
import type { DataOf, EventType } from '../events/catalog.ts'
import type { RecordedEvent } from '../journal/record.ts'
import { stillWaiting, type WaitingPlace, without } from './still-waiting.ts'

/** A call that waits for a decision. */
export interface WaitingCall extends WaitingPlace {
  readonly asked: DataOf<'approval_requested'>
  /** The place of the event `approval_requested` in the log of the task. */
  readonly taskseq: number
}

/**
 * The waiting calls after the next event of the task, in the order in which they asked.
 *
 * @example
 * const asked = { type: 'approval_requested', data: { call_id: 'c', tool_name: 'echo' }, runId: 'r', taskseq:
 * 7 } as RecordedEvent waitingCalls([], asked)[0]?.callId // => 'c'
 */
export function waitingCalls(waiting: readonly WaitingCall[], event: RecordedEvent): readonly WaitingCall[] {
  if (event.type !== 'approval_requested') return stillWaiting(waiting, event, decisions)
  const { data, runId, taskseq } = event
  const call = { runId, callId: data.call_id, asked: data, taskseq }
  return [...without(waiting, call), call]
}

const decisions: ReadonlySet<EventType> = new Set(['approval_granted', 'approval_denied'])
