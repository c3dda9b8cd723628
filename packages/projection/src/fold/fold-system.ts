// Stores the entries of system logs, which change no row of a task. A record with a fault is stored with it,
// and the log continues from the record before. A record whose signature does not count is stored with the
// reason and stays in the chain, because writers continue after it. Readers of the log `keys` judge it. The
// content of an entry never stops the projector.
import { messageOf, type SystemLogName } from '@beaver/core'
import {
  emptyHead,
  type LogHead,
  splitBatch,
  systemEventTypeOf,
  systemFault,
  type WireRecord,
} from '@beaver/core/journal'
import { tables } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import { insert } from '../store/table.ts'
import type { StoredKeys } from './stored-keys.ts'

/** One message of a system log. */
export interface SystemMessage {
  /** Its place in the stream. */
  readonly sequence: number
  readonly name: SystemLogName
  readonly payload: Uint8Array
  readonly signature?: string | undefined
}

/**
 * Returns the number of records.
 *
 * @param keys judges signatures. `null`: they are not judged
 */
export function storeSystemMessage(
  sql: Sql,
  { sequence, name, payload, signature }: SystemMessage,
  keys: StoredKeys | null = null,
): number {
  let records: WireRecord[]
  try {
    records = splitBatch(payload)
  } catch (error) {
    insert(sql, tables.system_events, {
      name,
      sequence,
      record_index: 0,
      type: 'unreadable',
      hash: '',
      taskseq: 0,
      epoch: 0,
      source: '',
      time: '',
      fault: messageOf(error),
      signature,
    })
    return 0
  }
  for (const [index, record] of records.entries()) {
    const { taskseq, epoch, source, time, hash } = record
    const type = systemEventTypeOf(record) ?? record.type
    const fault = systemFault(name, headOf(sql, name), record)
    const untrusted =
      name === 'keys' || keys === null
        ? null
        : keys.ring.recordFault(name, { signature, revision: sequence, lastHash: hash })
    insert(sql, tables.system_events, {
      name,
      sequence,
      record_index: index,
      type,
      data: dataOf(record),
      hash,
      taskseq,
      epoch,
      source,
      time,
      fault,
      signature,
      untrusted,
    })
  }
  if (name === 'keys') keys?.forget()
  return records.length
}

function headOf(sql: Sql, name: SystemLogName): LogHead {
  const text =
    'select taskseq, epoch, hash from system_events where name = ? and fault is null order by sequence desc, record_index desc limit 1'
  return sql.get<LogHead>(text, [name]) ?? emptyHead
}

function dataOf(record: WireRecord): string | null {
  try {
    return record.data === undefined ? null : JSON.stringify(record.data)
  } catch {
    return null // It is nested too deeply. The fault of the record says so.
  }
}
