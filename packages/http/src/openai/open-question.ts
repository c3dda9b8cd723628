// A question of a call, for clients that know only texts. The question is the answer of its request. Its last
// line names it, so the next message of the conversation answers it, although nothing is stored. A message
// answers a question only if the message before it shows this question. Otherwise an agent that a stranger
// leads could write the line, and the person would answer what they never saw. A message that is sent again
// with the same words follows the same task. Other words for a question that has an answer are refused.
import type { BeaverClient } from '@beaver/client'
import {
  answerInText,
  BeaverError,
  canonicalJson,
  type DataOf,
  type JsonValue,
  evolveTaskView,
  newTaskView,
  type OpenQuestion,
  type QuestionAnswer,
  questionLines,
  readTaskView,
  type TaskView,
} from '@beaver/core'
import { type Caller, reaches } from '../access.ts'
import { answerQuestion, mayAnswer } from '../answer-question.ts'
import type { TaskHost } from '../host.ts'
import type { Conversation } from './conversation.ts'
import { OpenAiError } from './openai-error.ts'

interface Asker {
  readonly host: TaskHost
  readonly caller: Caller
}

/** The task of a question, and the place of the question in its log. */
export interface NamedQuestion {
  readonly taskId: string
  readonly taskseq: number
  /** The message that names it. Absent: the question is named by something else. */
  readonly by?: string
}

/** The question as the text of an answer. */
export function questionText(taskId: string, asked: OpenQuestion, caller: Caller): string {
  const lines = questionLines(asked.question).join('\n')
  if (!mayAnswer(caller, asked))
    return `${lines}\n\n[This question waits for somebody who may decide about calls: beaver answer ${taskId}]`
  return `${lines}\n\n[Your next message answers this question: ${asked.taskseq} of ${taskId}]`
}

/** The question that a text of ours ends with. `null`: none. */
function questionNamed(text: string): NamedQuestion | null {
  const [, taskseq, taskId = ''] =
    /\[Your next message answers this question: (\d{1,15}) of ([^\s\]]{1,128})\]\s*$/.exec(text) ?? []
  return taskseq === undefined ? null : { taskId, taskseq: Number(taskseq), by: text }
}

/** The question that the last message of a conversation answers. `null`: it answers none. */
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
  const said = settled.find((each) => each.asked.taskseq === taskseq)?.event
  const answer = said?.type === 'question_answered' ? said.data.answer : null
  return { submitted, asked, open: questionAt(view, taskseq) !== null, answer, ended: end !== null }
}

const questionAt = ({ openQuestions }: TaskView, taskseq: number): OpenQuestion | null =>
  openQuestions.find((each) => each.taskseq === taskseq) ?? null

/** A task that goes on after an answer. */
export interface Resumed {
  readonly submitted: DataOf<'task_submitted'>
  /** The place in its log behind which it is told. */
  readonly after: number
}

/**
 * Answers a question of a task by a message.
 *
 * @throws {OpenAiError} if the question cannot be answered, or not like this; {HttpProblem} `not_allowed`
 */
export async function resumedBy(text: string, named: NamedQuestion, asker: Asker): Promise<Resumed> {
  const { host, caller } = asker
  const { taskId, taskseq } = named
  const of = await found(asker, named)
  if (of === null)
    throw new OpenAiError(
      404,
      'not_found',
      `There is no question ${taskseq} of a task ${JSON.stringify(taskId)}.`,
      { param: 'messages' },
    )
  const { asked, submitted, open, answer: given, ended } = of
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
  if (given !== null && canonicalJson(given as JsonValue) === canonicalJson(answer as JsonValue))
    return resumed
  if (!open) throw notOpen(taskId, given, ended)
  try {
    await answerQuestion({ client: host.client(), caller, taskId }, asked, { answer })
  } catch (error) {
    if (!(error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')))
      throw error
    throw notOpen(taskId, (await found(asker, named))?.answer ?? null, ended)
  }
  return resumed
}

/** Clients may change spaces and the ends of lines. */
const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

function notOpen(taskId: string, given: QuestionAnswer | null, ended: boolean): OpenAiError {
  const said =
    given?.action === 'accept'
      ? `was answered already: ${JSON.stringify(given.answers ?? given.content)}`
      : 'is not open any more'
  const how = ended ? `The task ${taskId} has ended.` : `The task ${taskId} goes on.`
  return new OpenAiError(
    409,
    'conflict',
    `The question ${said}. ${how} Send a conversation without the question to begin a new task.`,
    { again: false },
  )
}

/** The question of a task that waits now and was asked at this place, or behind it. `null`: none does. */
export async function stillAsked(
  client: Pick<BeaverClient, 'events'>,
  taskId: string,
  from: number,
): Promise<OpenQuestion | null> {
  const seen = await readTaskView(client.events(taskId), () => true)
  return seen?.view.openQuestions.find((each) => each.taskseq >= from) ?? null
}
