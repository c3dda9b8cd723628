// What a query is: an input that is validated, and a pure function of the read model to plain JSON with snake_case keys.
import type { JsonValue } from '@beaver/core'
import { z } from 'zod'
import type { Sql } from './sql.ts'

export interface Query<Input extends z.ZodType = z.ZodType> {
  readonly input: Input
  run(sql: Sql, input: z.output<Input>): JsonValue
}

export function query<Input extends z.ZodType>(input: Input, run: (sql: Sql, input: z.output<Input>) => JsonValue): Query<Input> {
  return { input, run }
}

/** How many rows; a page may hold fewer and still have `more`. */
export const limitOf = (limits: { usual: number; max: number }): z.ZodDefault<z.ZodInt> => z.int().min(1).max(limits.max).default(limits.usual)

/** A place in a list: the `next` of the page before. */
export const cursor = z.int().nonnegative()
