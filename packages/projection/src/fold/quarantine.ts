// Messages of the journal that are no records: who published them is not known, and no log contains them.
// They are kept to be looked at. A message has one row, whatever it contains. The row says why, how large the
// message is, its SHA-256 and how it begins. A row is small. After `excerptsMax` rows the beginnings are left
// out, so that a flood of messages fills no disk.
import { hash } from 'node:crypto'
import type { LogId } from '@beaver/core'
import type { Sql } from '../store/sql.ts'

const excerptBytesMax = 2_048
const excerptsMax = 10_000

export interface QuarantinedMessage {
  readonly sequence: number
  /** The log under whose subject it was published; `null` if the subject is none of Beaver's. */
  readonly log: LogId | null
  readonly subject: string | null
  readonly payload: Uint8Array
  readonly reason: string
}

export function quarantine(sql: Sql, { sequence, log, subject, payload, reason }: QuarantinedMessage): void {
  const { n } = sql.one<{ n: number }>('select count(*) as n from (select 1 from quarantine limit ?)', [
    excerptsMax,
  ])
  const excerpt = n < excerptsMax ? Buffer.from(payload.subarray(0, excerptBytesMax)).toString() : ''
  sql.run(
    'insert into quarantine (sequence, tenant, session_id, task_id, subject, reason, bytes, sha256, excerpt) values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    [
      sequence,
      log?.tenant ?? null,
      log?.session ?? null,
      log?.task ?? null,
      subject,
      reason,
      payload.byteLength,
      hash('sha256', payload),
      excerpt,
    ],
  )
}
