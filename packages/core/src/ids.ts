// Ids. Their types are branded, so that an id of one kind cannot be passed for another. An id is parsed once,
// at the boundary.
import { z } from 'zod'

declare const brand: unique symbol
type Brand<T, B extends string> = T & { readonly [brand]: B }

/** The id of a task, unique in its tenant. */
export type TaskId = Brand<string, 'TaskId'>
/** The id of a session. */
export type SessionId = Brand<string, 'SessionId'>
/** The id of a run of one AgentLoop. */
export type RunId = Brand<string, 'RunId'>
/** The id of a team run. */
export type TeamRunId = Brand<string, 'TeamRunId'>

/**
 * An id that a client may choose: 1 to 128 characters, without control characters and without spaces at its
 * ends. All other characters are allowed (`web:test`, 会话).
 */
export const foreignId = z
  .string()
  .min(1, 'must not be empty')
  .max(128, 'must have at most 128 characters')
  .refine((id) => !/\p{Cc}|\p{Cs}/u.test(id), 'must not contain control characters')
  .refine((id) => id === id.trim(), 'must not begin or end with a space')

/** Parses the id of a task: {@link foreignId}. */
export const taskId = foreignId as unknown as z.ZodType<TaskId, string>
/** Parses the id of a session. */
export const sessionId = foreignId as unknown as z.ZodType<SessionId, string>
/** Parses the id of a run. */
export const runId = foreignId as unknown as z.ZodType<RunId, string>
/** Parses the id of a team run. */
export const teamRunId = foreignId as unknown as z.ZodType<TeamRunId, string>

/** The place of a task's log. Each task has one log. */
export interface LogId {
  readonly tenant: string
  readonly session: SessionId
  readonly task: TaskId
}

/**
 * A text that is different for each log. Use it as the key of a map.
 *
 * @example
 * logKey(log) === logKey({ ...log }) // => true
 */
export const logKey = (log: LogId): string => `${log.tenant}\u0000${log.session}\u0000${log.task}`
