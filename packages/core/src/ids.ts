// The names of things. Brands keep one kind of id from being passed for another; parsing happens once, at the boundary.
import { z } from 'zod'

declare const brand: unique symbol
type Brand<T, B extends string> = T & { readonly [brand]: B }

export type TaskId = Brand<string, 'TaskId'>
export type SessionId = Brand<string, 'SessionId'>
export type RunId = Brand<string, 'RunId'>
export type TeamRunId = Brand<string, 'TeamRunId'>

/** A foreign id: 1 to 128 characters, no control characters, no surrounding space. Anything else is allowed (`web:test`, 会话). */
export const foreignId = z
  .string()
  .min(1, 'must not be empty')
  .max(128, 'must have at most 128 characters')
  .refine((id) => !/\p{Cc}|\p{Cs}/u.test(id), 'must not hold control characters')
  .refine((id) => id === id.trim(), 'must not begin or end with a space')

export const taskId = foreignId as unknown as z.ZodType<TaskId, string>
export const sessionId = foreignId as unknown as z.ZodType<SessionId, string>
export const runId = foreignId as unknown as z.ZodType<RunId, string>
export const teamRunId = foreignId as unknown as z.ZodType<TeamRunId, string>

/** Where a task's log is. One log per task. */
export interface LogId {
  readonly tenant: string
  readonly session: SessionId
  readonly task: TaskId
}

export const logKey = (log: LogId): string => `${log.tenant}\u0000${log.session}\u0000${log.task}`
