// `timeline`: what happened in one task, in words for people. One item for each event, in the order of the
// journal.
import { jsonObject } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  after,
  archiveOfLog,
  limitOf,
  ofNode,
  paged,
  runIdField,
  sessionIdField,
  taskIdField,
  taskNameOfUser,
  tenantField,
  textOrNull,
  time,
} from '../fields.ts'

const item = z.object({
  event_id: z.string().describe('The id of the event: <task_id>.<taskseq>.'),
  taskseq: z.int().describe('The place of the event in the log of the task.'),
  run_id: runIdField.nullable().describe('The run to which the event belongs. null: it belongs to no run.'),
  parent_run_id: runIdField.nullable().describe('The run that called this run. null: none.'),
  node_id: textOrNull.describe('The node to which the event belongs. null: it belongs to no node.'),
  kind: z.string().describe('The type of the event.'),
  actor_type: z.string().describe('Who did it: client, system, daemon, agent, team, node, tool or provider.'),
  actor_id: z.string().describe('The id of who did it.'),
  actor_name: z.string().describe('The name of who did it.'),
  text: z.string().describe('What happened, in one sentence.'),
  created_at: time,
  offset_ms: z
    .int()
    .nullable()
    .describe('The time since the submission of the task, in milliseconds. null: not known.'),
  status: z
    .string()
    .describe('What came of it: started, waiting, done, skipped, failed, blocked or cancelled.'),
  metadata: jsonObject.describe('The task_id, the timeline_type, and more for some kinds of events.'),
})
export type TimelineItem = z.infer<typeof item>

export const timeline = contract('Tells what happened in one task, with one sentence for each event.', {
  input: z.strictObject({
    ...taskNameOfUser,
    node_id: ofNode,
    after,
    limit: limitOf('items', { usual: 500, max: 2000 }),
  }),
  output: z.object({
    task_id: taskIdField,
    session_id: sessionIdField,
    tenant: tenantField,
    events: z.array(item).describe('The items, in the order of the log.'),
    archive: archiveOfLog,
    ...paged,
  }),
})
