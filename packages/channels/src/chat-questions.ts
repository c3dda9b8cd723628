// Questions in chats: their codes, which question a message answers, and the answer in the message.
import { BeaverError } from '@beaver/core'
import { answerInText, type Question, type QuestionAnswer, takesFreeText } from '@beaver/core/question'
import { askingCall, type OpenQuestion } from '@beaver/core/task-view'
import { questionCodeOf } from './message-ids.ts'
import { bare, withoutMarks, withoutSignature } from './typed-text.ts'

/** A question that waits in a chat. */
export interface ChatQuestion {
  readonly task_id: string
  readonly code: string
  readonly open: OpenQuestion
}

/** A question of a task, with its code. */
export function chatQuestion(task_id: string, open: OpenQuestion): ChatQuestion {
  const code = questionCodeOf({
    task_id,
    run_id: open.runId ?? null,
    call_id: open.callId,
    index: open.index,
  })
  return { task_id, code, open }
}

/** The parameters of `BeaverClient.answer`. */
export const answerTo = (
  { open }: ChatQuestion,
  answer: QuestionAnswer,
  rest: { readonly reason?: string; readonly userId?: string | undefined },
) => ({
  callId: askingCall(open),
  questionIndex: open.index,
  answer,
  ...rest,
})

/**
 * Reads the answer from a message. In a mail, everything after the signature mark is ignored. If the question
 * takes no free text, only the first line counts.
 *
 * @throws {BeaverError} `invalid_arguments`
 */
export function answerIn({ open: { question: asked } }: ChatQuestion, text: string): QuestionAnswer {
  const plain = withoutSignature(withoutMarks(text))
  const isLine = asked.form === undefined && !takesFreeText(asked)
  return answerInText(asked, asChoice(asked, isLine ? (plain.trim().split('\n')[0] ?? '') : plain))
}

/**
 * Reads options that people wrote in quotes or with punctuation after them. Any other text stays unchanged.
 */
function asChoice({ options = [], several = false }: Question, text: string): string {
  const isOption = (text: string): boolean =>
    options.some((each) => each.toLowerCase() === text.toLowerCase())
  if (options.length === 0 || isOption(text.trim())) return text
  const parts = (several ? text.split(/[,\n]/) : [text])
    .map((each) => (isOption(each.trim()) ? each.trim() : bare(each)))
    .filter((each) => each !== '')
  return parts.every((each) => isOption(each) || /^\d{1,3}$/.test(each)) ? parts.join('\n') : text
}

/**
 * The question that a message answers.
 *
 * @param code the code in the message. `null`: it has none, so the only waiting question is meant
 * @throws {BeaverError} `conflict` if no question waits; `invalid_arguments` if no question has the code, or
 * if there is no code and several questions wait
 */
export function questionMeant(waiting: readonly ChatQuestion[], code: string | null): ChatQuestion {
  if (code !== null) {
    const found = waiting.find((each) => each.code === code)
    if (found !== undefined) return found
    throw new BeaverError(
      'invalid_arguments',
      `No question with the code ${code} waits for you in this chat.`,
    )
  }
  const [only] = waiting
  if (only === undefined)
    throw new BeaverError(
      'conflict',
      'What this chat waited for was settled meanwhile. Write the message again, and it becomes a task.',
    )
  if (waiting.length === 1) return only
  const names = waiting.map(
    (each) => `"answer ${each.code} …" for: ${each.open.question.message.slice(0, 200)}`,
  )
  throw new BeaverError(
    'invalid_arguments',
    `${waiting.length} questions wait. Say which one you answer:\n${names.join('\n')}`,
  )
}
