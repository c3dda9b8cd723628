// What an operator did to the record of a task on purpose: texts that were removed, and files to which its
// log was archived.
import type { TaskAnswer } from '@beaver/contracts'
import type { Sql } from '../store/sql.ts'
import type { TaskRow } from '../store/schema.ts'

interface RedactionRow {
  readonly taskseq: number
  readonly type: string
  readonly time: string
  readonly data: string
}

const rowsMax = 100

export function redactionsOfTask(sql: Sql, taskKey: number): TaskAnswer['redactions'] {
  const rows = sql.all<RedactionRow>(
    `select taskseq, type, time, data from (
       select events.taskseq, made.type, made.time, made.data, made.sequence from system_events as made
         join events on events.blob_sha256 = json_extract(made.data, '$.sha256')
         where made.type = 'blob_redacted' and made.fault is null and made.untrusted is null and events.task_key = ?1
       union all
       select events.taskseq, made.type, made.time, made.data, made.sequence from system_events as made
         join events on events.hash = json_extract(made.data, '$.hash')
         where made.type = 'record_redacted' and made.fault is null and made.untrusted is null and events.task_key = ?1
     ) order by taskseq, sequence limit ?2`,
    [taskKey, rowsMax],
  )
  return rows.map(({ taskseq, type, time, data }) => {
    const { by = 'the operator', reason } = JSON.parse(data) as { by?: string; reason: string }
    return {
      taskseq,
      by,
      at: time,
      reason,
      bytes: type === 'blob_redacted' ? ('erased' as const) : ('in_journal' as const),
    }
  })
}

/**
 * Where the events are that the journal does not have any more. The result is empty if it has all of them.
 */
export function archiveOf(sql: Sql, taskKey: number): Pick<TaskAnswer, 'archive'> {
  const row = sql.one<Pick<TaskRow, 'tenant' | 'session_id' | 'task_id' | 'archived_events'>>(
    'select tenant, session_id, task_id, archived_events from tasks where task_key = ?',
    [taskKey],
  )
  const newest = row.archived_events > 0 ? archivesOfTask(sql, row).at(-1) : undefined
  return newest === undefined
    ? {}
    : { archive: { events: row.archived_events, file: newest.file, sha256: newest.sha256 } }
}

export function archivesOfTask(
  sql: Sql,
  { tenant, session_id, task_id }: Pick<TaskRow, 'tenant' | 'session_id' | 'task_id'>,
): TaskAnswer['archives'] {
  const rows = sql.all<{ time: string; data: string }>(
    `select time, data from system_events where type = 'task_archived' and fault is null and untrusted is null
       and json_extract(data, '$.task_id') = ?1 and json_extract(data, '$.session_id') = ?2 and json_extract(data, '$.tenant') = ?3
       order by sequence limit ?4`,
    [task_id, session_id, tenant, rowsMax],
  )
  return rows.map(({ time, data }) => {
    const {
      file,
      file_sha256: sha256,
      by,
      hash,
    } = JSON.parse(data) as { file: string; file_sha256: string; by: string; hash: string }
    return { file, sha256, by, at: time, hash }
  })
}
