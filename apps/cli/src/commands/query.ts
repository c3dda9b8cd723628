// Asks the projector for one answer, or for the pages of a long answer.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { QueryInput, QueryName, QueryOutput } from '@beaver/contracts'
import { BeaverError, messageOf } from '@beaver/core'
import type { PriceTable } from '@beaver/core/cost'
import { subjectsOf } from '@beaver/nats'
import { type Config, currentPrices, lockHolder, readModelFile } from '@beaver/platform'
import { answer, openSnapshot } from '@beaver/projection'
import { commandName } from '../command-name.ts'
import { connect } from '../connection.ts'
import { type Context, contextOf, type GlobalOptions } from '../context.ts'
import { type Answers, answersFromFile } from '../system/answers-from-file.ts'
import { findSystem, lookForSystem, mustRead } from '../system/find-system.ts'
import { moment } from '../text/figures.ts'
import { warnOfChangedRows } from '../view/changed-rows.ts'

/**
 * Runs a command that asks about a task and prints the answer.
 *
 * @param from the path of an export that answers instead of the projector
 * @param compares whether the command itself compares what it shows with the journal. Default: false
 */
export async function askingAbout(
  globals: GlobalOptions,
  from: string | undefined,
  show: (context: Context, answers: Answers) => Promise<void>,
  { compares = false }: { readonly compares?: boolean } = {},
): Promise<number> {
  if (from === undefined) return await asking(globals, show, { compares })
  const context = contextOf(globals)
  await using answers = await answersFromFile(from, pricesFor(context))
  await show(context, answers)
  return 0
}

/**
 * Runs a command that asks the projector and prints the answer, and warns if rows that it showed are known to
 * be changed. If no system runs in the home, the home's read model answers.
 */
export async function asking(
  globals: GlobalOptions,
  show: (context: Context, answers: Answers) => Promise<void>,
  { compares = false }: { readonly compares?: boolean } = {},
): Promise<number> {
  const context = contextOf(globals)
  const { config, screen } = context
  const kept = lookForSystem(config) === null ? answersFromHome(config, pricesFor(context)) : null
  if (kept !== null) {
    using answers = kept
    screen.warn(screen.errorStyle.yellow(answers.told))
    await show(context, answers)
    return 0
  }
  await using connection = await connect(findSystem(config))
  await show(context, connection)
  if (!compares) await warnOfChangedRows(connection, screen)
  return 0
}

/**
 * As `asking`, for a command that works without an answer, too. Returns `null` if nothing answers soon.
 */
export async function askingQuietly<T>(
  globals: GlobalOptions,
  look: (answers: Answers, config: Config) => Promise<T>,
): Promise<T | null> {
  try {
    const { config } = contextOf(globals)
    const found = lookForSystem(config)
    if (found !== null) {
      await using connection = await connect(found, { daemonMs: quietMsMax })
      return await look(connection, config)
    }
    using kept = answersFromHome(config, currentPrices(config))
    return kept === null ? null : await look(kept, config)
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    return null
  }
}

const quietMsMax = 2_000

const pricesFor = ({ config, screen }: Context): (() => PriceTable) =>
  currentPrices(config, (message) => screen.warn(message))

/**
 * Asks one question.
 *
 * @throws {BeaverError} `no_daemon` if no projector answers, `not_found`, `invalid_arguments`
 */
export async function ask<Name extends QueryName>(
  { client, asOf }: Answers,
  name: Name,
  input: QueryInput<Name>,
): Promise<QueryOutput<Name>> {
  try {
    return await client.query(name, input)
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'not_found' && 'task_id' in input) {
      throw new BeaverError(
        'not_found',
        `There is no task ${JSON.stringify(input.task_id)}. "beaver tasks" lists the tasks.${newAppears('task', asOf)}`,
        {
          cause: error,
        },
      )
    }
    throw error
  }
}

/** A sentence for the reader of an empty answer: the read model of a running system is a moment behind it. */
export const newAppears = (what: string, asOf: number | undefined): string =>
  asOf === undefined ? ` A new ${what} appears after a moment.` : ''

const pageRows = 500

interface Page<Item> {
  readonly events: Item[]
  readonly more: boolean
  readonly next: number | null
}

/**
 * The items of all pages after `after`, up to `limit`. The next page is requested only when the caller needs
 * it.
 */
export async function* pages<Item>(
  askPage: (page: { after: number; limit: number }) => Promise<Page<Item>>,
  { limit = Infinity, after = 0 }: { readonly limit?: number | undefined; readonly after?: number },
): AsyncGenerator<Item[]> {
  let left = limit
  for (let place = after; left > 0;) {
    const answer = await askPage({ after: place, limit: Math.min(pageRows, left) })
    yield answer.events
    left -= answer.events.length
    if (!answer.more || answer.next === null) return
    place = answer.next
  }
}

// Answers the questions of a command from the read model of a home in which no system runs. A person first
// reads that no system runs, and how old the answers are. Questions that need the journal are refused:
// nothing is compared, so nothing is called verified. If the read model cannot be read, the error names its
// file and says what to do.

interface KeptAnswers extends Answers, Disposable {
  /** A sentence for a person: the source of the answers and their time. */
  readonly told: string
}

/**
 * Opens the read model of the home; `null` if the home has none, or if the home may be a stranger's.
 *
 * @throws {BeaverError} `unreachable` if the read model cannot be read, or if the user may not read the home
 */
function answersFromHome(
  { home, foreignHome, namespace, tenant }: Config,
  prices: () => PriceTable,
): KeptAnswers | null {
  if (foreignHome) return null
  const file = readModelFile(home, subjectsOf(namespace, { tenant }).fileName)
  mustRead([home, join(home, 'run'), file])
  const asOf = writtenMs(file)
  if (asOf === undefined) return null
  const snapshot = readable(file, () => openSnapshot(file))
  return {
    asOf,
    told:
      `${stateOf(home)} This is what it knew at ${moment(new Date(asOf).toISOString(), Date.now())}, from ${file}.` +
      (lockHolder(home) === null ? ` "${commandName()} up" starts it, and open tasks go on.` : ''),
    client: {
      async query<Name extends QueryName>(name: Name, input?: QueryInput<Name>): Promise<QueryOutput<Name>> {
        if (name === 'audit' && (input as QueryInput<'audit'>).verify === true)
          throw new BeaverError('no_daemon', 'Beaver does not run, so nothing reads the journal.')
        return readable(
          file,
          () => answer(snapshot.sql, name, input ?? {}, { prices: prices() }) as QueryOutput<Name>,
        )
      },
    },
    [Symbol.dispose]: () => snapshot[Symbol.dispose](),
  }
}

/**
 * Says whether a process holds the home. A process may hold it and answer no questions: a `beaver up` that
 * starts or stops, or a backup.
 */
function stateOf(home: string): string {
  const holder = lockHolder(home)
  return holder === null
    ? 'Beaver does not run here now.'
    : `Process ${holder.pid} holds this home, and Beaver does not answer yet.`
}

/**
 * The time of the last write to the read model, in milliseconds since 1970. An empty `-wal` file does not
 * count, because a reader makes one.
 */
function writtenMs(file: string): number | undefined {
  const written = [file, `${file}-wal`]
    .map((each) => statSync(each, { throwIfNoEntry: false }))
    .filter((each) => each !== undefined)
  return written[0] === undefined
    ? undefined
    : Math.max(...written.filter(({ size }) => size > 0).map(({ mtimeMs }) => mtimeMs), 0)
}

function readable<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'wrong_state')
      throw new BeaverError('unreachable', `Beaver does not run here now. ${error.message}`, { cause: error })
    if (error instanceof BeaverError && error.code !== 'invalid_configuration') throw error
    const why = `Beaver does not run here now, and its read model cannot be read: ${messageOf(error).replace(/\.$/, '')}.`
    throw new BeaverError(
      'unreachable',
      `${why} Start Beaver with "beaver up". If it still cannot be read, delete ${file}: Beaver builds it again.`,
      {
        cause: error,
      },
    )
  }
}
