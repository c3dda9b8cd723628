// The events of a journal as the rules need them: the known types, and the members that rules read. A test
// compares this table with core's catalog.
import { z } from 'zod'
import type { WireRecord } from './record.ts'

const id = z.string().min(1)
const nothing = z.object({})
const call = z.object({ call_id: z.string() })
const team = z.object({ team_run_id: id })
const images = z
  .array(z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.int().nonnegative() }))
  .optional()
const node = team.extend({ node_id: id })
/** Requirements and verdicts. Only some kinds are judged (value-rules.ts). */
const requirements = z.array(z.unknown()).optional()
const checks = z.array(z.object({ requirement: z.unknown(), status: z.unknown() })).optional()
const end = z.object({ final_output: z.string().optional(), evidence: checks })
const graphNode = z.object({
  ...{ node_id: id, kind: z.string(), depends_on: z.array(id), quorum: z.int().nonnegative().optional() },
  ...{ required_evidence: requirements, validation_rules: requirements },
})
export type GraphNode = z.infer<typeof graphNode>

const shapes = {
  task_submitted: z.object({
    task_id: id,
    session_id: id,
    tenant: id,
    previous_task_id: id.nullable(),
    request: z.object({ images, required_evidence: requirements }).optional(),
  }),
  task_claimed: z.object({ daemon: id }),
  task_released: nothing,
  task_suspended: nothing,
  task_log_copied: nothing,
  task_cancel_requested: nothing,
  task_steer_requested: z.object({ request_id: id }),
  budget_reached: nothing,
  budget_raised: z.object({ request_id: id }),
  task_dead_lettered: nothing,
  task_completed: end,
  task_incomplete: end,
  task_failed: nothing,
  task_cancelled: nothing,

  run_started: z.object({ run_id: id, team_run_id: id.nullable(), node_id: id.nullable() }),
  run_restarted: nothing,
  run_completed: nothing,
  run_failed: nothing,
  run_cancelled: nothing,
  tool_scope_applied: nothing,
  tools_left_out: nothing,
  skill_selection_recorded: nothing,
  skill_activation_snapshotted: nothing,
  system_prompt_snapshotted: nothing,
  user_message_added: z.object({ steer_request_id: id.optional(), images }),
  execution_mode_selected: nothing,
  provider_call_failed: nothing,
  model_call_reserved: nothing,
  model_call_lost: nothing,
  model_call_paid: nothing,
  budget_exceeded: nothing,
  context_compacted: nothing,
  context_summarized: nothing,
  summary_refused: nothing,
  output_rejected: nothing,
  assistant_message_added: z.object({
    content: z.string().nullable().optional(),
    tool_calls: z.array(z.object({ id: z.string() })),
  }),
  tool_call_requested: z.object({ call: z.object({ id: z.string() }) }),
  approval_requested: call,
  approval_granted: call.extend({ arguments: z.string().optional() }),
  approval_denied: call,
  question_asked: call.extend({ question_index: z.int().nonnegative() }),
  question_answered: call.extend({ question_index: z.int().nonnegative() }),
  client_call_requested: call,
  client_call_answered: call,
  tool_call_started: call.extend({ idempotent: z.boolean() }),
  tool_result_recorded: call.extend({ success: z.boolean(), error: z.string().nullable(), images }),
  workspace_files_checked: nothing,

  task_team_run_started: team.extend({
    run_id: id.nullable(),
    call_id: z.string().nullable(),
    graph: z.object({ nodes: z.array(graphNode).min(1) }),
  }),
  task_team_run_completed: team,
  task_team_run_failed: team,
  graph_extended: node.extend({ nodes: z.array(graphNode), edges: z.array(z.tuple([id, id])) }),
  node_started: node.extend({ run_id: id }),
  node_computed: node,
  node_skipped: node,
  node_evidence_evaluated: node.extend({ run_id: id.optional(), checks }),
  node_completed: node.extend({ run_id: id }),
  node_failed: node.extend({ run_id: id.nullable() }),
  node_blocked: node.extend({ cause_node_id: id }),
  node_cancel_requested: node,
  node_cancelled: node,
  team_diagnostic_recorded: node,
  shared_state_changed: team,
} as const satisfies Record<string, z.ZodType>

export type EventType = keyof typeof shapes

export const eventTypes = Object.keys(shapes) as readonly EventType[]

/** An event with the data that rules read. */
export type CheckedEvent = {
  [T in EventType]: {
    readonly type: T
    readonly runId: string | null
    readonly data: z.infer<(typeof shapes)[T]>
  }
}[EventType]

/** The event type of a record; `null` if it is unknown here. */
export function eventTypeOf({ type }: WireRecord): EventType | null {
  const name = /^beaver\.(\w+)\.v1$/.exec(type)?.[1]
  return name !== undefined && Object.hasOwn(shapes, name) ? (name as EventType) : null
}

/** The event, or why its data does not have the shape of its type. */
export function eventOf(type: EventType, record: WireRecord, data: unknown): CheckedEvent | string {
  const parsed = shapes[type].safeParse(data)
  if (!parsed.success) return z.prettifyError(parsed.error).replaceAll(/\s+/g, ' ')
  return { type, runId: record.runid ?? null, data: parsed.data } as CheckedEvent
}

export function imagesOf({
  type,
  data,
}: CheckedEvent): readonly { readonly sha256: string; readonly bytes: number }[] {
  if (type === 'task_submitted') return data.request?.images ?? []
  return type === 'user_message_added' || type === 'tool_result_recorded' ? (data.images ?? []) : []
}

export const terminalTypes: ReadonlySet<string> = new Set([
  'task_completed',
  'task_incomplete',
  'task_failed',
  'task_cancelled',
] satisfies EventType[])

/** Commands that any daemon may write into a log, for the next daemon that claims the task. */
export const commandTypes: ReadonlySet<string> = new Set([
  'task_cancel_requested',
  'task_steer_requested',
  'budget_raised',
  'node_cancel_requested',
  'approval_granted',
  'approval_denied',
  'question_answered',
  'client_call_answered',
] satisfies EventType[])
