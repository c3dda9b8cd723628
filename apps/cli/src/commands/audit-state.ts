// `beaver audit`: shows whether the record is as it was. `beaver audit accept` records that a changed journal
// is right as it is at this moment. An acceptance needs a reason and, if the journal has an operator, the
// operator's signature. It is kept in the home, with the name of the person, and is never removed. A home
// without the operator's key can take an acceptance that was signed elsewhere (--signed).
import { randomUUID } from 'node:crypto'
import type { QueryOutput } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import type { SigningKey } from '@beaver/core/journal'
import {
  acceptableState,
  acceptanceFault,
  type JournalAcceptance,
  journalFindingKind,
  presentDaemons,
  readAcceptances,
  signedAcceptance,
} from '@beaver/nats'
import { acceptancesFile, homeKeys, type KeptFile, keptFile, knownOperator } from '@beaver/platform'
import { connect, type Connection } from '../connection.ts'
import { type Context, contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { findSystem } from '../system/find-system.ts'
import { count, counted, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { ask } from './query.ts'

interface AuditOptions {
  readonly reason?: string
  /** The path of a file with an acceptance that was signed elsewhere. */
  readonly signed?: string
  readonly json?: true
}

const presenceMs = 400
const shownMax = 20

export async function auditState(
  what: 'show' | 'accept',
  options: AuditOptions,
  globals: GlobalOptions,
): Promise<number> {
  const context = contextOf(globals)
  if (what === 'accept' && options.signed === undefined && (options.reason ?? '').trim() === '')
    throw new UsageError('Say why the journal is right as it is now: beaver audit accept --reason "…".')
  await using connection = await connect(findSystem(context.config))
  if (what === 'show') return await showAudit(context, connection, options)
  const { signed } = options
  return await (signed === undefined
    ? accept(context, connection, options)
    : takeSigned(context, connection, { ...options, signed }))
}

async function showAudit(
  { config, screen }: Context,
  connection: Connection,
  { json }: AuditOptions,
): Promise<number> {
  const answer = await ask(connection, 'audit', { verify: true, limit: shownMax })
  const { stream } = connection.subjects
  const operator = knownOperator(homeKeys(config.keysFolder), stream)
  const accepted = readAcceptances(acceptancesFile(config.home, stream)).map((each) => ({
    ...each,
    fault: acceptanceFault(stream, each, operator),
  }))
  if (json === true) screen.json({ ...answer, accepted })
  else screen.print(...auditLines(answer, accepted, { screen, now: Date.now() }))
  return answer.intact ? 0 : 1
}

function auditLines(
  answer: QueryOutput<'audit'>,
  accepted: readonly (JournalAcceptance & { readonly fault: string | null })[],
  { screen, now }: { screen: Context['screen']; now: number },
): string[] {
  const { style } = screen
  const { journal, verified, findings } = answer
  const compared =
    verified === null
      ? ''
      : `${counted(verified.tasks, 'task')}, ${counted(verified.events, 'event')} compared with the journal now`
  const left =
    verified === null || verified.tasks_left === 0
      ? ''
      : `; ${count(verified.tasks_left)} not compared ("beaver check" compares all)`
  const wrong = [
    // The comparison reports such a difference in full, so the short finding is left out.
    ...journal
      .filter(({ kind }) => kind !== 'rows_differ' || (verified?.differs ?? []).length === 0)
      .map(({ message, harmful }) => `${style.red(harmful ? 'fail' : 'warn')}  ${oneLine(message)}`),
    ...(verified?.differs ?? []).flatMap(({ task_id: id, messages }) =>
      messages.map((message) => `${style.red('fail')}  ${id}: ${oneLine(message)}`),
    ),
    ...findings.map(({ task_id: id, message }) => `${style.red('fail')}  ${id}: ${oneLine(message)}`),
  ]
  return [
    ...wrong,
    ...(answer.more_findings ? [style.dim('There are more findings. "beaver check" lists them.')] : []),
    ...accepted.map(({ at, by, reason, sequence, fault, key_id: key }) =>
      fault === null
        ? style.dim(
            `accepted  ${moment(at, now)} by ${oneLine(by)}${key === undefined ? '' : ` with the key ${key}`}, up to message ${sequence}: ${oneLine(reason)}`,
          )
        : style.red(
            `not accepted  an acceptance of ${oneLine(at)} by ${oneLine(by)} does not count: ${fault}`,
          ),
    ),
    answer.intact
      ? `✔ Nothing is wrong: ${compared}${left}.`
      : style.red(`✖ The record is not as it was: ${counted(wrong.length, 'finding')}; ${compared}${left}.`),
    ...(answer.intact
      ? []
      : [style.dim('If it is right as it is now, accept it: beaver audit accept --reason "…"')]),
  ]
}

async function accept(
  { config, screen }: Context,
  connection: Connection,
  { reason = '', json }: AuditOptions,
): Promise<number> {
  const { nc, subjects } = connection
  const key = signerOf(config, subjects.stream)
  const state = await acceptableState(nc, subjects)
  const unsigned: JournalAcceptance = {
    id: randomUUID(),
    at: new Date().toISOString(),
    by: subjects.caller,
    reason: reason.trim(),
    ...state,
    findings: await findingsNow(connection),
  }
  const acceptance = key === null ? unsigned : signedAcceptance(subjects.stream, unsigned, key)
  await keep(acceptancesFile(config.home, subjects.stream), acceptance)
  if (json === true) screen.json(acceptance)
  else
    screen.print(
      ...acceptedLines(acceptance),
      screen.style.dim(
        'The daemons write again within seconds, and the projector builds the read model again.',
      ),
    )
  return 0
}

const acceptedShownMax = 3

/**
 * What was accepted, in a few lines for any number of findings: their number, their kinds, and the first
 * ones.
 */
export function acceptedLines({
  findings,
  sequence,
}: Pick<JournalAcceptance, 'findings' | 'sequence'>): string[] {
  const upTo = `The journal is accepted as it is, up to message ${count(sequence)}.`
  if (findings.length === 0) return [`Nothing was wrong. ${upTo}`]
  const kinds = [...Map.groupBy(findings, ({ kind }) => kind)].map(
    ([kind, of]) => `${count(of.length)} ${kind.replaceAll('_', ' ')}`,
  )
  const more = findings.length - acceptedShownMax
  return [
    `Accepted: ${counted(findings.length, 'finding')} (${kinds.join(', ')}). ${upTo}`,
    ...findings.slice(0, acceptedShownMax).map(({ message }) => `  ${oneLine(message)}`),
    ...(more > 0
      ? [`  and ${count(more)} more, which --json prints. Beaver keeps all of them with the acceptance.`]
      : []),
  ]
}

/**
 * The operator's key of this home. `null`: this home knows no operator of the journal.
 *
 * @throws {BeaverError} `key_untrusted` if the operator's key is not in this home
 */
function signerOf({ keysFolder }: Context['config'], stream: string): SigningKey | null {
  const keys = homeKeys(keysFolder)
  const known = knownOperator(keys, stream)
  if (known === null) return null
  const key = keys.operator()
  if (key?.id === known) return key
  throw new BeaverError(
    'key_untrusted',
    `Only the operator can accept a journal, and the operator's key ${known} is not in ${keys.place}. Name its folder with BEAVER_KEYS, ` +
      'or accept the journal where the key is, with --json > accepted.json, and here with --signed accepted.json.',
  )
}

/**
 * Adds an acceptance that was signed elsewhere to this home.
 *
 * @throws {BeaverError} `invalid_arguments`, `key_untrusted`
 */
async function takeSigned(
  { config, screen }: Context,
  { subjects }: Connection,
  { signed, json }: AuditOptions & { signed: string },
): Promise<number> {
  const text = keptFile(signed).read()
  const [acceptance, ...more] = readAcceptances({ read: () => text })
  if (acceptance === undefined || more.length > 0)
    throw new BeaverError(
      'invalid_arguments',
      `The file ${signed} does not have one acceptance. "beaver audit accept --json" prints one, on one line.`,
    )
  const fault = acceptanceFault(
    subjects.stream,
    acceptance,
    knownOperator(homeKeys(config.keysFolder), subjects.stream),
  )
  if (fault !== null)
    throw new BeaverError('key_untrusted', `The acceptance in ${signed} does not count: ${fault}.`)
  const file = acceptancesFile(config.home, subjects.stream)
  if (!readAcceptances(file).some(({ id }) => id === acceptance.id)) await keep(file, acceptance)
  if (json === true) screen.json(acceptance)
  else
    screen.print(
      `Accepted, as ${oneLine(acceptance.by)} accepted it on ${oneLine(acceptance.at)}: ${oneLine(acceptance.reason)}`,
    )
  return 0
}

const keep = (file: KeptFile, acceptance: JournalAcceptance): Promise<void> =>
  file.write(`${file.read() ?? ''}${JSON.stringify(acceptance)}\n`)

/** The findings that an acceptance covers: all that the projector and the daemons report now. */
async function findingsNow(connection: Connection): Promise<JournalAcceptance['findings']> {
  const { nc, subjects, client } = connection
  const daemons = await presentDaemons(nc, subjects, { waitMs: presenceMs, emptyMs: 4 * presenceMs })
  let told: QueryOutput<'status'>['journal'] = []
  try {
    told = (await client.query('status')).journal
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error // Without a projector, the daemons say what is wrong.
  }
  const found = told.flatMap(({ kind, ...rest }) =>
    ((known) => (known.success ? [{ kind: known.data, ...rest }] : []))(journalFindingKind.safeParse(kind)),
  )
  const byDaemons = daemons.flatMap(({ journal_changed: message }) =>
    message === undefined ? [] : [{ kind: kindAmong(found, message), message, harmful: true }],
  )
  return [...new Map([...byDaemons, ...found].map((finding) => [finding.message, finding])).values()]
}

/**
 * The kind of a finding of a daemon, which reports it only as a text. The projector may report the same with
 * a kind and another message number; so texts are compared without their numbers. Default: `replaced`.
 */
export function kindAmong(
  found: JournalAcceptance['findings'],
  message: string,
): JournalAcceptance['findings'][number]['kind'] {
  const words = (text: string): string => text.replaceAll(/\d+/g, '')
  return found.find((each) => words(each.message) === words(message))?.kind ?? 'replaced'
}
