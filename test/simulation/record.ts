// What a simulated world has seen of each task: its events as they landed, and what follows from them. Kept
// beside the journal, with code of its own, so that the folds of the sources are not judged by themselves.
import type { EventType, LogId, OpenTask } from '@beaver/core'
import type { Entry } from '@beaver/core/journal'

export interface Seen {
  readonly type: EventType
  readonly runId: string | null
  readonly data: Readonly<Record<string, unknown>>
  readonly epoch: number
  readonly taskseq: number
  readonly hash: string
  readonly prevhash: string
  readonly source: string
  /** When it landed. */
  readonly atMs: number
}

export interface TaskRecord {
  readonly log: LogId
  readonly previous: string | null
  readonly events: Seen[]
  /** The source of each epoch's claim. */
  readonly claims: Map<number, string>
  /** When the newest of them landed. */
  claimedAt: number
  /** Results of calls, and answers of runs. */
  readonly results: Set<string>
  readonly answers: Map<string, number>
  /** Calls that ask for a person, and were not decided. */
  readonly asking: Set<string>
  /** The calls that went to the client. */
  readonly clients: Map<string, 'asked' | 'answered'>
  /** Starts of calls: who began it. */
  readonly started: Map<string, string>
  /** The texts that steer it: whether its run was given them. */
  readonly steers: Map<string, 'requested' | 'given'>
  ended: string | null
}

export function newRecord(log: LogId, previous: string | null): TaskRecord {
  return {
    log,
    previous,
    events: [],
    claims: new Map(),
    claimedAt: 0,
    results: new Set(),
    answers: new Map(),
    asking: new Set(),
    clients: new Map(),
    started: new Map(),
    steers: new Map(),
    ended: null,
  }
}

export function seenIn(entry: Entry): Seen[] {
  const records = JSON.parse(Buffer.from(entry.payload).toString()) as (Record<string, unknown> & {
    type: string
  })[]
  return records.map((record) => ({
    type: record.type.slice('beaver.'.length, -'.v1'.length) as EventType,
    runId: (record['runid'] as string | undefined) ?? null,
    data: record['data'] as Record<string, unknown>,
    epoch: record['epoch'] as number,
    taskseq: record['taskseq'] as number,
    hash: record['hash'] as string,
    prevhash: record['prevhash'] as string,
    source: record['source'] as string,
    atMs: entry.timeMs,
  }))
}

const terminal: ReadonlySet<string> = new Set([
  'task_completed',
  'task_incomplete',
  'task_failed',
  'task_cancelled',
])
export const isTerminal = (type: string): boolean => terminal.has(type)

/** The open task as the read model of `atMs` had it; `null` when it needs no daemon. */
export function openTaskOf(
  task: TaskRecord,
  of: { atMs: number; nowMs: number; idleMsMin: number; endedThen: (taskId: string) => boolean },
): OpenTask | null {
  let owner: string | null = null
  let last: Seen | null = null
  let claimed = false
  let cancelled = false
  let suspended: Seen | null = null
  for (const event of task.events) {
    if (event.atMs > of.atMs) break
    last = event
    if (isTerminal(event.type)) return null
    if (event.type === 'task_claimed') {
      owner = event.data['daemon'] as string
      claimed = true
    }
    if (event.type === 'task_released' || event.type === 'task_suspended') owner = null
    if (event.type !== 'task_steer_requested') suspended = event.type === 'task_suspended' ? event : null
    cancelled ||= event.type === 'task_cancel_requested'
  }
  if (last === null) return null
  if (owner === null) {
    if (suspended !== null && !cancelled && Date.parse(suspended.data['until'] as string) > of.nowMs)
      return null
    if (!claimed && task.previous !== null && !of.endedThen(task.previous)) return null
    if (of.nowMs - last.atMs < of.idleMsMin) return null
  }
  return { session_id: task.log.session, task_id: task.log.task, owner, taskseq: last.taskseq }
}
