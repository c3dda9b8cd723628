// Verifies rows again: builds the rows of tasks anew from the entries that the journal has now, and compares
// them with the rows of the read model. So a claim about a task is checked when it is made: an entry that was
// changed, an entry that is gone and a row that somebody edited all show. It changes nothing in the read
// model. A task that is written meanwhile is not judged: `moved`.
import { canonicalJson, type LogId } from '@beaver/core'
import type { KeyRing, ReadBlob, ReplacedData } from '@beaver/core/journal'
import { clip } from '@beaver/core/task-view'
import type { Archives } from './fold/archives.ts'
import type { JournalMessage } from './fold/intake.ts'
import { findTask, type TaskName } from './queries/find-task.ts'
import { openReadModel } from './read-model.ts'
import { tableNames } from './store/schema.ts'
import type { Sql } from './store/sql.ts'

/** `differs`: in which way, in whole sentences. */
export type TaskVerdict =
  | { readonly kind: 'same'; readonly log: LogId; readonly events: number; readonly head: string }
  | { readonly kind: 'differs'; readonly log: LogId; readonly messages: readonly string[] }
  | { readonly kind: 'moved'; readonly log: LogId }

export interface VerifyPorts {
  readonly readBlob: ReadBlob
  /** Reads what is shown in place of the data of a redacted record. */
  readonly replacedData: ReplacedData
  /** Reads the entries of a log as they are now. */
  readonly readLog: (log: LogId) => Promise<readonly JournalMessage[]>
  /** Which messages are in an archive. */
  readonly archives: Archives
  /** The namespace of the journal and the keys that count in it. */
  readonly signatures: { readonly namespace: string; readonly ring: KeyRing }
}

/** The number of the task that a person means. @throws {BeaverError} `not_found`, `invalid_arguments` */
export const keyOfTask = (sql: Sql, name: TaskName): number => findTask(sql, name).task_key

interface Row {
  readonly task_key: number
  readonly tenant: string
  readonly session_id: string
  readonly task_id: string
}

const messagesMax = 5

/** Verifies tasks. The caller bounds how many, because their entries are held in memory. */
export async function verifyTasks(
  sql: Sql,
  taskKeys: readonly number[],
  { readBlob, replacedData, archives, readLog, signatures }: VerifyPorts,
): Promise<TaskVerdict[]> {
  const tasks = taskKeys.map((key) => taskOf(sql, key))
  const logs = await Promise.all(tasks.map(({ log }) => readLog(log)))
  const sequence = sql.one<{ sequence: number }>('select sequence from checkpoint').sequence
  const messages = logs
    .flat()
    .filter((message) => message.sequence <= sequence)
    .toSorted((a, b) => a.sequence - b.sequence)
  await using fresh = openReadModel(':memory:', { readBlob, replacedData, archives, ...signatures })
  fresh.begin('verification')
  await fresh.apply(messages)
  return tasks.map(({ key, log }) => {
    const newest = sql.one<{ newest: number | null }>(
      'select max(sequence) as newest from events where task_key = ?',
      [key],
    ).newest
    return (newest ?? 0) > sequence ? { kind: 'moved', log } : compare(sql, fresh.sql, { key, log })
  })
}

function taskOf(sql: Sql, key: number): { readonly key: number; readonly log: LogId } {
  const {
    tenant,
    session_id: session,
    task_id: task,
  } = sql.one<Row>('select task_key, tenant, session_id, task_id from tasks where task_key = ?', [key])
  return { key, log: { tenant, session, task } as LogId }
}

function compare(sql: Sql, fresh: Sql, { key, log }: { key: number; log: LogId }): TaskVerdict {
  const found = fresh.get<{ task_key: number; last_taskseq: number; head_hash: string; chain_ok: number }>(
    'select task_key, last_taskseq, head_hash, chain_ok from tasks where tenant = ? and session_id = ? and task_id = ?',
    [log.tenant, log.session, log.task],
  )
  if (found === undefined)
    return { kind: 'differs', log, messages: [`The journal has no entry of the task ${log.task} any more.`] }
  const ours = sql.one<{ last_taskseq: number; head_hash: string }>(
    'select last_taskseq, head_hash from tasks where task_key = ?',
    [key],
  )
  const messages = [
    ...inJournal(sql, fresh, { key, freshKey: found.task_key }),
    ...ends(ours, found),
    ...differences(sql, fresh, key, found.task_key),
  ]
  const { events } = fresh.one<{ events: number }>(
    'select count(*) as events from events where task_key = ?',
    [found.task_key],
  )
  return messages.length === 0
    ? { kind: 'same', log, events, head: found.head_hash }
    : { kind: 'differs', log, messages: messages.slice(0, messagesMax) }
}

/** What the journal shows now and did not show when it was read first. */
function inJournal(sql: Sql, fresh: Sql, keys: { key: number; freshKey: number }): string[] {
  const findings = (from: Sql, key: number): string[] =>
    from
      .all<{ message: string }>('select message from audit_findings where task_key = ? order by finding_id', [
        key,
      ])
      .map(({ message }) => message)
  const before = new Set(findings(sql, keys.key))
  return findings(fresh, keys.freshKey).flatMap((message) =>
    before.has(message) ? [] : [`The journal changed: ${message}.`],
  )
}

interface Head {
  readonly last_taskseq: number
  readonly head_hash: string
}

function ends(ours: Head, found: Head): string[] {
  if (found.last_taskseq < ours.last_taskseq)
    return [
      `The journal has the events of the task up to ${found.last_taskseq}, and it had them up to ${ours.last_taskseq}. The end of the log is lost.`,
    ]
  if (found.last_taskseq === ours.last_taskseq && found.head_hash !== ours.head_hash)
    return [
      `The last event of the task has another hash in the journal than before: ${found.head_hash.slice(0, 16)}, not ${ours.head_hash.slice(0, 16)}.`,
    ]
  return []
}

/** The first rows of each table that differ. */
function differences(sql: Sql, fresh: Sql, key: number, freshKey: number): string[] {
  const [ours, theirs] = [
    Map.groupBy(taskRows(sql, key), ({ table }) => table),
    Map.groupBy(taskRows(fresh, freshKey), ({ table }) => table),
  ]
  const found: string[] = []
  for (const table of new Set([...ours.keys(), ...theirs.keys()])) {
    const [left = [], right = []] = [ours.get(table), theirs.get(table)]
    const at = left.findIndex((row, i) => row.text !== right[i]?.text)
    const place = at === -1 ? (right.length > left.length ? left.length : -1) : at
    if (place !== -1)
      found.push(`The read model differs from the journal: ${difference(table, left[place], right[place])}.`)
  }
  return found
}

const shownCharsMax = 80
const shown = (value: unknown): string => clip(JSON.stringify(value) ?? 'nothing', shownCharsMax)

function difference(table: string, ours: TaskRowText | undefined, theirs: TaskRowText | undefined): string {
  if (ours === undefined) return `the table ${table} misses a row`
  if (theirs === undefined) return `the table ${table} has a row too many`
  const names = Object.keys(ours.columns).filter(
    (name) => JSON.stringify(ours.columns[name]) !== JSON.stringify(theirs.columns[name]),
  )
  const column = names[0] ?? ''
  const more = names.length > 1 ? ` and ${names.length - 1} more` : ''
  return `in the table ${table}, ${column}${more} is ${shown(ours.columns[column])} and should be ${shown(theirs.columns[column])}`
}

/** What the counts of the read model say against each other: rows that are gone leave no row to verify. */
export function countFaults(sql: Sql): string[] {
  const { tasks, lastKey, counted, events, repeats, applied } = sql.one<
    Record<'tasks' | 'lastKey' | 'counted' | 'events' | 'repeats' | 'applied', number>
  >(
    `select (select count(*) from tasks) as tasks, (select coalesce(max(task_key), 0) from tasks) as lastKey,
      (select coalesce(sum(n), 0) from task_counts) as counted, (select count(*) from events) + (select count(*) from system_events where type <> 'unreadable') as events,
      (select count(*) from audit_findings where kind = 'repeat') as repeats, (select coalesce(max(events), 0) from checkpoint) as applied`,
  )
  const sessions = sql.one<{ n: number }>(unfitSessions).n
  const { used, summed } = sql.one<{ used: number; summed: number }>(
    'select (select total(calls) from model_usage) as used, (select total(calls) from usage_by_day) as summed',
  )
  return [
    ...(tasks === lastKey && tasks === counted
      ? []
      : [
          `The read model has the rows of ${tasks} tasks, and it had those of ${Math.max(lastKey, counted)}.`,
        ]),
    ...(events + repeats === applied
      ? []
      : [`The read model has ${events + repeats} events, and it had ${applied}.`]),
    ...(used === summed || Math.max(used, summed) > Number.MAX_SAFE_INTEGER
      ? []
      : [`The sums of usage by day have ${summed} calls, and the tasks of the read model have ${used}.`]),
    ...(sessions === 0 ? [] : [`${sessions} rows of sessions do not fit the tasks of the read model.`]),
  ]
}

/** Sessions that differ from what their tasks say, and sessions of tasks without a row. */
const unfitSessions = `select count(*) as n from (
    select tenant, session_id, count(*) as tasks, min(task_key) as first_key, max(task_key) as newest_key from tasks group by session_id, tenant
  ) as of full join sessions using (session_id, tenant)
  left join tasks as newest on newest.task_key = of.newest_key
  where of.tasks is not sessions.tasks or of.first_key is not sessions.first_key or of.newest_key is not sessions.newest_key
    or newest.submitted_at is not null and newest.user_id is not sessions.user_id`

// The rows of one task as text, to compare those of two read models. What only numbers the rows of a file is
// left out.

/** A row of a table, without the columns that number it. */
interface TaskRowText {
  readonly table: string
  readonly columns: Readonly<Record<string, unknown>>
  readonly text: string
}

const ofNoTask = new Set<string>([
  'checkpoint',
  'sessions',
  'task_counts',
  'task_hours',
  'usage_by_day',
  'system_events',
  'tree',
  'tree_tiles',
  'tree_gaps',
  'signed_checkpoints',
  'quarantine',
])
const tables = tableNames.filter((name) => !ofNoTask.has(name))

/** The rows of the tables in a fixed order. */
function* taskRows(sql: Sql, taskKey: number): Generator<TaskRowText> {
  for (const table of tables) {
    const order = sql
      .all<{ name: string }>('select name from pragma_table_info(?) where pk > 0 order by pk', [table])
      .map(({ name }) => name)
    for (const row of sql.each<Record<string, unknown>>(
      `select * from ${table} where task_key = ? order by ${order.join(', ')}`,
      [taskKey],
    )) {
      const { task_key: _key, position: _position, finding_id: _finding, ...columns } = row
      yield { table, columns, text: `${table}\t${canonicalJson(columns)}` }
    }
  }
}
