// `events`: the journal of one task as it was written.
import { jsonValue } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { after, count, limitOf, paged, runIdField, sessionIdField, taskIdField, taskName, tenantField, textOrNull, time } from '../fields.ts'

const item = z.object({
  taskseq: z.int().describe('The place of the event in the log of the task.'),
  type: z.string(),
  epoch: z.int().describe('The number of the claim under which it was written.'),
  time,
  run_id: runIdField.nullable().describe('The run that the event belongs to. null: none.'),
  data: jsonValue.describe('The data of the event. null: it has more than 512 KiB, or was lost.'),
  data_bytes: count,
  blob_sha256: textOrNull.describe('The blob that holds the data. null: the record holds it.'),
  hash: z.string(),
  sequence: count.describe('The message of the journal stream.'),
})
export type EventItem = z.infer<typeof item>

export const events = contract('The journal of one task as it was written.', {
  input: z.strictObject({ ...taskName, after, limit: limitOf('events', { usual: 500, max: 2000 }) }),
  output: z.object({ task_id: taskIdField, session_id: sessionIdField, tenant: tenantField, events: z.array(item), ...paged }),
})
