// `audit`: whether the record is intact. It gives the findings, and the head of each log to compare with the
// journal's own.
import type { QueryOutput } from '@beaver/contracts'
import { findTask } from './find-task.ts'
import { type OfUser, ofUser } from './of-user.ts'
import { type Page, page } from './page.ts'
import type { Query } from './query.ts'
import type { TaskRow } from '../store/schema.ts'
import type { Sql, SqlValue } from '../store/sql.ts'
import { clip } from '@beaver/core/task-view'

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

type HeadRow = Pick<
  TaskRow,
  | 'task_key'
  | 'tenant'
  | 'session_id'
  | 'task_id'
  | 'status'
  | 'last_taskseq'
  | 'epoch'
  | 'head_hash'
  | 'chain_ok'
>

type Finding = QueryOutput<'audit'>['findings'][number]
type Head = QueryOutput<'audit'>['heads'][number]

/**
 * Findings after `after`, oldest first; heads before `before`, newest task first. Without `task_id`, of all
 * tasks.
 */
export const audit: Query<'audit'> = (sql, input, { following, verified }) => {
  const taskKey =
    input.task_id === undefined ? null : findTask(sql, { ...input, task_id: input.task_id }).task_key
  const scope = {
    taskKey,
    tenant: input.tenant ?? null,
    session: input.session_id ?? null,
    user: input.user_id,
    limit: input.limit,
  }
  const findings = findingsOf(sql, { ...scope, after: input.after })
  const heads = headsOf(sql, { ...scope, before: input.before ?? null })
  const isOfUser = input.user_id !== undefined
  // A finding about rows names a task, perhaps of another user. The comparison says so for the tasks of the user.
  const journal = (following?.journal ?? []).filter(({ kind }) => !(isOfUser && kind === 'rows_differ'))
  const recorded =
    countOf(sql, 'audit_findings join tasks using (task_key)', scope) === 0 &&
    (taskKey !== null || isOfUser || !hasQuarantined(sql))
  return {
    intact: recorded && journal.length === 0 && (verified?.differs ?? []).length === 0,
    tasks_broken: countOf(sql, 'tasks', scope, 'chain_ok = 0'),
    journal,
    verified,
    findings: findings.items,
    more_findings: findings.more,
    next_finding: findings.next,
    heads: heads.items,
    more_heads: heads.more,
    next_head: heads.next,
  }
}

/**
 * Whether there are messages that are no records. None belongs to a certain task or user, so they count for
 * every question that is not about one task or one user.
 */
const hasQuarantined = (sql: Sql): boolean => sql.get('select 1 from quarantine limit 1') !== undefined

interface Scope {
  readonly taskKey: number | null
  readonly tenant?: string | null
  readonly session?: string | null
  readonly user?: OfUser
  readonly limit: number
}

/**
 * Contains only the conditions that are set, so that an index answers: `?1 is null or …` would read every
 * row.
 */
function inScope({ taskKey, tenant = null, session = null, user }: Omit<Scope, 'limit'>): {
  readonly where: string
  readonly values: SqlValue[]
} {
  const wanted = [
    ['task_key = ?', taskKey],
    ['tenant = ?', tenant],
    ['session_id = ?', session],
  ] as const
  const conditions = wanted.filter(([, value]) => value !== null)
  const [ofThisUser, userValues] = ofUser(user)
  return {
    where: `${['true', ...conditions.map(([condition]) => condition)].join(' and ')} ${ofThisUser}`,
    values: [...conditions.map(([, value]) => value), ...userValues],
  }
}

function countOf(sql: Sql, from: string, scope: Scope, condition = 'true'): number {
  const { where, values } = inScope(scope)
  return sql.one<{ n: number }>(`select count(*) as n from ${from} where ${where} and ${condition}`, values).n
}

export function findingsOf(sql: Sql, wanted: Scope & { after: number }): Page<Finding> {
  const { where, values } = inScope(wanted)
  const rows = sql.each<FindingRow>(
    `select audit_findings.*, tenant, session_id, task_id from audit_findings join tasks using (task_key)
     where ${where} and finding_id > ? order by finding_id limit ?`,
    [...values, wanted.after, wanted.limit + 1],
  )
  return page(rows, wanted.limit, { item: findingView, cursor: (row) => row.finding_id })
}

function findingView(row: FindingRow): Finding {
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

function headsOf(sql: Sql, wanted: Scope & { before: number | null }): Page<Head> {
  const { where, values } = inScope(wanted)
  const rows = sql.each<HeadRow>(
    `select task_key, tenant, session_id, task_id, status, last_taskseq, epoch, head_hash, chain_ok from tasks
     where ${where} ${wanted.before === null ? '' : 'and task_key < ?'} order by task_key desc limit ?`,
    [...values, ...(wanted.before === null ? [] : [wanted.before]), wanted.limit + 1],
  )
  const item = (row: HeadRow): Head => ({
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
