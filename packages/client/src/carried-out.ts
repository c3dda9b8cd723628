// Whether a command is in the journal. A client asks this if it repeated a command without an answer and was
// refused. The newest event about the command decides: calls of several runs may have the same id.
import type { RecordedEvent } from '@beaver/core/journal'
import type { QuestionAnswer } from '@beaver/core/question'
import { isAnswer, isDecision, saysTheSame } from '@beaver/core/question'

/** Whether an event carries the command out; `null` if it is about something else. */
export type SaidBy = (event: RecordedEvent) => boolean | null

/** @param events the events of the task so far */
export async function isCarriedOut(events: AsyncIterable<RecordedEvent>, saidBy: SaidBy): Promise<boolean> {
  let carriedOut = false
  for await (const event of events) carriedOut = saidBy(event) ?? carriedOut
  return carriedOut
}

export const cancelled =
  ({ reason, nodeId }: { reason: string; nodeId: string | undefined }): SaidBy =>
  (event) => {
    const isIt =
      nodeId === undefined
        ? event.type === 'task_cancel_requested' && event.data.reason === reason
        : event.type === 'node_cancel_requested' &&
          event.data.reason === reason &&
          event.data.node_id === nodeId
    return isIt ? true : null
  }

/** Matches an answer. `callId` may begin with the run of the call. */
export const answered =
  ({
    callId,
    questionIndex: index,
    answer,
  }: {
    callId: string
    questionIndex: number | undefined
    answer: QuestionAnswer
  }): SaidBy =>
  (event) =>
    isAnswer(event, { callId, index }) ? saysTheSame(event, { answer }) : null

/** Matches a decision. `callId` may begin with the run of the call. */
export const decided =
  ({
    callId,
    approved,
    arguments: args,
  }: {
    callId: string
    approved: boolean
    arguments?: string | undefined
  }): SaidBy =>
  (event) =>
    isDecision(event, callId) ? saysTheSame(event, { approved, arguments: args }) : null
