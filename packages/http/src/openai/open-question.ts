// Questions of calls, for clients that know only texts. The question is the answer to its request. Its last
// line names the question, so the next message of the conversation can answer it without stored state.
// - A message answers a question only if the message before it shows this question. Otherwise an injected
//   text could make an agent write such a line, and the person would answer a question that they never saw.
// - The same answer again follows the same task. A different answer to an answered question is refused.
import type { BeaverClient } from '@beaver/client'
import { BeaverError, canonicalJson, type DataOf, type JsonValue } from '@beaver/core'
import { answerInText, type QuestionAnswer, questionLines } from '@beaver/core/question'
import {
  evolveTaskView,
  newTaskView,
  type OpenQuestion,
  readTaskView,
  type TaskView,
} from '@beaver/core/task-view'
import { type Caller, reaches } from '../access.ts'
import { answerQuestion, mayAnswer } from '../answer-question.ts'
import type { Asker } from '../host.ts'
import type { Conversation } from './conversation.ts'
import { OpenAiError } from './openai-error.ts'

/** A question, named by its task and its place in the task's log. */
export interface NamedQuestion {
  readonly taskId: string
  readonly taskseq: number
  /** The message that names the question. Absent: the request names it by `previous_response_id`. */
  readonly by?: string
}

/** The text that a client gets as the answer when a task asks this question. */
export function questionText(taskId: string, asked: OpenQuestion, caller: Caller): string {
  const lines = questionLines(asked.question).join('\n')
  if (!mayAnswer(caller, asked))
    return `${lines}\n\n[This question waits for somebody who may decide about calls: beaver answer ${taskId}]`
  return `${lines}\n\n[Your next message answers this question: ${asked.taskseq} of ${taskId}]`
}

/** Reads the last line that `questionText` wrote. `null`: the text has no such line. */
function questionNamed(text: string): NamedQuestion | null {
  const [, taskseq, taskId = ''] =
    /\[Your next message answers this question: (\d{1,15}) of ([^\s\]]{1,128})\]\s*$/.exec(text) ?? []
  return taskseq === undefined ? null : { taskId, taskseq: Number(taskseq), by: text }
}

/** The question that the last message of a conversation answers. `null`: none. */
export function questionAnswered({ history }: Pick<Conversation, 'history'>): NamedQuestion | null {
  const last = history.at(-1)
  return last?.role === 'assistant' ? questionNamed(last.content) : null
}

/** What the log of the task says about the question. */
interface Found {
  readonly submitted: DataOf<'task_submitted'>
  readonly asked: OpenQuestion
  readonly open: boolean
  readonly answer: QuestionAnswer | null
  readonly ended: boolean
}

async function found({ host, caller }: Asker, { taskId, taskseq }: NamedQuestion): Promise<Found | null> {
  const view = newTaskView()
  let asked: OpenQuestion | null = null
  for await (const event of host.client().events(taskId)) {
    evolveTaskView(view, event)
    if (view.submitted === null || !reaches(caller, view.submitted.request.user_id)) return null
    if (event.taskseq === taskseq) asked = questionAt(view, taskseq)
  }
  const { submitted, settled, end } = view
  if (submitted === null || asked === null) return null
  const outcome = settled.find((each) => each.asked.taskseq === taskseq)?.event
  const answer = outcome?.type === 'question_answered' ? outcome.data.answer : null
  return { submitted, asked, open: questionAt(view, taskseq) !== null, answer, ended: end !== null }
}

const questionAt = ({ openQuestions }: TaskView, taskseq: number): OpenQuestion | null =>
  openQuestions.find((each) => each.taskseq === taskseq) ?? null

/** A task that continues after an answer. */
export interface Resumed {
  readonly submitted: DataOf<'task_submitted'>
  /** The place in the log after which the response begins. */
  readonly after: number
}

/**
 * Answers a question of a task with a text.
 *
 * @throws {OpenAiError} if there is no such question, if it no longer waits, or if the message before the
 * answer does not show it; {HttpProblem} `not_allowed`
 */
export async function resumedBy(text: string, named: NamedQuestion, asker: Asker): Promise<Resumed> {
  const { host, caller } = asker
  const { taskId, taskseq } = named
  const question = await found(asker, named)
  if (question === null)
    throw new OpenAiError(
      404,
      'not_found',
      `There is no question ${taskseq} of a task ${JSON.stringify(taskId)}.`,
      { param: 'messages' },
    )
  const { asked, submitted, open, answer: earlier, ended } = question
  if (named.by !== undefined && !plain(named.by).endsWith(plain(questionText(taskId, asked, caller))))
    throw new OpenAiError(
      400,
      'invalid_value',
      'The message before yours names a question, and does not show it. Send the message of the assistant as it came.',
      {
        param: 'messages',
      },
    )
  const answer = answerInText(asked.question, text)
  const resumed = { submitted, after: taskseq }
  if (earlier !== null && canonicalJson(earlier as JsonValue) === canonicalJson(answer as JsonValue))
    return resumed
  if (!open) throw notOpen(taskId, earlier, ended)
  try {
    await answerQuestion({ client: host.client(), caller, taskId }, asked, { answer })
  } catch (error) {
    if (!(error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')))
      throw error
    throw notOpen(taskId, (await found(asker, named))?.answer ?? null, ended)
  }
  return resumed
}

/** A text without the differences that clients may make in spaces and line ends. */
const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

function notOpen(taskId: string, earlier: QuestionAnswer | null, ended: boolean): OpenAiError {
  const state =
    earlier?.action === 'accept'
      ? `was answered already: ${JSON.stringify(earlier.answers ?? earlier.content)}`
      : 'is not open any more'
  const how = ended ? `The task ${taskId} has ended.` : `The task ${taskId} goes on.`
  return new OpenAiError(
    409,
    'conflict',
    `The question ${state}. ${how} Send a conversation without the question to begin a new task.`,
    { again: false },
  )
}

/** The question that waits now and was asked at this place in the log or later. `null`: there is none. */
export async function stillAsked(
  client: Pick<BeaverClient, 'events'>,
  taskId: string,
  from: number,
): Promise<OpenQuestion | null> {
  const seen = await readTaskView(client.events(taskId), () => true)
  return seen?.view.openQuestions.find((each) => each.taskseq >= from) ?? null
}
