// Turns a person's decision about a call into an event, for a task that no daemon drives at the moment.
import type { DecisionRequest } from '@beaver/contracts'
import type { DomainEvent, LogId, TaskState } from '@beaver/core'
import { callWaiting, type Decision, decisionEvent } from '@beaver/runtime'

export const decisionOf = ({ call_id, approved, by, reason }: DecisionRequest): Decision => ({ callId: call_id, approved, by, reason })

/**
 * The event that keeps the decision for the next owner of the task.
 * @throws {BeaverError} `not_found`, `conflict`
 */
export function decidedEvent(log: LogId, state: TaskState, asked: DecisionRequest): DomainEvent {
  const { runId, call } = callWaiting(log, state, asked.call_id)
  return decisionEvent(runId, { ...decisionOf(asked), callId: call.id })
}
