// The Journal port: the append-only authority, one log per task. Adapters: natsJournal, memoryJournal; one contract suite.
// J1. An append lands whole, however many entries it has, after everything before it, or not at all. J2. It lands only if the log's revision is the
//     expected one: that is the fence. J3. What `append` acknowledged survives the death of every process.
// J4. Accepting a task writes its first entry and the session's order in one step, so that neither is without the other.
import type { LogId, SessionId, TaskId } from '../ids.ts'

/** One message of a log: a batch of records. `revision` rises within the log; 0 is the empty log's. */
export interface Entry {
  readonly revision: number
  readonly payload: Uint8Array
}

export interface Append {
  readonly log: LogId
  /** The revision of the log's last entry; 0 for an empty log. */
  readonly expectedRevision: number
  /** One entry each, in order; mostly one. */
  readonly payloads: readonly Uint8Array[]
}

export type AppendOutcome =
  /** With the revision of its last entry. */
  | { readonly kind: 'appended'; readonly revision: number }
  /** Somebody else wrote since: nothing was stored. */
  | { readonly kind: 'fenced' }

/** The newest task of a session. `revision` 0 and `task` null: none yet. */
export interface SessionTail {
  readonly task: TaskId | null
  readonly revision: number
}

export type AcceptOutcome =
  | { readonly kind: 'accepted'; readonly revision: number }
  /** The log exists already. */
  | { readonly kind: 'task_exists' }
  /** Another task of the session was accepted in between: read the tail again. */
  | { readonly kind: 'tail_moved' }

export interface Journal {
  /** Resolves when all of it is durable. Rejects only when the journal cannot be reached. */
  append(append: Append): Promise<AppendOutcome>
  /** Starts a task's log and puts the task at the end of its session and of the work queue, in one step. */
  accept(first: Append, tail: SessionTail): Promise<AcceptOutcome>
  sessionTail(tenant: string, session: SessionId): Promise<SessionTail>
  /** The log's first entry, `null` when it is empty. */
  first(log: LogId): Promise<Entry | null>
  /** The log's last entry, `null` when it is empty. Never stale. */
  last(log: LogId): Promise<Entry | null>
  /** The whole log in order. */
  read(log: LogId): Promise<Entry[]>
}
