// Turns a person's decision about a call into an event, for a task that no daemon drives at the moment.
import type { DecisionRequest } from '@beaver/contracts'
import type { DomainEvent, LogId, TaskState } from '@beaver/core'
import { callWaiting, type Decision, decisionEvent } from '@beaver/runtime'

/** A decision, and who made it. */
export type AskedDecision = DecisionRequest & { readonly by: string }

export const decisionOf = ({ call_id, call_hash, approved, by, reason, user_id }: AskedDecision): Decision => ({
  callId: call_id,
  callHash: call_hash,
  approved,
  by,
  reason,
  userId: user_id,
})

/**
 * The event that keeps the decision for the next owner of the task.
 * @throws {BeaverError} `not_found`, `conflict`
 */
export function decidedEvent(log: LogId, state: TaskState, asked: AskedDecision): DomainEvent {
  const { runId, call } = callWaiting(log, state, asked.call_id, asked.call_hash)
  return decisionEvent(runId, { ...decisionOf(asked), callId: call.id, callHash: call.callHash ?? undefined })
}
