// The questions that the tasks of chats ask: their codes, which of them a message answers, and what its answer
// is.
import {
  answerInText,
  askingCall,
  BeaverError,
  type OpenQuestion,
  type Question,
  type QuestionAnswer,
  takesFreeText,
} from '@beaver/core'
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

/** What the bridge sends to the daemon. */
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
 * The answer in a message. What follows the mark of a signature in a mail is left out, and an answer that
 * takes no free text is one line.
 *
 * @throws {BeaverError} `invalid_arguments`
 */
export function answerIn({ open: { question: asked } }: ChatQuestion, text: string): QuestionAnswer {
  const said = withoutSignature(withoutMarks(text))
  const isLine = asked.form === undefined && !takesFreeText(asked)
  return answerInText(asked, asChoice(asked, isLine ? (said.trim().split('\n')[0] ?? '') : said))
}

/**
 * Options in quotes or with a stop behind them, as people write them, are the options. Any other text stays
 * as it is.
 */
function asChoice({ options = [], several = false }: Question, said: string): string {
  const isOption = (text: string): boolean =>
    options.some((each) => each.toLowerCase() === text.toLowerCase())
  if (options.length === 0 || isOption(said.trim())) return said
  const parts = (several ? said.split(/[,\n]/) : [said])
    .map((each) => (isOption(each.trim()) ? each.trim() : bare(each)))
    .filter((each) => each !== '')
  return parts.every((each) => isOption(each) || /^\d{1,3}$/.test(each)) ? parts.join('\n') : said
}

/**
 * The question that a message is about. @throws {BeaverError} `conflict` if none waits any more;
 * `invalid_arguments` if it cannot be said which
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
