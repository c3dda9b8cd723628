// The questions of a task in `beaver show`: first those that wait, with the commands that answer, then those
// that were answered, declined or cancelled.
import { type AskedQuestionAnswer, questionIn, type TaskAnswer } from '@beaver/contracts'
import { askUserTool } from '@beaver/core/question'
import { whoDid } from '@beaver/core/task-view'
import type { Screen } from '../screen.ts'
import { count, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { wrapText } from '../text/wrap.ts'
import { answerCommands, questionText } from './render-question.ts'

type Surface = Pick<Screen, 'columns' | 'style' | 'symbols'>

const settledMax = 12

export interface ShowQuestions {
  readonly command: string
  /** Whether to print long lists whole. */
  readonly all: boolean
  /** The current time, in milliseconds since 1970. */
  readonly now: number
}

export function questionLines(
  { questions = [] }: Pick<TaskAnswer, 'questions'>,
  surface: Surface,
  options: ShowQuestions,
): string[] {
  const { columns, style, symbols } = surface
  const waiting = questions.filter(({ state }) => state === 'waiting')
  const settled = questions.filter(({ state }) => state !== 'waiting')
  const shown = options.all ? settled : settled.slice(0, settledMax)
  const left = settled.length - shown.length
  return [
    ...waiting.flatMap((each) =>
      waitingQuestionLines(each, surface, { ...options, isOnly: waiting.length === 1 }),
    ),
    ...shown.flatMap((each) =>
      wrapText(settledLine(each, surface, options.now), columns - 2).map((line, i) =>
        i === 0 ? line : `  ${line}`,
      ),
    ),
    ...(left === 0 ? [] : [style.dim(`${symbols.ellipsis} and ${count(left)} more (--all shows them)`)]),
  ]
}

/** The lines of a question that waits, with the commands that answer. */
export function waitingQuestionLines(
  each: AskedQuestionAnswer,
  { columns, style, symbols }: Surface,
  options: Pick<ShowQuestions, 'command' | 'now'> & { readonly isOnly: boolean },
): string[] {
  const question = questionIn(each)
  const [first = '', ...rest] = questionText({
    agent: each.agent_name ?? 'an agent',
    tool: each.tool,
    question,
  })
  const name = options.isOnly ? null : `${each.run_id ?? ''}/${each.call_id}`
  const until = each.expires_at === null ? '' : ` (until ${moment(each.expires_at, options.now)})`
  const lines = [...wrapText(`${symbols.asks} ${first}${until}`, columns), ...rest]
  return [
    ...lines.map(style.yellow),
    ...answerCommands({ taskId: each.task_id, command: options.command, name }, question, columns),
  ]
}

/** How many questions of the task wait for an answer. */
export const waitingQuestions = ({ questions = [] }: Pick<TaskAnswer, 'questions'>): number =>
  questions.filter(({ state }) => state === 'waiting').length

/** For example `✔ anna answered "Which branch?": next (Root agent, asked in event 12, answered 12:01:03)`. */
function settledLine(each: AskedQuestionAnswer, { symbols }: Surface, now: number): string {
  const { message, answer, agent_name: agent, tool, taskseq, answered_at: at, reason, state } = each
  const who = oneLine(whoDid(each))
  const asked = JSON.stringify(oneLine(message))
  const asker = `${oneLine(agent ?? 'an agent')}${tool === askUserTool ? '' : `, ${oneLine(tool)}`}`
  const where = `(${asker}, asked in event ${taskseq}${at === null ? '' : `, answered ${moment(at, now)}`})`
  const why = reason === null || reason === '' ? '' : ` ${oneLine(reason)}`
  if (state === 'accept') return `${symbols.done} ${who} answered ${asked}: ${oneLine(answer ?? '')} ${where}`
  if (state === 'decline') return `${symbols.failed} ${who} did not want to answer ${asked} ${where}${why}`
  return `${symbols.cancelled} nobody answered ${asked} ${where}${why}`
}
