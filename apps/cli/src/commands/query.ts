// Asks the projector for one answer, or for the pages of a long one.
import type { QueryInput, QueryName, QueryOutput } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import { connect } from '../connection.ts'
import { type Context, contextOf, type GlobalOptions } from '../context.ts'
import { type Answers, answersFromFile } from '../system/answers-from-file.ts'
import { answersFromHome } from '../system/answers-from-home.ts'
import { findSystem, lookForSystem } from '../system/find-system.ts'
import { warnOfChangedRows } from '../view/changed-rows.ts'

/**
 * Runs a command that asks about a task and prints the answer.
 *
 * @param from an export that answers in place of the projector
 * @param compares whether the command compares what it shows with the journal. Default: it shows rows
 */
export async function askingAbout(
  globals: GlobalOptions,
  from: string | undefined,
  show: (context: Context, answers: Answers) => Promise<void>,
  { compares = false }: { readonly compares?: boolean } = {},
): Promise<number> {
  if (from === undefined) return await asking(globals, show, { compares })
  await using answers = await answersFromFile(from)
  await show(contextOf(globals), answers)
  return 0
}

/**
 * Runs a command that asks the projector and prints the answer, and says what is known against the rows that
 * it showed. If nothing runs in the home, its read model answers.
 */
export async function asking(
  globals: GlobalOptions,
  show: (context: Context, answers: Answers) => Promise<void>,
  { compares = false }: { readonly compares?: boolean } = {},
): Promise<number> {
  const context = contextOf(globals)
  const { config, screen } = context
  const kept = lookForSystem(config) === null ? answersFromHome(config) : null
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

/** @throws {BeaverError} `no_daemon` if no projector runs, `not_found`, `invalid_arguments` */
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

/** The read model is a moment behind what runs. */
export const newAppears = (what: string, asOf: number | undefined): string =>
  asOf === undefined ? ` A new ${what} appears after a moment.` : ''

const pageRows = 500

interface Page<Item> {
  readonly events: Item[]
  readonly more: boolean
  readonly next: number | null
}

/**
 * The items of all pages after `after`, up to `limit`. It requests the next page when the caller needs it.
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
