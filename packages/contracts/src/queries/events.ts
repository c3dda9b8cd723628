// `events`: the journal of one task as it was written.
import { jsonValue } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  after,
  archiveOfLog,
  count,
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
  taskseq: z.int().describe('The place of the event in the log of the task.'),
  type: z.string().describe('The type of the event.'),
  epoch: z.int().describe('The number of the claim under which the event was written.'),
  time,
  run_id: runIdField.nullable().describe('The run to which the event belongs. null: it belongs to no run.'),
  node_id: textOrNull.describe('The node to which the event belongs. null: it belongs to no node.'),
  data: jsonValue.describe('The data of the event. null: the data is larger than 512 KiB, or it is lost.'),
  data_bytes: count.describe('The size of the data in bytes.'),
  blob_sha256: textOrNull.describe(
    'The SHA-256 of the blob that has the data. null: the record itself has it.',
  ),
  hash: z.string().describe('The hash of the record.'),
  sequence: count.describe('The sequence number of the message in the journal stream.'),
})
export type EventItem = z.infer<typeof item>

export const events = contract('The events of one task as they are in the journal.', {
  input: z.strictObject({
    ...taskNameOfUser,
    node_id: ofNode,
    after,
    limit: limitOf('events', { usual: 500, max: 2000 }),
  }),
  output: z.object({
    task_id: taskIdField,
    session_id: sessionIdField,
    tenant: tenantField,
    events: z.array(item).describe('The events, in the order of the log.'),
    archive: archiveOfLog,
    ...paged,
  }),
})
