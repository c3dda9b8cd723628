// The Journal port: the append-only authority, with one log per task. One contract suite tests its adapters
// natsJournal and memoryJournal. An append is stored as a whole or not at all, and only if the log has the
// expected revision: this is the fence. What `append` acknowledged survives the death of every process. An id
// names one task of a tenant, whatever its session: of two acceptances with the same id, one is stored.
import type { LogId, SessionId, TaskId } from '../ids.ts'
import type { LogHead } from './record.ts'

/** One message of a log: a batch of records. */
export interface Entry {
  /** The revision rises from entry to entry. */
  readonly revision: number
  readonly payload: Uint8Array
  /**
   * When the journal stored the entry, in milliseconds since 1970, by the journal's own clock. All daemons
   * see the same clock.
   */
  readonly timeMs: number
  /** The signature of who wrote the entry, as text (signature.ts); absent if the entry has none. */
  readonly signature?: string | undefined
}

/** An entry as a judge of signatures sees it. */
export interface SignedEntry extends Pick<Entry, 'revision' | 'signature'> {
  /** The hash of the entry's last record, as its reader parsed it; `null` if the entry has no record. */
  readonly lastHash: string | null
}

/** A write to a log that exists. */
export interface Append {
  readonly log: LogId
  /** The revision of the log's last entry; 0 if the log has only its first entry. */
  readonly expectedRevision: number
  /** One payload for each entry, in order. Most appends have one. */
  readonly payloads: readonly Uint8Array[]
}

/** The outcome of an append. */
export type AppendOutcome =
  /** The entries are durable. `revision` is that of the last one; the next append expects it. */
  | { readonly kind: 'appended'; readonly revision: number }
  /** Another writer was faster. Nothing was stored. */
  | { readonly kind: 'fenced' }

/** The newest task of a session. A session without tasks has `revision` 0 and `task` `null`. */
export interface SessionTail {
  readonly task: TaskId | null
  readonly revision: number
}

/** The first entries of a log, and of logs that follow it in the same session. */
export interface Acceptance {
  readonly log: LogId
  /** One payload for each entry, in order. Most acceptances have one. */
  readonly payloads: readonly Uint8Array[]
  /** The tail of the session that the first entry names. */
  readonly tail: SessionTail
  /**
   * Tasks that are accepted behind this one in the session, in order, together with it or not at all.
   * `payload` is the first entry of each. Default: none. Requires that the session has a task already, and
   * one payload.
   */
  readonly followers?: readonly { readonly log: LogId; readonly payload: Uint8Array }[]
}

/** The outcome of an acceptance. */
export type AcceptOutcome =
  /**
   * The tasks are accepted. `acceptedRevision`: the revision of the first entry of `log`; `signature`: its
   * signature. `revision`: what the next append to `log` expects. `lastRevision`: that of the last entry that
   * was stored.
   */
  | {
      readonly kind: 'accepted'
      readonly acceptedRevision: number
      readonly revision: number
      readonly lastRevision: number
      readonly signature?: string | undefined
    }
  /** A task has this id already. `by` is its log, which may be in another session. */
  | { readonly kind: 'id_taken'; readonly by: LogId }
  /**
   * Another task of the session was accepted in between, or the id of a follower is taken. Nothing was
   * stored. Read the tail again.
   */
  | { readonly kind: 'tail_moved' }

/** Messages of one log, one after the other, that are in an archive. */
export interface ArchivedGap {
  readonly log: LogId
  /** The last record before them. */
  readonly after: Pick<LogHead, 'taskseq' | 'hash'>
  /** The head of the log after them. */
  readonly end: LogHead
  /** How many messages they are. */
  readonly messages: number
  /** The file that has them, and its SHA-256. */
  readonly file: string
  readonly sha256: string
}

/** The messages of a journal that are in an archive. */
export interface ArchivedGaps {
  /** The archived messages of a log, in the order of the log. */
  gapsOf(log: LogId): readonly ArchivedGap[]
  /** Whether the message with this place in the stream is archived. */
  has(sequence: number): boolean
}

/**
 * The journal of all tasks.
 *
 * @example
 * const outcome = await journal.append({ log, expectedRevision: 1, payloads: [new Uint8Array()] })
 * outcome.kind // => 'fenced'
 */
export interface Journal {
  /**
   * Resolves when all entries are durable.
   *
   * @throws {BeaverError} `unreachable`; `too_large` if the server takes no entries of this size now
   */
  append(append: Append): Promise<AppendOutcome>
  /**
   * Starts a task's log. When it resolves, the task is at the end of its session and of the queue.
   *
   * @throws {BeaverError} the codes of `append`
   */
  accept(acceptance: Acceptance): Promise<AcceptOutcome>
  /** Finds the log of a task by its id alone; `null` if there is none. The answer is never stale. */
  find(tenant: string, task: string): Promise<LogId | null>
  /** The newest task of a session. The answer is never stale. */
  sessionTail(tenant: string, session: SessionId): Promise<SessionTail>
  /**
   * The task that was accepted next in the same session; `null` if there is none. The answer is never stale.
   *
   * @param acceptedRevision the revision of the first entry of `log`
   */
  next(log: LogId, acceptedRevision: number): Promise<TaskId | null>
  /** The first entry of the log; `null` if the log is empty. The answer is never stale. */
  first(log: LogId): Promise<Entry | null>
  /** The last entry of the log; `null` if the log is empty. The answer is never stale. */
  last(log: LogId): Promise<Entry | null>
  /**
   * The entries of the log, in order. The answer may be stale: the last entries may be missing, but none
   * between others.
   */
  read(log: LogId): Promise<Entry[]>
  /**
   * Why the signature of an entry does not count, in words; `null` if a daemon that the operator trusts
   * signed the entry at this place. A journal whose entries are not signed at all always gives `null`.
   *
   * @throws {BeaverError} `unreachable` if the keys cannot be read
   */
  signatureFault(log: LogId, entry: SignedEntry): Promise<string | null>
  /**
   * What was moved from this journal to archives, as an operator signed it.
   *
   * @throws {BeaverError} `unreachable` if the system log or the keys cannot be read
   */
  archived(): Promise<ArchivedGaps>
  /** The time by the journal's clock, as far as this process knows it, in milliseconds since 1970. */
  now(): number
  /** The largest payload of one entry, in bytes. It may change while the process runs. */
  readonly entryBytesMax: number
}

/**
 * The revision that the next append to a log expects, from the entries of the log.
 *
 * @example
 * revisionAfter([]) // => 0
 * const entries = await journal.read(log)
 * revisionAfter(entries) === entries.at(-1)?.revision // => true
 */
export function revisionAfter(entries: readonly Entry[]): number {
  return entries.length > 1 ? (entries.at(-1) as Entry).revision : 0
}
