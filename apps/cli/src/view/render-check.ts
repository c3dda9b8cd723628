// Formats the result of a check: the broken rules, the notes, what was checked and what was not.
import { type CheckResult, findingsMax, type Finding, rules } from '@beaver/check'
import type { ComparedProjection } from '../commands/check-projection.ts'
import type { Screen } from '../screen.ts'
import { count, counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { wrapWords } from '../text/wrap.ts'

/** The result of the command `check`. */
export interface Checked extends CheckResult {
  readonly ok: boolean
  readonly projection: ComparedProjection
}

type View = Pick<Screen, 'columns' | 'style' | 'symbols'>

const shownMax = 200
const column = 11

/** The lines of the result. `task` is the only task that was checked; `null`: all tasks were. */
export function renderCheck(checked: Checked, view: View, task: string | null): string[] {
  const { findings, notes } = checked
  const shown = findings.slice(0, shownMax)
  const more = Object.values(checked.broken).reduce((sum, times) => sum + times, 0) - shown.length
  return [
    ...(shown.length === 0 ? [] : [...findingsTable(shown, view), '']),
    ...(more > 0
      ? [view.style.dim(`${counted(more, 'more finding')}; --json lists up to ${count(findingsMax)}.`), '']
      : []),
    ...notes
      .slice(0, shownMax)
      .map((note) => `${view.style.yellow('note')}  ${note.task_id} ${note.message}`),
    ...(notes.length === 0 ? [] : ['']),
    ...lookedAt(checked, view, task),
    '',
    verdict(checked, view),
  ]
}

export function findingsTable(findings: readonly Finding[], { columns, style }: View): string[] {
  return table<Finding>(
    [
      { title: 'RULE', cell: ({ rule }) => rule, paint: style.red },
      { title: 'TASK', cell: ({ task_id }) => task_id ?? '', optional: 2 },
      { title: 'EVENT', cell: ({ taskseq }) => String(taskseq ?? ''), align: 'right', optional: 1 },
      { title: 'MESSAGE', cell: ({ sequence }) => String(sequence ?? ''), align: 'right', optional: 3 },
      { title: 'WHAT', cell: ({ message }) => oneLine(message), flexible: true },
    ],
    findings,
    { width: columns, title: style.dim },
  )
}

function lookedAt({ summary, projection }: Checked, view: View, task: string | null): string[] {
  const { about, tasks, tasks_open, events, messages, first_sequence, last_sequence, blobs_verified } =
    summary
  const from =
    about.exportedAt === null
      ? `the stream ${about.stream}`
      : `an export of ${about.stream}, made ${about.exportedAt}`
  const range =
    first_sequence === null
      ? 'no messages'
      : `messages ${count(first_sequence)} to ${count(last_sequence ?? 0)}`
  const model = projection.compared
    ? `${projection.file}, compared with a rebuild up to message ${count(projection.sequence ?? 0)}`
    : `not compared: ${projection.reason}`
  const left = [
    ...(task === null
      ? []
      : [`tasks of other sessions; whether the id is unique, and whether the stream has gaps`]),
    ...(about.exportedAt === null ? [`what was written after message ${count(about.lastSequence)}`] : []),
    'memories, wakes and live output',
  ]
  const rows: [string, string][] = [
    ['Journal', `${from}, namespace ${about.namespace}`],
    [
      'Looked at',
      `${counted(tasks, 'task')} (${count(tasks_open)} open), ${counted(events, 'event')} in ${counted(messages, 'message')}: ${range}`,
    ],
    ['Signatures', signaturesText(summary)],
    ['Blobs', `${count(blobs_verified)} verified`],
    ['Read model', model],
    ['Left out', left.join('; ')],
  ]
  return rows.flatMap(([name, says]) => {
    const [first = '', ...rest] = wrapWords(says, Math.max(40, view.columns - column))
    return [
      `${view.style.bold(name.padEnd(column))}${first}`,
      ...rest.map((line) => ' '.repeat(column) + line),
    ]
  })
}

function signaturesText({ signatures: { operator, verified, unsigned } }: Checked['summary']): string {
  if (operator === null) return 'none: the journal has no operator, so nobody can tell who wrote it'
  const before =
    unsigned === 0
      ? ''
      : `; ${counted(unsigned, 'message')} from before the journal had an operator ${unsigned === 1 ? 'is' : 'are'} not signed`
  return `${count(verified)} verified, by keys that the operator ${operator} trusts${before}`
}

function verdict({ ok, broken, summary }: Checked, { style, symbols }: View): string {
  if (ok)
    return `${style.green(symbols.done)} No rule is broken (${Object.keys(rules).length} rules, ${counted(summary.tasks, 'task')}).`
  const list = Object.entries(broken).map(([rule, times]) => `${rule} ${count(times)}`)
  return `${style.red(symbols.failed)} ${counted(list.length, 'rule')} ${list.length === 1 ? 'is' : 'are'} broken: ${list.join(', ')}.`
}
