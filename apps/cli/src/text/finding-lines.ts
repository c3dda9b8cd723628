// Formats a finding of a check: its status, its name, its text and its advice.
import type { Finding } from '../doctor/check.ts'
import type { Screen } from '../screen.ts'
import { statusPaint } from './status-paint.ts'
import { padEnd } from './width.ts'
import { wrapWords } from './wrap.ts'

const textColumn = 21

export function findingLines({ status, name, says, todo }: Finding, { style, columns }: Screen): string[] {
  const head = `${statusPaint(status, style)(padEnd(status, 4))}  ${style.bold(padEnd(name, 13))}  `
  const room = columns - textColumn
  const below = [
    ...wrapWords(says, room).slice(1),
    ...(todo === null || todo === '' ? [] : wrapWords(todo, room).map(style.dim)),
  ]
  return [head + (wrapWords(says, room)[0] ?? ''), ...below.map((line) => ' '.repeat(textColumn) + line)]
}
