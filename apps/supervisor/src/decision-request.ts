// A person's decision about a call that waits for an approval, and what it is for a task that nobody drives at the moment.
import { type DomainEvent, foreignId, type LogId, type TaskState } from '@beaver/core'
import { callWaiting, type Decision, decisionEvent } from '@beaver/runtime'
import { z } from 'zod'

/** Ids are the provider's: some carry a signature. */
const callIdCharsMax = 100_000

export const decisionRequest = z.strictObject({
  task_id: foreignId,
  /** As in the event `approval_requested`; `<run>/<call>` where several runs have one of that id. */
  call_id: z.string().min(1).max(callIdCharsMax),
  approved: z.boolean(),
  /** Who decides. */
  by: z.string().trim().min(1).max(200),
  /** For the model, of a denied call. */
  reason: z.string().max(1_000).default('No reason was given.'),
})
export type DecisionRequest = z.infer<typeof decisionRequest>

export const decisionOf = ({ call_id, approved, by, reason }: DecisionRequest): Decision => ({ callId: call_id, approved, by, reason })

/**
 * The event that keeps it, for whoever claims the task next.
 * @throws {BeaverError} `not_found`, `conflict`
 */
export function decidedEvent(log: LogId, state: TaskState, asked: DecisionRequest): DomainEvent {
  const { runId, call } = callWaiting(log, state, asked.call_id)
  return decisionEvent(runId, { ...decisionOf(asked), callId: call.id })
}
