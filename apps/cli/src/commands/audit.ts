// `beaver audit verify` and `beaver audit export`: verify that a journal, some tasks or an export are
// unchanged since their checkpoints were signed, or write an export that somebody else can verify. Exit code
// 0 if nothing was found, otherwise 1. The commands only read, and they call verified only what they verified
// themselves, now.
import {
  auditJournal,
  type AuditResult,
  checkSettled,
  type GivenCheckpoint,
  type JournalSource,
} from '@beaver/check'
import { BeaverError } from '@beaver/core'
import { connect } from '../connection.ts'
import { type Context, contextOf, type GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { findSystem } from '../system/find-system.ts'
import { checkpointsIn, givenKey, journalOf, knownToHome, wholeJournal } from '../system/journal-evidence.ts'
import { exportedJournal } from '../system/journal-source.ts'
import { count, counted } from '../text/figures.ts'
import { wrapWords } from '../text/wrap.ts'
import { progressOn } from '../view/progress.ts'
import { findingsTable } from '../view/render-check.ts'
import { writeJournal } from './export.ts'
import { summaryJson } from './check.ts'

export interface AuditCommand {
  readonly against?: readonly string[]
  readonly key?: readonly string[]
  readonly operator?: string
  readonly offline?: string
  readonly out?: string
  readonly json?: true
}

export async function audit(
  verb: 'verify' | 'export',
  tasks: readonly string[],
  options: AuditCommand,
  globals: GlobalOptions,
): Promise<number> {
  const context = contextOf(globals)
  const against = (options.against ?? []).flatMap(checkpointsIn)
  if (verb === 'export') return await exportAudit(tasks, against, options, context)
  if (options.offline !== undefined) {
    if (tasks.length > 0)
      throw new BeaverError(
        'invalid_arguments',
        'An export is verified as a whole: name either tasks or --offline.',
      )
    const file = options.offline
    return await verify(() => exportedJournal(file), { against, keys: [], operator: null }, options, context)
  }
  const system = findSystem(context.config)
  await using connection = await connect(system)
  const home = knownToHome(context.config, connection.subjects)
  const older = [...home.checkpoints, ...against]
  const source = () => (tasks.length === 0 ? wholeJournal(connection) : journalOf(connection, tasks, older))
  return await verify(source, { ...home, against: older }, options, context)
}

interface Knowing {
  readonly against: readonly GivenCheckpoint[]
  /** The keys that count if the user gives none. */
  readonly keys: readonly string[]
  /** The operator that counts if the user gives none; `null`: none is known. */
  readonly operator: string | null
}

async function verify(
  source: () => Promise<JournalSource>,
  { against, keys, ...home }: Knowing,
  options: AuditCommand,
  { screen }: Context,
): Promise<number> {
  const progress = progressOn(screen, options.json !== true)
  const givenKeys = (options.key ?? []).map(givenKey)
  const operator = options.operator ?? home.operator
  const result = await checkSettled(source, (journal) =>
    auditJournal(journal, {
      now: journal.about.exportedAt === null ? Date.now() : Date.parse(journal.about.exportedAt),
      known: {
        keys: givenKeys.length > 0 ? givenKeys : keys,
        checkpoints: against,
        ...(operator === null ? {} : { operator }),
      },
      onProgress: ({ sequence, events }) =>
        progress.show('Verifying', sequence, journal.about.lastSequence, events),
    }),
  )
  progress.end()
  const ok = Object.keys(result.broken).length === 0
  if (options.json === true) screen.json(jsonOf(result, ok))
  else screen.print(...renderAudit(result, screen))
  return ok ? 0 : 1
}

function jsonOf(
  { broken, findings, checked, not_checked, checkpoints, fits_up_to, keys, summary }: AuditResult,
  ok: boolean,
): object {
  return {
    ...{ ok, broken, findings, checked, not_checked, checkpoints, fits_up_to, keys },
    summary: summaryJson(summary),
  }
}

async function exportAudit(
  tasks: readonly string[],
  against: readonly GivenCheckpoint[],
  { out }: AuditCommand,
  { config, screen }: Context,
): Promise<number> {
  await using connection = await connect(findSystem(config))
  const source =
    tasks.length === 0 ? await wholeJournal(connection) : await journalOf(connection, tasks, against)
  await writeJournal(source, out, screen)
  return 0
}

// Formats the result of an audit: the findings, what exactly was checked, and what was not.

type View = Pick<Screen, 'columns' | 'style' | 'symbols'>

const shownMax = 200
const column = 13

function renderAudit(result: AuditResult, view: View): string[] {
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
