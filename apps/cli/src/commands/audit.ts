// `beaver audit`: verifies that a journal, a task or an export is what it was when checkpoints of it were
// signed; and writes an export that somebody else can verify. Exit code 0 if nothing was found, otherwise 1.
// It only reads. What it says was verified, it has verified itself, now.
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
import { findSystem } from '../system/find-system.ts'
import { checkpointsIn, givenKey, journalOf, knownToHome, wholeJournal } from '../system/journal-evidence.ts'
import { exportedJournal } from '../system/journal-source.ts'
import { progressOn } from '../view/progress.ts'
import { renderAudit } from '../view/render-audit.ts'
import { writeJournal } from './export.ts'

export interface AuditCommand {
  readonly against?: readonly string[]
  readonly key?: readonly string[]
  readonly operator?: string
  readonly offline?: string
  readonly out?: string
  readonly json?: true
}

export async function audit(
  what: 'verify' | 'export',
  tasks: readonly string[],
  options: AuditCommand,
  globals: GlobalOptions,
): Promise<number> {
  const context = contextOf(globals)
  const against = (options.against ?? []).flatMap(checkpointsIn)
  if (what === 'export') return await exportAudit(tasks, against, options, context)
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
  /** Keys that count if none is given. */
  readonly keys: readonly string[]
  /** The operator that counts if none is given. */
  readonly operator: string | null
}

async function verify(
  source: () => Promise<JournalSource>,
  { against, keys, ...home }: Knowing,
  options: AuditCommand,
  { screen }: Context,
): Promise<number> {
  const progress = progressOn(screen, options.json !== true)
  const given = (options.key ?? []).map(givenKey)
  const operator = options.operator ?? home.operator
  const result = await checkSettled(source, (journal) =>
    auditJournal(journal, {
      now: journal.about.exportedAt === null ? Date.now() : Date.parse(journal.about.exportedAt),
      known: {
        keys: given.length > 0 ? given : keys,
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
  return { ok, broken, findings, checked, not_checked, checkpoints, fits_up_to, keys, summary }
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
