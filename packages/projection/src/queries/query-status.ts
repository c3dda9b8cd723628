// `status`: the position of the projector, whether it makes progress, and how many tasks there are.
import type { ProjectorStatus } from '@beaver/contracts'
import { somethingWaits } from './approvals.ts'
import { somethingAsks } from './asked-questions.ts'
import type { Anchoring, Following, Query } from './query.ts'
import { schemaVersion } from '../store/schema.ts'
import type { Sql } from '../store/sql.ts'
import { indexedTo, lastText, unindexedTasksOf } from '../store/text-index.ts'

const countedMax = 1_000_000

/**
 * `sequence` is the last applied message, `stream_sequence` the last message of the journal, and `behind` the
 * number of messages between them. `texts_behind`: how many texts are not indexed yet, so that searches read
 * them. `behind_since`: since when messages wait and none was applied. `fault`: why the projector makes no
 * progress, and what to do.
 */
export const status: Query<'status'> = (sql, _input, { following, anchoring, tracing }) => {
  const at = sql.get<{ stream: string; sequence: number; events: number }>(
    'select stream, sequence, events from checkpoint',
  )
  const byStatus = countedByStatus(sql)
  return {
    stream: at?.stream ?? null,
    sequence: at?.sequence ?? 0,
    events: at?.events ?? 0,
    tasks: Object.values(byStatus).reduce((sum, n) => sum + n, 0),
    by_status: byStatus,
    waiting: sql.one<{ n: number }>('select count(*) as n from tasks where waits_for is not null').n,
    oldest_submitted_at:
      sql.get<{ submitted_at: string | null }>(
        `select submitted_at from tasks where status = 'submitted' order by task_key limit 1`,
      )?.submitted_at ?? null,
    findings: sql.one<{ n: number }>('select count(*) as n from audit_findings').n,
    tasks_broken: sql.one<{ n: number }>('select count(*) as n from tasks where chain_ok = 0').n,
    quarantined: sql.one<{ n: number }>('select count(*) as n from quarantine').n,
    texts_behind: lastText(sql) - indexedTo(sql) + unindexedTasksOf(sql, countedMax),
    schema_version: schemaVersion,
    checkpoints: checkpointsView(sql, anchoring),
    traces: tracing,
    ...followingView(following, at?.sequence ?? 0),
  }
}

/** The counts of all tasks, with those that wait in the state that the list of tasks shows. Only open tasks are read. */
function countedByStatus(sql: Sql): Record<string, number> {
  const counts = new Map(
    sql
      .all<{ status: string; n: number }>('select status, n from task_counts')
      .map(({ status, n }) => [status, n]),
  )
  const waiting = sql.all<{ status: string; waits: string | null; n: number }>(
    `select status, case when ${somethingWaits} or ${somethingAsks} then 'person' else waits_for end as waits, count(*) as n
     from tasks indexed by tasks_open_newest where ended_at is null and chain_ok = 1 group by 1, 2`,
  )
  for (const { status, waits, n } of waiting) {
    if (waits === null) continue
    counts.set(status, (counts.get(status) ?? 0) - n)
    counts.set(`waiting_for_${waits}`, (counts.get(`waiting_for_${waits}`) ?? 0) + n)
  }
  return Object.fromEntries(
    [...counts].filter(([, n]) => n > 0).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
}

function followingView(
  following: Following | null,
  sequence: number,
): Pick<ProjectorStatus, 'stream_sequence' | 'behind' | 'moved_at' | 'behind_since' | 'fault' | 'journal'> {
  const end = following?.streamSequence ?? null
  return {
    stream_sequence: end,
    behind: end === null ? null : Math.max(0, end - sequence),
    moved_at: following?.movedAt ?? null,
    behind_since: following?.behindSince ?? null,
    fault: following?.fault ?? null,
    journal: [...(following?.journal ?? [])],
  }
}

const faultsMax = 20

function checkpointsView(sql: Sql, anchoring: Anchoring | null): ProjectorStatus['checkpoints'] {
  const last = sql.get<{ size: number; time: string }>(
    'select size, time from signed_checkpoints where fault is null order by sequence desc limit 1',
  )
  const unfit = sql.all<{ sequence: number; fault: string }>(
    'select sequence, fault from signed_checkpoints where fault is not null order by sequence limit ?',
    [faultsMax],
  )
  const faults = [
    ...unfit.map(({ sequence, fault }) => ({ from: `message ${sequence} of the journal`, message: fault })),
    ...(anchoring?.faults ?? []),
  ]
  return { last: last ?? null, faults: faults.slice(0, faultsMax), targets: [...(anchoring?.targets ?? [])] }
}
