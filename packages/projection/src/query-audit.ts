// `audit`: is the record intact? What the audit found, and the head of each log, to be compared with the journal's own.
// `status`: where the projector stands, and how many tasks there are.
import type { JsonObject, JsonValue } from '@beaver/core'
import { z } from 'zod'
import { findTask, taskName } from './find-task.ts'
import { type Page, page } from './page.ts'
import { cursor, limitOf, query } from './query.ts'
import { schemaVersion } from './schema.ts'
import type { Sql, SqlValue } from './sql.ts'
import { clip } from './text.ts'

interface FindingRow {
  readonly finding_id: number
  readonly tenant: string
  readonly session_id: string
  readonly task_id: string
  readonly taskseq: number | null
  readonly kind: string
  readonly message: string
  readonly sequence: number
  readonly record: string | null
}

interface HeadRow {
  readonly task_key: number
  readonly tenant: string
  readonly session_id: string
  readonly task_id: string
  readonly status: string
  readonly last_taskseq: number
  readonly epoch: number
  readonly head_hash: string
  readonly chain_ok: number
}

/** Findings, oldest first, after `after`; heads, newest task first, before `before`. Without `task`, of all tasks. */
export const audit = query(
  z.strictObject({
    ...taskName,
    task: taskName.task.optional(),
    after: cursor.default(0),
    before: cursor.optional(),
    limit: limitOf({ usual: 100, max: 500 }),
  }),
  (sql, input) => {
    const taskKey = input.task === undefined ? null : findTask(sql, { ...input, task: input.task }).task_key
    const scope = { taskKey, tenant: input.tenant ?? null, session: input.session ?? null, limit: input.limit }
    const findings = findingsOf(sql, { ...scope, after: input.after })
    const heads = headsOf(sql, { ...scope, before: input.before ?? null })
    return {
      intact: countOf(sql, 'audit_findings join tasks using (task_key)', scope) === 0,
      tasks_broken: countOf(sql, 'tasks', scope, 'chain_ok = 0'),
      findings: findings.items,
      more_findings: findings.more,
      next_finding: findings.next,
      heads: heads.items,
      more_heads: heads.more,
      next_head: heads.next,
    }
  },
)

interface Scope {
  readonly taskKey: number | null
  readonly tenant?: string | null
  readonly session?: string | null
  readonly limit: number
}

const inScope = '(?1 is null or task_key = ?1) and (?2 is null or tenant = ?2) and (?3 is null or session_id = ?3)'
const valuesOf = (scope: Scope): SqlValue[] => [scope.taskKey, scope.tenant ?? null, scope.session ?? null]

function countOf(sql: Sql, from: string, scope: Scope, condition = 'true'): number {
  return sql.one<{ n: number }>(`select count(*) as n from ${from} where ${inScope} and ${condition}`, [...valuesOf(scope)]).n
}

export function findingsOf(sql: Sql, wanted: Scope & { after: number }): Page<JsonValue> {
  const rows = sql.each<FindingRow>(
    `select audit_findings.*, tenant, session_id, task_id from audit_findings join tasks using (task_key)
     where ${inScope} and finding_id > ?4 order by finding_id limit ?5`,
    [...valuesOf(wanted), wanted.after, wanted.limit + 1],
  )
  return page(rows, wanted.limit, { item: findingView, cursor: (row) => row.finding_id })
}

function findingView(row: FindingRow): JsonObject {
  return {
    finding_id: row.finding_id,
    task_id: row.task_id,
    session_id: row.session_id,
    tenant: row.tenant,
    taskseq: row.taskseq,
    kind: row.kind,
    message: clip(row.message, 1000),
    sequence: row.sequence,
    record: row.record === null ? null : clip(row.record, 500),
  }
}

function headsOf(sql: Sql, wanted: Scope & { before: number | null }): Page<JsonValue> {
  const rows = sql.each<HeadRow>(
    `select task_key, tenant, session_id, task_id, status, last_taskseq, epoch, head_hash, chain_ok from tasks
     where ${inScope} and (?4 is null or task_key < ?4) order by task_key desc limit ?5`,
    [...valuesOf(wanted), wanted.before, wanted.limit + 1],
  )
  const item = (row: HeadRow): JsonValue => ({
    task_id: row.task_id,
    session_id: row.session_id,
    tenant: row.tenant,
    status: row.status,
    last_taskseq: row.last_taskseq,
    epoch: row.epoch,
    hash: row.head_hash,
    chain_ok: row.chain_ok === 1,
  })
  return page(rows, wanted.limit, { item, cursor: (row) => row.task_key })
}

export const status = query(z.strictObject({}), (sql) => {
  const at = sql.get<{ stream: string; sequence: number; events: number }>('select stream, sequence, events from checkpoint')
  const byStatus = sql.all<{ status: string; n: number }>('select status, count(*) as n from tasks group by status order by status')
  return {
    stream: at?.stream ?? null,
    sequence: at?.sequence ?? 0,
    events: at?.events ?? 0,
    tasks: byStatus.reduce((sum, each) => sum + each.n, 0),
    by_status: Object.fromEntries(byStatus.map((each) => [each.status, each.n])),
    findings: sql.one<{ n: number }>('select count(*) as n from audit_findings').n,
    tasks_broken: sql.one<{ n: number }>('select count(*) as n from tasks where chain_ok = 0').n,
    schema_version: schemaVersion,
  }
})
