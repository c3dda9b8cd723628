// What a query is: an input that is validated, and a pure function of the read model to plain JSON with snake_case keys.
import type { JsonValue } from '@beaver/core'
import { z } from 'zod'
import type { Sql } from './sql.ts'

/** What the process that follows the journal knows beside its rows. */
export interface Following {
  /** Where the journal ends; `null` when it could not be asked. */
  readonly streamSequence: number | null
  /** When messages were last applied, and since when some wait; RFC 3339. */
  readonly movedAt: string | null
  readonly behindSince: string | null
  /** Why it does not go on; `null` while it does. */
  readonly fault: { readonly code: string; readonly message: string; readonly since: string } | null
}

/** What a query may ask beside the read model. */
export interface Around {
  /** Milliseconds since 1970. */
  now(): number
  /** `null`: nobody follows a journal here. */
  readonly following: Following | null
}

export interface Query<Input extends z.ZodType = z.ZodType> {
  readonly input: Input
  run(sql: Sql, input: z.output<Input>, around: Around): JsonValue
}

export function query<Input extends z.ZodType>(input: Input, run: (sql: Sql, input: z.output<Input>, around: Around) => JsonValue): Query<Input> {
  return { input, run }
}

/** How many rows; a page may hold fewer and still have `more`. */
export const limitOf = (limits: { usual: number; max: number }): z.ZodDefault<z.ZodInt> => z.int().min(1).max(limits.max).default(limits.usual)

/** A place in a list: the `next` of the page before. */
export const cursor = z.int().nonnegative()
