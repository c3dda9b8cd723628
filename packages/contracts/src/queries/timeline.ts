// `timeline`: what happened in one task, in words for people. One item for each event, in the order of the journal.
import { jsonObject } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { after, limitOf, paged, runIdField, sessionIdField, taskIdField, taskName, tenantField, time } from '../fields.ts'

const item = z.object({
  event_id: z.string().describe('<task_id>.<taskseq>'),
  taskseq: z.int().describe('The place of the event in the log of the task.'),
  run_id: runIdField.nullable().describe('The run that the event belongs to. null: none.'),
  parent_run_id: runIdField.nullable(),
  kind: z.string().describe('The type of the event.'),
  actor_type: z.string().describe('client, system, daemon, agent, team, node, tool or provider.'),
  actor_id: z.string(),
  actor_name: z.string(),
  text: z.string().describe('What happened, in one sentence.'),
  created_at: time,
  offset_ms: z.int().nullable().describe('Milliseconds since the submission of the task. null: not known.'),
  status: z.string().describe('started, waiting, done, skipped, failed, blocked or cancelled.'),
  metadata: jsonObject.describe('task_id, timeline_type, and what else the kind of the event brings.'),
})
export type TimelineItem = z.infer<typeof item>

export const timeline = contract('What happened in one task, in sentences, one for each event.', {
  input: z.strictObject({ ...taskName, after, limit: limitOf('items', { usual: 500, max: 2000 }) }),
  output: z.object({ task_id: taskIdField, session_id: sessionIdField, tenant: tenantField, events: z.array(item), ...paged }),
})
