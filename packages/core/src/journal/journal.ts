// The Journal port: the append-only authority, one log per task. Adapters: natsJournal, memoryJournal; one contract suite.
// J1. An append lands whole, however many entries it has, after everything before it, or not at all. J2. It lands only if the log's
//     revision is the expected one: that is the fence. J3. What `append` acknowledged survives the death of every process.
// J4. The first entry of a log is the task's acceptance: it is the task's place in its session and in the queue at once.
// J5. An id names one task of a tenant, whatever its session: of two acceptances of one id, one lands.
import type { LogId, SessionId, TaskId } from '../ids.ts'

/** One message of a log: a batch of records. */
export interface Entry {
  /** Rises from entry to entry. */
  readonly revision: number
  readonly payload: Uint8Array
  /** When the journal stored it, in milliseconds since 1970, by the journal's own clock: one clock for all daemons. */
  readonly timeMs: number
}

export interface Append {
  readonly log: LogId
  /** The revision of the log's last entry; 0 when the log has none behind its first. */
  readonly expectedRevision: number
  /** One entry each, in order; mostly one. */
  readonly payloads: readonly Uint8Array[]
}

export type AppendOutcome =
  /** With the revision of its last entry: what the next append expects. */
  | { readonly kind: 'appended'; readonly revision: number }
  /** Somebody else wrote since: nothing was stored. */
  | { readonly kind: 'fenced' }

/** The newest task of a session. `revision` 0 and `task` null: none yet. */
export interface SessionTail {
  readonly task: TaskId | null
  readonly revision: number
}

/** The first entries of a log. */
export interface Acceptance {
  readonly log: LogId
  /** One entry each, in order; mostly one. */
  readonly payloads: readonly Uint8Array[]
  /** The session as the first entry tells it. */
  readonly tail: SessionTail
}

export type AcceptOutcome =
  /** `acceptedRevision`: of the first entry. `revision`: what the next append expects. */
  | { readonly kind: 'accepted'; readonly acceptedRevision: number; readonly revision: number }
  /** The id is taken, by the task with this log: it may be in another session. */
  | { readonly kind: 'id_taken'; readonly by: LogId }
  /** Another task of the session was accepted in between: read the tail again. */
  | { readonly kind: 'tail_moved' }

export interface Journal {
  /** Resolves when all of it is durable. @throws {BeaverError} `unreachable`, `too_large` when it can never be stored */
  append(append: Append): Promise<AppendOutcome>
  /** Starts a task's log: the task is at the end of its session and of the queue when this resolves. @throws {BeaverError} as `append` */
  accept(acceptance: Acceptance): Promise<AcceptOutcome>
  /** Where the log of a task is, by its id alone; `null` when there is none. Never stale. */
  find(tenant: string, task: string): Promise<LogId | null>
  sessionTail(tenant: string, session: SessionId): Promise<SessionTail>
  /** The task that was accepted next in the same session; `null` when there is none. @param acceptedRevision of this one's first entry */
  next(log: LogId, acceptedRevision: number): Promise<TaskId | null>
  /** The log's first entry, `null` when it is empty. */
  first(log: LogId): Promise<Entry | null>
  /** The log's last entry, `null` when it is empty. Never stale. */
  last(log: LogId): Promise<Entry | null>
  /** The whole log in order. */
  read(log: LogId): Promise<Entry[]>
  /** The time by the journal's clock, as far as this process knows it, in milliseconds since 1970. */
  now(): number
  /** What one entry may hold, in bytes. It may change while the process runs. */
  readonly entryBytesMax: number
}

/** What the next append to a log expects, from its entries. */
export function revisionAfter(entries: readonly Entry[]): number {
  return entries.length > 1 ? (entries.at(-1) as Entry).revision : 0
}
