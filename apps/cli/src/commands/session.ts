// `beaver session <id>`: shows one session as a conversation. It shows the newest tasks, in the order in
// which they ran.
import type { SessionAnswer, SessionSummary, SessionTurn } from '@beaver/contracts'
import { BeaverError, shellWord } from '@beaver/core'
import { commandName } from '../command-name.ts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import type { Answers } from '../system/answers-from-file.ts'
import { count, counted, moment } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import { paintReport } from '../text/report.ts'
import { statusPaint, statusWord } from '../text/status-paint.ts'
import { padEnd } from '../text/width.ts'
import { ask, asking, newAppears } from './query.ts'

const shownTasks = 50
const pageTasks = 200

interface SessionOptions {
  readonly limit?: number
  readonly before?: number
  readonly json?: true
}

export function session(id: string, options: SessionOptions, globals: GlobalOptions): Promise<number> {
  return asking(globals, async ({ screen }, connection) => {
    const answer = await readSession(connection, id, options)
    if (options.json === true) return screen.json(answer)
    screen.print(...sessionLines(answer, screen, { now: Date.now(), command: commandName(), options }))
  })
}

/**
 * The newest tasks of a session, the newest first.
 *
 * @throws {BeaverError} `not_found`; `invalid_arguments` if the text fits several sessions
 */
export async function readSession(
  answers: Answers,
  session_id: string,
  { limit = shownTasks, before }: SessionOptions,
): Promise<SessionAnswer> {
  const tasks: SessionTurn[] = []
  for (let place = before; ;) {
    const answer = await askSession(answers, {
      session_id,
      limit: Math.min(pageTasks, limit - tasks.length),
      before: place,
    })
    tasks.push(...answer.tasks)
    if (answer.next === null || tasks.length >= limit) return { ...answer, tasks }
    place = answer.next
  }
}

/**
 * The id of the session that an option names, which may be the beginning of an id or `latest`. `undefined` if
 * `typed` is.
 *
 * @throws {BeaverError} as `readSession`
 */
export async function sessionIdOf(answers: Answers, typed: string | undefined): Promise<string | undefined> {
  return typed === undefined
    ? undefined
    : (await readSession(answers, typed, { limit: 1 })).session.session_id
}

async function askSession(
  answers: Answers,
  input: { session_id: string; limit: number; before: number | undefined },
): Promise<SessionAnswer> {
  try {
    return await ask(answers, 'session', input)
  } catch (error) {
    if (!(error instanceof BeaverError && error.code === 'not_found')) throw error
    const message = `There is no session ${JSON.stringify(input.session_id)}. "beaver sessions" lists the sessions.${newAppears('session', answers.asOf)}`
    throw new BeaverError('not_found', message, { cause: error })
  }
}

export function sessionLines(
  { session, tasks, next }: SessionAnswer,
  screen: Pick<Screen, 'style' | 'interactive'>,
  {
    now,
    command,
    options,
  }: { readonly now: number; readonly command: string; readonly options: SessionOptions },
): string[] {
  const { style } = screen
  const { limit, before } = options
  // With --before, the number of earlier tasks is unknown.
  const left =
    before === undefined
      ? `${counted(session.tasks - tasks.length, 'earlier task')} left out`
      : 'There are earlier tasks'
  const further = [
    shellWord(session.session_id),
    ...(limit === undefined ? [] : ['--limit', limit]),
    '--before',
    next,
  ]
  return [
    ...headLines(session, screen, now),
    ...(next === null
      ? []
      : ['', style.dim(`${left}. Show the next: ${command} session ${further.join(' ')}`)]),
    ...tasks.toReversed().flatMap((turn) => ['', ...turnLines(turn, screen, { now, command })]),
  ]
}

function headLines(session: SessionSummary, { style }: Pick<Screen, 'style'>, now: number): string[] {
  const field = (name: string, value: string): string => `${style.dim(padEnd(name, 11))}${value}`
  return [
    field('Session', style.bold(oneLine(session.session_id))),
    ...(session.title === null ? [] : [field('Title', oneLine(session.title))]),
    ...(session.user_id === null ? [] : [field('User', oneLine(session.user_id))]),
    field(
      'Tasks',
      `${count(session.tasks)}${session.open === 0 ? '' : `, ${count(session.open)} open`}${session.began_at === null ? '' : `, since ${moment(session.began_at, now)}`}`,
    ),
  ]
}

function turnLines(
  turn: SessionTurn,
  { style, interactive }: Pick<Screen, 'style' | 'interactive'>,
  context: { now: number; command: string },
): string[] {
  const cut = (chars: number, text: string | null): string[] =>
    chars > (text?.length ?? 0)
      ? [
          style.dim(
            `(cut after ${count(text?.length ?? 0)} of ${count(chars)} characters: ${context.command} show ${turn.task_id})`,
          ),
        ]
      : []
  const answer = turn.answer ?? ''
  return [
    style.dim(turnHead(turn, context.now)),
    `${style.bold('You')}     ${plainText(turn.text ?? '').trim()}`,
    ...cut(turn.text_chars, turn.text),
    ...(answer === ''
      ? []
      : [
          `${style.bold('Beaver')}  ${(interactive ? paintReport(answer, style) : plainText(answer)).trim()}`,
          ...cut(turn.answer_chars, turn.answer),
        ]),
    ...endLines(turn, style),
  ]
}

/** The head of a task in its session: when it was submitted, its id, and what it is. */
export function turnHead(turn: SessionTurn, now: number): string {
  const when = turn.submitted_at === null ? '' : moment(turn.submitted_at, now)
  const about = [
    turn.workflow,
    turn.retry_of === null ? null : `retry of ${turn.retry_of}`,
    turn.title,
  ].filter((each) => each !== null)
  return [when, turn.task_id, ...about.map((each) => oneLine(each))].filter((each) => each !== '').join('  ')
}

/** The line about the end of a task, if the answer does not show it. */
function endLines({ status, answer, failure, simulated }: SessionTurn, style: Screen['style']): string[] {
  const why = failure === null ? '' : `: ${oneLine(failure.message)}`
  if (status !== 'completed' || answer === '')
    return [`${statusPaint(status, style)(`[${statusWord(status)}]`)}${why}`]
  return simulated === true ? [style.dim('[the simulated model answered]')] : []
}
