// Answers a question for a caller of any protocol, and decides which role this needs. The answer to an
// agent's own question (`ask_user`) is only text for the task, so the role `submit` is enough. The question
// of any other tool may ask for a permission, so its answer needs the role `approve`.
import type { BeaverClient } from '@beaver/client'
import type { QuestionAnswer } from '@beaver/core/question'
import { agentAsks, askingCall, type OpenQuestion } from '@beaver/core/task-view'
import { type Caller, doneFor, hasRole, mustHave } from './access.ts'

/** Whether the caller has a role that may answer this question. */
export const mayAnswer = (caller: Caller, asked: Pick<OpenQuestion, 'tool'>): boolean =>
  hasRole(caller, 'approve') || (agentAsks(asked) && hasRole(caller, 'submit'))

/** @throws {HttpProblem} `not_allowed` */
export function mustAnswer(caller: Caller, asked: Pick<OpenQuestion, 'tool'>): void {
  if (!mayAnswer(caller, asked)) mustHave(caller, agentAsks(asked) ? 'submit' : 'approve')
}

/** The task of a question, and who answers it. */
export interface Answering {
  readonly client: Pick<BeaverClient, 'answer'>
  readonly caller: Caller
  readonly taskId: string
}

/** @throws {HttpProblem} `not_allowed`; {BeaverError} the codes of `BeaverClient.answer` */
export async function answerQuestion(
  { client, caller, taskId }: Answering,
  asked: OpenQuestion,
  { answer, reason }: { readonly answer: QuestionAnswer; readonly reason?: string | undefined },
): Promise<void> {
  mustAnswer(caller, asked)
  await client.answer(taskId, {
    callId: askingCall(asked),
    questionIndex: asked.index,
    answer,
    reason,
    userId: doneFor(caller),
  })
}

/**
 * The waiting question that an answer names, by the id of its call and perhaps its index. `null`: no such
 * question waits.
 */
export const questionNamed = (
  asking: readonly OpenQuestion[],
  { call_id, question_index }: { readonly call_id: string; readonly question_index?: number | undefined },
): OpenQuestion | null =>
  asking.find(
    (each) =>
      (askingCall(each) === call_id || each.callId === call_id) &&
      (question_index === undefined || each.index === question_index),
  ) ?? null
