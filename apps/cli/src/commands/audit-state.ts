// `beaver audit`: shows whether the record is as it was, and accepts a journal that is not, on purpose.
// A1. An acceptance is for the state of the journal at this moment. It is kept in the home, with who made it and why, and is never removed.
// A2. Nothing is accepted without a reason.
import { randomUUID } from 'node:crypto'
import type { QueryOutput } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import { acceptableState, type JournalAcceptance, journalFindingKind, presentDaemons, readAcceptances } from '@beaver/nats'
import { acceptancesFile } from '@beaver/platform'
import { connect, type Connection } from '../connection.ts'
import { type Context, contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { findSystem } from '../system/find-system.ts'
import { count, counted, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { ask } from './query.ts'

interface AuditOptions {
  readonly reason?: string
  readonly json?: true
}

const presenceMs = 400
const shownMax = 20

export async function auditState(what: 'show' | 'accept', options: AuditOptions, globals: GlobalOptions): Promise<number> {
  const context = contextOf(globals)
  if (what === 'accept' && (options.reason ?? '').trim() === '')
    throw new UsageError('Say why the journal is right as it is now: beaver audit accept --reason "…".')
  await using connection = await connect(findSystem(context.config))
  return what === 'accept' ? await accept(context, connection, options) : await showAudit(context, connection, options)
}

async function showAudit({ config, screen }: Context, connection: Connection, { json }: AuditOptions): Promise<number> {
  const answer = await ask(connection, 'audit', { verify: true, limit: shownMax })
  const accepted = readAcceptances(acceptancesFile(config.home, connection.subjects.stream))
  if (json === true) screen.json({ ...answer, accepted })
  else screen.print(...auditLines(answer, accepted, { screen, now: Date.now() }))
  return answer.intact ? 0 : 1
}

function auditLines(
  answer: QueryOutput<'audit'>,
  accepted: readonly JournalAcceptance[],
  { screen, now }: { screen: Context['screen']; now: number },
): string[] {
  const { style } = screen
  const { journal, verified, findings } = answer
  const compared = verified === null ? '' : `${counted(verified.tasks, 'task')}, ${counted(verified.events, 'event')} compared with the journal now`
  const left = verified === null || verified.tasks_left === 0 ? '' : `; ${count(verified.tasks_left)} not compared ("beaver check" compares all)`
  const wrong = [
    // The comparison says in full what the finding says in short.
    ...journal
      .filter(({ kind }) => kind !== 'rows_differ' || (verified?.differs ?? []).length === 0)
      .map(({ message, harmful }) => `${style.red(harmful ? 'fail' : 'warn')}  ${oneLine(message)}`),
    ...(verified?.differs ?? []).flatMap(({ task_id: id, messages }) => messages.map((message) => `${style.red('fail')}  ${id}: ${oneLine(message)}`)),
    ...findings.map(({ task_id: id, message }) => `${style.red('fail')}  ${id}: ${oneLine(message)}`),
  ]
  return [
    ...wrong,
    ...(answer.more_findings ? [style.dim('There are more findings. "beaver check" lists them.')] : []),
    ...accepted.map(({ at, by, reason, sequence }) =>
      style.dim(`accepted  ${moment(at, now)} by ${oneLine(by)}, up to message ${sequence}: ${oneLine(reason)}`),
    ),
    answer.intact
      ? `✔ Nothing is wrong: ${compared}${left}.`
      : style.red(`✖ The record is not as it was: ${counted(wrong.length, 'finding')}; ${compared}${left}.`),
    ...(answer.intact ? [] : [style.dim('If it is right as it is now, accept it: beaver audit accept --reason "…"')]),
  ]
}

async function accept({ config, screen }: Context, connection: Connection, { reason = '', json }: AuditOptions): Promise<number> {
  const { nc, subjects } = connection
  const state = await acceptableState(nc, subjects)
  const acceptance: JournalAcceptance = {
    id: randomUUID(),
    at: new Date().toISOString(),
    by: subjects.caller,
    reason: reason.trim(),
    ...state,
    findings: await findingsNow(connection),
  }
  const file = acceptancesFile(config.home, subjects.stream)
  await file.write(`${file.read() ?? ''}${JSON.stringify(acceptance)}\n`)
  if (json === true) screen.json(acceptance)
  else
    screen.print(
      ...acceptance.findings.map(({ message }) => `accepted  ${oneLine(message)}`),
      acceptance.findings.length === 0
        ? 'Nothing was wrong. The journal is accepted as it is.'
        : `Accepted: ${counted(acceptance.findings.length, 'finding')}.`,
      screen.style.dim('The daemons write again within seconds, and the projector builds the read model again.'),
    )
  return 0
}

/** What is accepted: everything that the projector and the daemons say now. */
async function findingsNow(connection: Connection): Promise<JournalAcceptance['findings']> {
  const { nc, subjects, client } = connection
  const daemons = await presentDaemons(nc, subjects, { waitMs: presenceMs })
  const byDaemons = daemons.flatMap(({ journal_changed: message }) => (message === undefined ? [] : [{ kind: 'replaced' as const, message, harmful: true }]))
  let told: QueryOutput<'status'>['journal'] = []
  try {
    told = (await client.query('status')).journal
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error // Without a projector, the daemons say what is wrong.
  }
  const found = told.flatMap(({ kind, ...rest }) => ((known) => (known.success ? [{ kind: known.data, ...rest }] : []))(journalFindingKind.safeParse(kind)))
  return [...new Map([...byDaemons, ...found].map((finding) => [finding.message, finding])).values()]
}
