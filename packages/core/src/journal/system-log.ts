// The SystemLog port: the logs of the system, which readers of tasks do not see. One contract suite tests its
// adapters natsSystemLog and memorySystemLog. The fence and the durability are those of the Journal;
// system-record.ts defines what an entry contains.
import type { SystemLogName } from '../events/system-catalog.ts'
import type { AppendOutcome, Entry } from './journal.ts'

/** A write to a system log. */
export interface SystemAppend {
  readonly name: SystemLogName
  /** The revision of the log's last entry; 0 if the log is empty. */
  readonly expectedRevision: number
  readonly payload: Uint8Array
  /** The signature of the payload's last record. */
  readonly signature?: string | undefined
}

/**
 * The logs of the system.
 *
 * @example
 * const outcome = await systemLog.append({ name: 'keys', expectedRevision: 0, payload: new Uint8Array() })
 * outcome.kind // => 'appended'
 */
export interface SystemLog {
  /**
   * Resolves when the entry is durable.
   *
   * @throws {BeaverError} `unreachable`; `too_large` if the entry can never be stored
   */
  append(append: SystemAppend): Promise<AppendOutcome>
  /** All entries of a log, in order. The answer is never stale. */
  read(name: SystemLogName): Promise<Entry[]>
  /** The last entry of a log; `null` if the log is empty. The answer is never stale. */
  last(name: SystemLogName): Promise<Entry | null>
}
