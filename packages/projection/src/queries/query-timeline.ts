// `timeline`: the process projection (PP-02). It has one item for each event, in the order of the journal, in
// words for people. Every event has an item. If this version cannot read the type or the data, the item says
// so.
import type { TimelineItem } from '@beaver/contracts'
import { type DomainEvent, eventData, type EventType } from '@beaver/core'
import { agentTitle, describeEvent, type EventDescription, type Surroundings } from '@beaver/core/task-view'
import { findTask } from './find-task.ts'
import { eventsWanted, nodeOfEvent } from './of-node.ts'
import { page } from './page.ts'
import { archiveOf } from './redactions.ts'
import type { Query } from './query.ts'
import type { Sql } from '../store/sql.ts'
import { millisBetween } from './millis-between.ts'

interface EventRow {
  readonly taskseq: number
  readonly type: string
  readonly run_id: string | null
  readonly node_id: string | null
  readonly time: string
  readonly data: string | null
}

interface RunName {
  readonly parent_run_id: string | null
  readonly team_run_id: string | null
  readonly agent_name: string
  readonly tool: string | null
}

interface Context {
  readonly taskId: string
  readonly rootRunId: string | null
  readonly submittedAt: string | null
  /** The daemon of the claim before this event, or `null` if there is none. */
  ownerBefore(taskseq: number): string | null
  runOf(runId: string): RunName | undefined
  teamOf(teamRunId: string): Surroundings['team']
  /** The call of a run that a person was asked about. */
  askedOf(runId: string, callId: string): Surroundings['asked']
}

/** The items of the events between the places `after` and `before`. `offset_ms` counts from the task's submission. */
export const timeline: Query<'timeline'> = (sql, input) => {
  const found = findTask(sql, input)
  const context = contextOf(sql, found)
  const wanted = eventsWanted(sql, found, input)
  const rows = sql.each<EventRow>(
    `select taskseq, type, run_id, time, data, ${nodeOfEvent} as node_id from events where ${wanted.where} limit ?`,
    [...wanted.values, input.limit + 1],
  )
  const { items, more, next } = page(rows, input.limit, {
    item: (row) => itemOf(row, context),
    cursor: (row) => row.taskseq,
  })
  return {
    task_id: found.task_id,
    session_id: found.session_id,
    tenant: found.tenant,
    events: items,
    ...archiveOf(sql, found.task_key),
    more,
    next,
  }
}

function itemOf(row: EventRow, context: Context): TimelineItem {
  const event = readable(row)
  const data: Partial<Record<string, unknown>> = event?.data ?? {}
  const runId = row.run_id ?? (typeof data['run_id'] === 'string' ? data['run_id'] : context.rootRunId)
  const run = runId === null ? undefined : context.runOf(runId)
  const team = typeof data['team_run_id'] === 'string' ? context.teamOf(data['team_run_id']) : null
  const decides = event?.type === 'approval_granted' || event?.type === 'approval_denied'
  const asked = decides && runId !== null ? context.askedOf(runId, event.data.call_id) : null
  const around: Surroundings = {
    taskId: context.taskId,
    runId,
    agentName: agentTitle(run ?? null),
    team,
    nodeTool: run?.tool ?? null,
    asked,
    takenOver:
      event?.type === 'task_claimed' &&
      (context.ownerBefore(row.taskseq) ?? event.data.daemon) !== event.data.daemon,
  }
  const { actor, text, status, metadata } = event === null ? unreadable(row) : describeEvent(event, around)
  return {
    event_id: `${context.taskId}.${row.taskseq}`,
    taskseq: row.taskseq,
    run_id: runId,
    parent_run_id: run?.parent_run_id ?? null,
    node_id: row.node_id,
    kind: row.type,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    text,
    created_at: row.time,
    offset_ms: millisBetween(context.submittedAt, row.time),
    status,
    metadata: { task_id: context.taskId, ...metadata },
  }
}

/** The event of a row. `null`: its data is lost, or this version cannot read it. */
export function readable(row: Pick<EventRow, 'type' | 'data'>): DomainEvent | null {
  if (row.data === null || !Object.hasOwn(eventData, row.type)) return null
  const type = row.type as EventType
  const parsed = eventData[type].safeParse(JSON.parse(row.data))
  return parsed.success ? ({ type, data: parsed.data } as DomainEvent) : null
}

function unreadable(row: EventRow): Pick<EventDescription, 'actor' | 'text' | 'status' | 'metadata'> {
  const known = Object.hasOwn(eventData, row.type)
  const why = !known
    ? 'has a type that this version does not know'
    : row.data === null
      ? 'has lost its data'
      : 'has data that does not fit its type'
  return {
    actor: { type: 'system', id: 'projector', name: 'Projector' },
    text: `Event ${row.taskseq} (${row.type}) ${why}.`,
    status: known ? 'failed' : 'done',
    metadata: { timeline_type: 'unreadable' },
  }
}

function contextOf(
  sql: Sql,
  found: { task_key: number; task_id: string; submitted_at: string | null },
): Context {
  const key = found.task_key
  const root = sql.get<{ root_run_id: string | null }>('select root_run_id from tasks where task_key = ?', [
    key,
  ])
  const runOf = remembered((runId) =>
    sql.get<RunName>(
      `select parent_run_id, team_run_id, agent_name,
         (select tool from team_nodes where task_key = runs.task_key and team_run_id = runs.team_run_id and node_id = runs.node_id) as tool
       from runs where task_key = ? and run_id = ?`,
      [key, runId],
    ),
  )
  const askedOf = (runId: string, callId: string): Surroundings['asked'] =>
    sql.get<{ tool: string; subject: string }>(
      `select tool, coalesce(approval_subject, '') as subject from tool_calls
       where task_key = ? and run_id = ? and call_id = ? and approval is not null order by asked_taskseq desc limit 1`,
      [key, runId, callId],
    ) ?? null
  const teamOf = remembered((teamRunId) =>
    sql.get<NonNullable<Surroundings['team']>>(
      `select workflow, nodes, (select count(*) from team_nodes where task_key = teams.task_key and team_run_id = teams.team_run_id and status = 'completed') as completed
       from teams where task_key = ? and team_run_id = ?`,
      [key, teamRunId],
    ),
  )
  const ownerBefore = (taskseq: number): string | null =>
    sql.get<{ daemon: string | null }>(
      `select json_extract(data, '$.daemon') as daemon from events where task_key = ? and type = 'task_claimed' and taskseq < ? order by taskseq desc limit 1`,
      [key, taskseq],
    )?.daemon ?? null
  return {
    taskId: found.task_id,
    rootRunId: root?.root_run_id ?? null,
    submittedAt: found.submitted_at,
    ownerBefore,
    runOf,
    askedOf,
    teamOf: (id) => teamOf(id) ?? null,
  }
}

function remembered<T>(read: (id: string) => T): (id: string) => T {
  const known = new Map<string, T>()
  return (id) => {
    if (known.has(id)) return known.get(id) as T
    const value = read(id)
    known.set(id, value)
    return value
  }
}
