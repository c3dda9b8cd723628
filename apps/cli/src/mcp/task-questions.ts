// The questions in tasks that an MCP client started, and the calls and budgets in them that wait for a decision.
// The client may answer only the questions of agents. A question of a tool may permit something, and a model
// may control the client, so a person must decide about everything else elsewhere.
import type { BeaverClient } from '@beaver/client'
import { BeaverError, shellWord, visible } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { alreadySettled, type Answered, answerFault, questionLines, saysTheSame } from '@beaver/core/question'
import {
  agentAsks,
  type AskedCall,
  askingCall,
  type BudgetAsk,
  budgetAsks,
  counted,
  type OpenQuestion,
  readTaskView,
  type TaskView,
} from '@beaver/core/task-view'
import type { WorkflowAnswers, WorkflowQuestion } from '@beaver/mcp'
import { budgetQuestion, giveWords } from '../view/budget-lines.ts'
import type { PersonCommand } from './person-command.ts'

/** The `source` of tasks that MCP clients start. */
export const mcpSource = 'mcp'

/** The questions of agents in a task, which its client may answer. */
export interface AskedInTask {
  /** The questions without an answer. */
  readonly waiting: readonly OpenQuestion[]
  readonly answered: readonly {
    readonly asked: OpenQuestion
    readonly event: Answered & { readonly time: string }
  }[]
  /** The `taskseq` of the newest event. */
  readonly taskseq: number
}

/** The open questions in the form for a client. Questions that are not from agents are left out. */
export const questionsFor = (open: readonly OpenQuestion[]): WorkflowQuestion[] =>
  open.filter(agentAsks).map(({ taskseq, question }) => ({ id: String(taskseq), question }))

/** All questions of agents in the task, answered or not, in the form for a client. */
export const everyQuestion = ({ waiting, answered }: AskedInTask): WorkflowQuestion[] =>
  questionsFor([...answered.map(({ asked }) => asked), ...waiting])

/**
 * Reads the questions of a task from its events.
 *
 * @throws {BeaverError} `not_found` if no MCP client started such a task
 */
export async function askedIn(taskId: string, events: AsyncIterable<RecordedEvent>): Promise<AskedInTask> {
  const seen = await readTaskView(events, ({ request }) => request.source === mcpSource)
  if (seen === null) throw new BeaverError('not_found', `There is no task ${taskId} of an MCP client.`)
  const { openQuestions, settled, taskseq } = seen.view
  const answered = settled.flatMap(({ asked, event }) =>
    'question' in asked && event.type === 'question_answered' && agentAsks(asked) ? [{ asked, event }] : [],
  )
  return { waiting: openQuestions.filter(agentAsks), answered, taskseq }
}

/**
 * Answers the waiting questions. If an answer does not fit its question, no question is answered. Answers
 * without a question are ignored.
 *
 * @returns a sentence for each answer that does not count, because somebody else gave another answer before
 * @throws {BeaverError} `invalid_arguments`, and the codes of `BeaverClient.answer` except `conflict`
 */
export async function answerAll(
  client: Pick<BeaverClient, 'answer' | 'events'>,
  taskId: string,
  { waiting, answered }: AskedInTask,
  answers: WorkflowAnswers,
): Promise<readonly string[]> {
  const answeredNow = waiting.flatMap((asked) => {
    const answer = answers[String(asked.taskseq)]
    return answer === undefined ? [] : [{ asked, answer }]
  })
  for (const { asked, answer } of answeredNow) {
    const fault = answerFault(asked.question, answer)
    if (fault !== null) throw new BeaverError('invalid_arguments', `The question still waits. ${fault}`)
  }
  const late = [...unlikeFirst(answered, answers)]
  for (const { asked, answer } of answeredNow)
    await client
      .answer(taskId, { callId: askingCall(asked), questionIndex: asked.index, answer })
      .catch(async (error: unknown) => {
        if (!(error instanceof BeaverError && (error.code === 'conflict' || error.code === 'not_found')))
          throw error
        const now = await askedIn(taskId, client.events(taskId))
        late.push(...unlikeFirst(now.answered, { [String(asked.taskseq)]: answer }))
      })
  return late
}

/** The sentences about answers that differ from the first answer. The same answer again is not reported. */
function unlikeFirst(answered: AskedInTask['answered'], answers: WorkflowAnswers): readonly string[] {
  return answered.flatMap(({ asked, event }) => {
    const answer = answers[String(asked.taskseq)]
    if (answer === undefined || saysTheSame(event, { answer })) return []
    return [`${alreadySettled(event).message} The answer of this client does not count.`]
  })
}

/** A sentence that says how a person answers a question. */
export const questionWaits = (
  taskId: string,
  asked: Pick<OpenQuestion, 'question'>,
  command: PersonCommand,
): string =>
  `An agent asks: ${questionLines(asked.question).join(' ').slice(0, 1_000)} Answer it with: ${command(`answer ${taskId}`)}`

/** A sentence that says what a person must do about a task, and how. `null`: nothing waits for a person. */
export function personWaits(
  taskId: string,
  view: Pick<TaskView, 'openQuestions' | 'askedCalls' | 'budgetWaits'>,
  command: PersonCommand,
): string | null {
  const [asked] = view.openQuestions
  if (asked !== undefined) return questionWaits(taskId, asked, command)
  const call = callWaits(taskId, view.askedCalls, command)
  if (call !== null) return call
  const [ask] = budgetAsks(view)
  return ask === undefined ? null : budgetWaits(taskId, ask, command)
}

/** A sentence that says why a task waits for more in a budget, and how a person gives it. */
export const budgetWaits = (taskId: string, ask: BudgetAsk, command: PersonCommand): string =>
  `${budgetQuestion(ask).join(' ')} A person gives more with: ${command(giveWords(ask.exceeded, taskId))}, or stops the task with: ${command(`cancel ${shellWord(taskId)}`)}`

/**
 * A sentence that says which call waits and how a person decides, because an MCP client may not. `null`: no
 * call waits.
 */
export function callWaits(
  taskId: string,
  waiting: readonly AskedCall[],
  command: PersonCommand,
): string | null {
  const [first] = waiting.map(({ asked }) => asked)
  if (first === undefined) return null
  const call = `${visible(first.tool_name).slice(0, 100)}${first.subject === '' ? '' : `: ${visible(first.subject).slice(0, 500)}`}`
  const more =
    waiting.length === 1
      ? ''
      : `, and ${counted(waiting.length - 1, 'more call')} ${waiting.length === 2 ? 'waits' : 'wait'}`
  return `An agent asks to call ${call}. This call waits for an approval${more}. A person decides with: ${command(`approve ${taskId}`)}, or: ${command(`deny ${taskId}`)}`
}
