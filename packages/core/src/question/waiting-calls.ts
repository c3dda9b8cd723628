// Finds the calls of a task that wait for a decision, from the events that a follower of the task has.
// W1. A call waits from `approval_requested` until somebody decides, or until it, its run or the task ends without a decision.
import { type DataOf, isTerminalTaskEvent } from '../events/catalog.ts'
import type { RecordedEvent } from '../journal/record.ts'

/** A call that waits for a decision. */
export interface WaitingCall {
  readonly runId: string | undefined
  readonly callId: string
  readonly asked: DataOf<'approval_requested'>
  /** The place of the event `approval_requested` in the log of the task. */
  readonly taskseq: number
}

/**
 * The waiting calls after the next event of the task, in the order in which they asked.
 *
 * @example
 * const asked = { type: 'approval_requested', data: { call_id: 'c', tool_name: 'echo' }, runId: 'r', taskseq: 7 } as RecordedEvent
 * waitingCalls([], asked)[0]?.callId // => 'c'
 */
export function waitingCalls(waiting: readonly WaitingCall[], { type, data, runId, taskseq }: RecordedEvent): readonly WaitingCall[] {
  switch (type) {
    case 'approval_requested':
      return [...waiting.filter((each) => !isOf(each, runId, data.call_id)), { runId, callId: data.call_id, asked: data, taskseq }]
    case 'approval_granted':
    case 'approval_denied':
    case 'tool_result_recorded':
      return waiting.length === 0 ? waiting : waiting.filter((each) => !isOf(each, runId, data.call_id))
    case 'run_completed':
    case 'run_failed':
    case 'run_cancelled':
      return waiting.length === 0 ? waiting : waiting.filter((each) => each.runId !== runId)
    default:
      return isTerminalTaskEvent(type) ? [] : waiting
  }
}

const isOf = (each: WaitingCall, runId: string | undefined, callId: string): boolean => each.runId === runId && each.callId === callId
