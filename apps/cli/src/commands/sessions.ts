// `beaver sessions`: lists the sessions, the one with the newest task first.
import type { SessionSummary } from '@beaver/contracts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { count, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusPaint } from '../text/status-paint.ts'
import { table } from '../text/table.ts'
import { ask, asking } from './query.ts'

interface SessionsOptions {
  readonly user?: string
  readonly limit?: number
  readonly json?: true
}

export function sessions({ json, user, limit }: SessionsOptions, globals: GlobalOptions): Promise<number> {
  return asking(globals, async ({ screen }, connection) => {
    const answer = await ask(connection, 'sessions', { user_id: user, limit })
    if (json === true) return screen.json(answer)
    if (answer.sessions.length === 0)
      return screen.print(user === undefined ? 'No sessions yet. Begin one: beaver run "…" --session <id>' : 'No such sessions.')
    screen.print(...sessionsTable(answer.sessions, screen, Date.now()))
    if (answer.more) screen.print(screen.style.dim(`There are more sessions. Show them with --limit ${Math.min(200, answer.sessions.length * 5)}.`))
  })
}

export function sessionsTable(rows: readonly SessionSummary[], { columns, style }: Pick<Screen, 'columns' | 'style'>, now: number): string[] {
  return table<SessionSummary>(
    [
      { title: 'SESSION', cell: (session) => oneLine(session.session_id) },
      { title: 'TASKS', cell: ({ tasks, open }) => (open === 0 ? count(tasks) : `${count(tasks)} (${count(open)} open)`), align: 'right' },
      { title: 'LAST', cell: ({ last_at: at }) => (at === null ? '' : moment(at, now)), optional: 2 },
      { title: 'STATUS', cell: (session) => session.last_status, optional: 3, paint: (cell, session) => statusPaint(session.last_status, style)(cell) },
      ...(rows.some(({ user_id: user }) => user !== null)
        ? [{ title: 'USER', cell: (session: SessionSummary) => oneLine(session.user_id ?? '').slice(0, 24), optional: 1 }]
        : []),
      { title: 'ABOUT', cell: (session) => oneLine(session.title ?? session.text ?? ''), flexible: true },
    ],
    rows,
    { width: columns, title: style.dim },
  )
}
