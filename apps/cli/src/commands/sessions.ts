// `beaver sessions`: lists the sessions, the one with the newest task first.
import type { SessionsAnswer, SessionSummary } from '@beaver/contracts'
import { shellWord } from '@beaver/core'
import { commandName } from '../command-name.ts'
import type { Answers } from '../system/answers-from-file.ts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { count, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusPaint, statusWord } from '../text/status-paint.ts'
import { briefIds } from '../text/brief-ids.ts'
import { table } from '../text/table.ts'
import { ask, asking } from './query.ts'
import { mustSpan } from './since-when.ts'

interface SessionsOptions {
  readonly user?: string
  readonly since?: string
  readonly until?: string
  readonly limit?: number
  readonly before?: number
  readonly json?: true
}

export function sessions(options: SessionsOptions, globals: GlobalOptions): Promise<number> {
  mustSpan(options)
  return asking(globals, async ({ screen }, connection) => {
    const { user, before, since, until } = options
    const answer = await listed(connection, options)
    if (options.json === true) return screen.json(answer)
    if (answer.sessions.length === 0)
      return screen.print(
        [user, before, since, until].every((each) => each === undefined)
          ? 'No sessions yet. Begin one: beaver run "…" --session <id>'
          : 'No such sessions.',
      )
    screen.print(...sessionsTable(answer.sessions, screen, Date.now()))
    if (answer.next !== null)
      screen.print(
        screen.style.dim(`There are more sessions. Show the next: ${nextPage(options, answer.next)}`),
      )
  })
}

const usual = 20
/** The largest number of sessions in one answer. */
const pageSessionsMax = 200

/** Asks for pages until there are enough sessions, or no more. */
async function listed(
  connection: Answers,
  { user, since, until, limit = usual, before }: SessionsOptions,
): Promise<SessionsAnswer> {
  const sessions: SessionSummary[] = []
  for (let place = before; ;) {
    const answer = await ask(connection, 'sessions', {
      user_id: user,
      since,
      until,
      limit: Math.min(pageSessionsMax, limit - sessions.length),
      before: place,
    })
    sessions.push(...answer.sessions)
    if (answer.next === null || sessions.length >= limit) return { ...answer, sessions }
    place = answer.next
  }
}

/** The command for the next page. */
function nextPage({ user, since, until, limit }: SessionsOptions, before: number): string {
  const options = [
    ...(user === undefined ? [] : ['--user', shellWord(user)]),
    ...(since === undefined ? [] : ['--since', since]),
    ...(until === undefined ? [] : ['--until', until]),
    ...(limit === undefined ? [] : ['--limit', limit]),
    '--before',
    before,
  ]
  return `${commandName()} sessions ${options.join(' ')}`
}

export function sessionsTable(
  rows: readonly SessionSummary[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
  now: number,
): string[] {
  const brief = briefIds(rows.map((session) => session.session_id))
  return table<SessionSummary>(
    [
      {
        title: 'SESSION',
        cell: (session) => oneLine(session.session_id),
        brief: (session) => oneLine(brief(session.session_id)),
      },
      {
        title: 'TASKS',
        cell: ({ tasks, open }) => (open === 0 ? count(tasks) : `${count(tasks)} (${count(open)} open)`),
        align: 'right',
      },
      { title: 'LAST', cell: ({ last_at: at }) => (at === null ? '' : moment(at, now)), optional: 3 },
      {
        title: 'STATUS',
        cell: (session) => statusWord(session.last_status),
        optional: 2,
        paint: (cell, session) => statusPaint(session.last_status, style)(cell),
      },
      ...(rows.some(({ user_id: user }) => user !== null)
        ? [
            {
              title: 'USER',
              cell: (session: SessionSummary) => oneLine(session.user_id ?? '').slice(0, 24),
              optional: 1,
            },
          ]
        : []),
      { title: 'ABOUT', cell: (session) => oneLine(session.title ?? session.text ?? ''), flexible: true },
    ],
    rows,
    { width: columns, title: style.dim },
  )
}
