// Calls of models whose answers were lost with who had asked: a daemon that died or was stopped, or a worker
// thread. The journal has no event of a call before its answer, so that nobody knows whether such a call was
// made, and what it used.
import type { EventType } from '@beaver/core'
import type { Sql } from '../store/sql.ts'

/** An event, as far as it says who works and who waits for what. */
export interface WorkEvent {
  readonly type: EventType
  readonly runId: string | null
}

/** After these events, a run does not ask its model, or only when its calls of tools have results. */
const asksNobody: ReadonlySet<EventType> = new Set<EventType>([
  'assistant_message_added',
  'run_completed',
  'run_failed',
  'run_cancelled',
])
/** Who wrote one of these let go of the task: no call was under way. */
const letGo: ReadonlySet<EventType> = new Set<EventType>(['task_released', 'task_suspended'])

/**
 * How many calls may have been made and lost, from the events of a task in their order.
 *
 * @param events those of the task itself, and those of its runs
 */
export function lostCalls(events: Iterable<WorkEvent>): number {
  /** For each run that is at work: how many calls of tools it waits for. `null`: it asks nobody. */
  const runs = new Map<string, number | null>()
  let lost = 0
  let owned = false
  for (const { type, runId } of events) {
    if (type === 'task_claimed') {
      if (owned) lost += [...runs.values()].filter((tools) => tools === 0).length
      owned = true
    }
    if (letGo.has(type)) owned = false
    if (runId === null) continue
    const tools = runs.get(runId) ?? 0
    if (type === 'run_restarted' && runs.get(runId) === 0) lost++
    if (type === 'tool_call_requested') runs.set(runId, tools + 1)
    else if (type === 'tool_result_recorded') runs.set(runId, Math.max(0, tools - 1))
    else if (asksNobody.has(type)) runs.set(runId, null)
    else if (runs.get(runId) === undefined) runs.set(runId, 0)
  }
  return lost
}

/** Only a task that was claimed twice, or a run that was started again, can have lost a call. */
export function lostCallsOf(sql: Sql, key: number, claims: number): number {
  if (
    claims < 2 &&
    sql.get('select 1 from runs where task_key = ? and restarts > 0 limit 1', [key]) === undefined
  )
    return 0
  return lostCalls(eventsOf(sql, key))
}

function* eventsOf(sql: Sql, key: number): Generator<WorkEvent> {
  const rows = sql.each<{ type: EventType; run_id: string | null }>(
    'select type, run_id from events where task_key = ? order by taskseq',
    [key],
  )
  for (const { type, run_id: runId } of rows) yield { type, runId }
}
