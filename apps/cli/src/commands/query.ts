// Asking the projector: one answer, or the pages of a long one.
import { BeaverError } from '@beaver/core'
import type { Paged } from '../answers.ts'
import { type Connection, connect } from '../connection.ts'
import { type Context, contextOf, type GlobalOptions } from '../context.ts'
import { findSystem } from '../system/find-system.ts'

/** A command that asks the projector and prints what it said. */
export async function asking(globals: GlobalOptions, show: (context: Context, connection: Connection) => Promise<void>): Promise<number> {
  const context = contextOf(globals)
  await using connection = await connect(findSystem(context.config))
  await show(context, connection)
  return 0
}

/** @throws {BeaverError} `no_daemon` when no projector runs, `not_found`, `invalid_arguments` */
export async function ask<Answer>({ client }: Connection, name: string, input: Record<string, unknown>): Promise<Answer> {
  try {
    return (await client.query(name, input)) as Answer
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'not_found') {
      throw new BeaverError(
        'not_found',
        `There is no task ${JSON.stringify(input['task'])}. "beaver tasks" lists those there are; a task submitted just now takes a moment to appear.`,
        { cause: error },
      )
    }
    throw error
  }
}

const pageRows = 500

/** The items of all pages, up to `limit`. Asks for the next page when it is wanted. */
export async function* pages<Item>(connection: Connection, name: string, input: Record<string, unknown>, limit = Infinity): AsyncGenerator<Item[]> {
  let left = limit
  for (let after = 0; left > 0;) {
    const answer = await ask<Paged & { events: Item[] }>(connection, name, { ...input, after, limit: Math.min(pageRows, left) })
    yield answer.events
    left -= answer.events.length
    if (!answer.more || answer.next === null) return
    after = answer.next
  }
}
