// Turns a person's decision about a call, or an answer to a question of a call, into an event, for a task
// that no daemon drives at the moment.
import type { AnswerRequest, DecisionRequest } from '@beaver/contracts'
import type { DomainEvent, LogId } from '@beaver/core'
import {
  type Answer,
  answerEvent,
  type ArgumentsJudge,
  callWaiting,
  type Decision,
  decisionEvent,
  mustFit,
  questionWaiting,
  type TaskSoFar,
} from '@beaver/runtime'

/** A decision, and who made it. */
export type AskedDecision = DecisionRequest & { readonly by: string }

export const decisionOf = ({
  call_id,
  call_hash,
  approved,
  by,
  reason,
  user_id,
  arguments: args,
}: AskedDecision): Decision => ({
  callId: call_id,
  callHash: call_hash,
  approved,
  by,
  reason,
  userId: user_id,
  arguments: args,
})

/**
 * The event that keeps the decision for the next owner of the task.
 * @throws {BeaverError} `not_found`, `conflict`, `invalid_arguments`
 */
export async function decidedEvent(
  { log, ...task }: Known,
  asked: AskedDecision,
  judge: ArgumentsJudge,
): Promise<DomainEvent> {
  const { runId, call } = callWaiting(log, task, asked.call_id, asked.call_hash)
  const decision = { ...decisionOf(asked), callId: call.id, callHash: call.callHash ?? undefined }
  await mustFit(call, decision, judge)
  return decisionEvent(runId, decision)
}

interface Known extends TaskSoFar {
  readonly log: LogId
}

/** An answer, and who gave it. */
export type AskedAnswer = AnswerRequest & { readonly by: string }

export const answerOf = ({ call_id, question_index, answer, by, reason, user_id }: AskedAnswer): Answer => ({
  callId: call_id,
  index: question_index,
  answer,
  by,
  reason,
  userId: user_id,
})

/**
 * The event that keeps the answer for the next owner of the task.
 * @throws {BeaverError} `not_found`, `conflict`, `invalid_arguments`
 */
export function answeredEvent({ log, ...task }: Known, asked: AskedAnswer): DomainEvent {
  const answer = answerOf(asked)
  const { runId, callId, index } = questionWaiting(log, task, answer)
  return answerEvent(runId, index, { ...answer, callId })
}
