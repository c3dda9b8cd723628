// Asks the program what running calls of one task ask. The program is asked once about each question, and
// only if the journal has no answer: replayed events are read first. What is no answer to the question counts
// as none: the question is cancelled, so that the agent goes on.
import type { BeaverClient } from '@beaver/client'
import { BeaverError, messageOf, questionAnswer, type QuestionAnswer, type RecordedEvent } from '@beaver/core'
import type { OnQuestion, QuestionRequest } from './options.ts'

/** If nothing came for this time, the replay is over. */
const settleMs = 25

export interface AskedQuestions {
  saw(event: RecordedEvent): void
  close(): void
}

export function askQuestions(
  taskId: string,
  client: Pick<BeaverClient, 'answer'>,
  { ask, tell }: { readonly ask: OnQuestion; readonly tell: (message: string) => void },
): AskedQuestions {
  const waiting = new Map<string, QuestionRequest>()
  const stop = new AbortController()
  let timer: NodeJS.Timeout | null = null

  async function put(request: QuestionRequest): Promise<void> {
    let answer: QuestionAnswer
    try {
      answer = answerOf(await ask(request, stop.signal))
    } catch (error) {
      tell(`onQuestion failed, so the question of ${request.tool_name} has no answer: ${messageOf(error)}`)
      answer = { action: 'cancel' }
    }
    if (!stop.signal.aborted) await deliver(request, answer)
  }

  async function deliver(request: QuestionRequest, answer: QuestionAnswer): Promise<void> {
    const of = { callId: `${request.run_id}/${request.call_id}`, questionIndex: request.question_index }
    try {
      await client.answer(taskId, { ...of, answer })
    } catch (error) {
      // Somebody else answered, or the task ended.
      if (error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')) return
      tell(
        `The answer to the question of ${request.tool_name} in the task ${taskId} was not delivered: ${messageOf(error)}`,
      )
      if (answer.action === 'accept' && error instanceof BeaverError && error.code === 'invalid_arguments')
        await deliver(request, { action: 'cancel' })
    }
  }

  return {
    saw(event) {
      if (event.type === 'question_asked')
        waiting.set(keyOf(event), { task_id: taskId, run_id: event.runId ?? '', ...event.data })
      else if (event.type === 'question_answered') waiting.delete(keyOf(event))
      if (timer !== null) clearTimeout(timer)
      timer = waiting.size === 0 ? null : setTimeout(putAll, settleMs)
    },
    close() {
      stop.abort()
      if (timer !== null) clearTimeout(timer)
    },
  }

  function putAll(): void {
    const requests = [...waiting.values()]
    waiting.clear()
    for (const request of requests) void put(request)
  }
}

const keyOf = ({
  runId,
  data,
}: Extract<RecordedEvent, { type: 'question_asked' | 'question_answered' }>): string =>
  `${runId}/${data.call_id}/${data.question_index}`

/** A program in JavaScript may return anything. @throws {Error} */
function answerOf(given: unknown): QuestionAnswer {
  if (given === null) return { action: 'decline' }
  const answer =
    typeof given === 'string'
      ? { action: 'accept', answers: [given] }
      : Array.isArray(given)
        ? { action: 'accept', answers: given }
        : given
  const read = questionAnswer.safeParse(answer)
  if (read.success) return read.data
  throw new TypeError('It returned neither a text, a list of texts, null nor an answer with an action.')
}
