// Formats the result of an audit: what was found, what exactly was checked, and what was not.
import type { AuditResult } from '@beaver/check'
import type { Screen } from '../screen.ts'
import { count, counted } from '../text/figures.ts'
import { wrapWords } from '../text/wrap.ts'
import { findingsTable } from './render-check.ts'

type View = Pick<Screen, 'columns' | 'style' | 'symbols'>

const shownMax = 200
const column = 13

export function renderAudit(result: AuditResult, view: View): string[] {
  const { findings, summary, checked, not_checked: not } = result
  const { about } = summary
  const found = Object.values(result.broken).reduce((sum, times) => sum + times, 0)
  const from =
    about.exportedAt === null
      ? `the stream ${about.stream}`
      : `an export of ${about.stream}, made ${about.exportedAt}`
  return [
    ...(findings.length === 0 ? [] : [...findingsTable(findings.slice(0, shownMax), view), '']),
    ...(found > shownMax
      ? [view.style.dim(`${counted(found - shownMax, 'more finding')}; --json lists them.`), '']
      : []),
    ...lines('Journal', [`${from}, created ${about.created}${about.whole ? '' : '; a part of it'}`], view),
    ...lines('Checked', checked, view),
    ...lines('Not checked', not, view),
    '',
    verdict(result, found, view),
  ]
}

function lines(name: string, says: readonly string[], { columns, style }: View): string[] {
  return says.flatMap((text, i) => {
    const [first = '', ...rest] = wrapWords(text, Math.max(40, columns - column))
    return [
      `${i === 0 ? style.bold(name.padEnd(column)) : ' '.repeat(column)}${first}`,
      ...rest.map((line) => ' '.repeat(column) + line),
    ]
  })
}

function verdict(
  { broken, fits_up_to: upTo, keys, summary }: AuditResult,
  found: number,
  { style, symbols }: View,
): string {
  if (found > 0) {
    const rules = Object.entries(broken).map(([rule, times]) => `${rule} ${count(times)}`)
    return `${style.red(symbols.failed)} ${counted(found, 'finding')}: ${rules.join(', ')}.`
  }
  if (upTo === null)
    return `${style.green(symbols.done)} Nothing was found. There was no checkpoint, so a journal that was written anew would not show.`
  const by =
    keys === 'none'
      ? ''
      : keys === 'given'
        ? ', signed by a key that you know'
        : ', signed by the key that came with it'
  const what = summary.about.whole
    ? 'the journal is what it was at'
    : 'these logs are whole, and they are in the journal of'
  return `${style.green(symbols.done)} Verified: ${what} the checkpoint over ${counted(upTo, 'message')}${by}.`
}
