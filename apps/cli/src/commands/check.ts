// `beaver check`: checks the journal of a running system, or an export of a journal. Exit code 0 if no rule
// is broken, otherwise 1. It only reads: it makes no consumer on the server and changes no file.
import { existsSync } from 'node:fs'
import { checkJournal, checkSettled, type Finding, type JournalSource } from '@beaver/check'
import { homeKeys, readModelFile } from '@beaver/platform'
import { openSnapshot } from '@beaver/projection'
import { connect } from '../connection.ts'
import { type Context, contextOf, type GlobalOptions } from '../context.ts'
import { answersFromFile } from '../system/answers-from-file.ts'
import { findSystem } from '../system/find-system.ts'
import { exportedJournal, systemJournal } from '../system/journal-source.ts'
import { progressOn } from '../view/progress.ts'
import { type Checked, renderCheck } from '../view/render-check.ts'
import { type ComparedProjection, compareProjection } from './check-projection.ts'
import { findTask } from './find-task.ts'
import { ask } from './query.ts'

export interface CheckCommand {
  readonly export?: string
  readonly task?: string
  readonly operator?: string
  /** The path of a read model; `false` compares none. Default: the read model of the home, if it exists. */
  readonly projection?: string | false
  readonly json?: true
}

export async function check(options: CheckCommand, globals: GlobalOptions): Promise<number> {
  const context = contextOf(globals)
  if (options.export !== undefined) {
    const file = options.export
    return checkAndTell(withTask(options, await taskInFile(file, options.task)), context, {
      source: () => exportedJournal(file),
      readModel: null,
      operator: null,
    })
  }
  const system = findSystem(context.config)
  await using connection = await connect(system)
  const operator = homeKeys(context.config.keysFolder).pinned(connection.subjects.stream)
  const readModel = readModelFile(context.config.home, connection.subjects.fileName)
  const task = options.task === undefined ? undefined : (await findTask(connection, options.task)).taskId
  return await checkAndTell(withTask(options, task), context, {
    source: () => systemJournal(connection, task),
    readModel,
    operator,
  })
}

const withTask = (options: CheckCommand, task: string | undefined): CheckCommand =>
  task === undefined ? options : { ...options, task }

/**
 * The id of the task that the text names.
 *
 * @throws {BeaverError} `not_found` if the export has no such task, `invalid_arguments` if the text fits
 * several
 */
async function taskInFile(file: string, typed: string | undefined): Promise<string | undefined> {
  if (typed === undefined) return undefined
  await using answers = await answersFromFile(file)
  return (await ask(answers, 'task', { task_id: typed, limit: 1 })).task.task_id
}

interface CheckedPlace {
  /** Opens the journal as it is now. */
  readonly source: () => Promise<JournalSource>
  /** The path of the home's read model; `null` for an export. */
  readonly readModel: string | null
  /** The operator that the home knows; `null` if there is none. */
  readonly operator: string | null
}

async function checkAndTell(
  options: CheckCommand,
  { screen }: Context,
  { source, readModel, ...home }: CheckedPlace,
): Promise<number> {
  const progress = progressOn(screen, options.json !== true)
  const { task, operator = home.operator } = options
  const result = await checkSettled(source, (journal) =>
    checkJournal(journal, {
      ...(task === undefined ? {} : { task }),
      ...(operator === null ? {} : { operator }),
      now: journal.about.exportedAt === null ? Date.now() : Date.parse(journal.about.exportedAt),
      onProgress: ({ sequence, events }) =>
        progress.show('Checking', sequence, journal.about.lastSequence, events),
    }),
  )
  const wanted = projectionFile(options, readModel)
  const compared = await projectionOf(wanted, source, (sequence, last) =>
    progress.show('Rebuilding the read model', sequence, last),
  )
  progress.end()
  const broken =
    compared.findings.length === 0
      ? result.broken
      : { ...result.broken, projection: compared.findings.length }
  const checked: Checked = {
    ...result,
    broken,
    findings: [...result.findings, ...compared.findings],
    ok: Object.keys(broken).length === 0,
    projection: compared.projection,
  }
  if (options.json === true) {
    const { ok, findings, notes, summary, projection } = checked
    screen.json({ ok, broken, findings, notes, summary: summaryJson(summary), projection })
  } else screen.print(...renderCheck(checked, screen, task ?? null))
  return checked.ok ? 0 : 1
}

/** The summary with the names that fields have in JSON. */
export function summaryJson<Summary extends { readonly about: JournalSource['about'] }>({
  about: { lastSequence: last_sequence, exportedAt: exported_at, ...about },
  ...summary
}: Summary): object {
  return { ...summary, about: { ...about, last_sequence, exported_at } }
}

/** The path of the read model to compare, and the reason if it cannot be compared. */
function projectionFile(
  { projection, task }: CheckCommand,
  own: string | null,
): { readonly file: string; readonly reason: string | null } {
  if (projection === false) return { file: '', reason: '--no-projection was given' }
  if (task !== undefined)
    return { file: projection ?? '', reason: 'it holds all tasks, and only one was checked' }
  if (projection !== undefined) return { file: projection, reason: null }
  if (own === null) return { file: '', reason: 'an export has none; --projection names one' }
  return {
    file: own,
    reason: existsSync(own) ? null : `${own} does not exist; --projection names another file`,
  }
}

async function projectionOf(
  { file, reason }: { readonly file: string; readonly reason: string | null },
  source: () => Promise<JournalSource>,
  onProgress: (sequence: number, last: number) => void,
): Promise<{ readonly projection: ComparedProjection; readonly findings: readonly Finding[] }> {
  if (reason !== null) return { projection: { file, compared: false, sequence: null, reason }, findings: [] }
  // The read model is opened first, so that the journal contains everything that the read model has applied.
  using model = openSnapshot(file)
  return await checkSettled(source, async (journal) => {
    const compared = await compareProjection(model, journal, onProgress)
    if (typeof compared === 'string')
      return { projection: { file, compared: false, sequence: null, reason: compared }, findings: [] }
    return {
      projection: { file, compared: true, sequence: model.sequence, reason: null },
      findings: compared,
    }
  })
}
