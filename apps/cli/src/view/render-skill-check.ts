// Formats the check of skills: what the standard says of each, and what Beaver does with it. No line is wider
// than the screen. A message that both give in the same words appears once.
import type { SkillCheck } from '@beaver/agent'
import type { Screen } from '../screen.ts'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { wrapText } from '../text/wrap.ts'

const titleColumns = 15
const indent = '    '

type Look = Pick<Screen, 'columns' | 'style' | 'symbols'>

export function checkLines(checks: readonly SkillCheck[], look: Look): string[] {
  return checks.flatMap((check) => [...verdictLines(check, look), ...rowsOf(check, look)])
}

function verdictLines(check: SkillCheck, { columns, style, symbols }: Look): string[] {
  const ours = check.problems.filter(({ rule }) => rule === 'guidance').length
  const broken = check.problems.length - ours
  const standard = broken === 0 ? 'valid by the standard' : `${counted(broken, 'problem')} by the standard`
  const verdict = ours === 0 ? standard : `${standard}, ${counted(ours, 'problem')} in its guidance`
  const name = oneLine(folderOf(check), 200)
  const mark = check.valid ? style.green(symbols.done) : style.red(symbols.failed)
  const lines = wrapText(`${name}: ${verdict}; ${loading(check)}.`, columns - 2)
  return lines.map((line, i) =>
    i > 0
      ? `  ${line}`
      : `${mark} ${line.startsWith(name) ? style.bold(name) + line.slice(name.length) : line}`,
  )
}

function rowsOf({ problems, advice, told }: SkillCheck, { columns, style }: Look): string[] {
  const said = new Set([...problems, ...advice].map(({ message }) => message))
  const rows = [
    ...problems.map(({ rule, message }) => ({ title: rule, text: message, paint: style.red })),
    ...advice.map(({ rule, message }) => ({ title: rule, text: `Advice: ${message}`, paint: style.dim })),
    ...told
      .filter(({ message }) => !said.has(message))
      .map(({ message }) => ({ title: 'Beaver', text: message, paint: style.yellow })),
  ]
  return rows.flatMap(({ title, text, paint }) =>
    wrapText(oneLine(text), columns - indent.length - titleColumns).map(
      (line, i) => indent + paint((i === 0 ? title : '').padEnd(titleColumns)) + line,
    ),
  )
}

const folderOf = ({ folder }: SkillCheck): string =>
  folder.split(/[/\\]/).findLast((part) => part !== '') ?? folder

function loading(check: SkillCheck): string {
  const { loads, name, told } = check
  if (!loads) return 'Beaver leaves it out'
  const as = name === folderOf(check) ? '' : ` as ${oneLine(name ?? '', 200)}`
  return `Beaver loads it${as}${told.length === 0 ? '' : `, with ${counted(told.length, 'warning')}`}`
}
