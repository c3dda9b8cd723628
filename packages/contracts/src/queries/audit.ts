// `audit`: is the record intact? What the audit found, and the head of each log, to be compared with the journal's own.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { after, before, count, cursor, limitOf, sessionIdField, taskIdField, taskName, tenantField, textOrNull } from '../fields.ts'

export const finding = z
  .object({
    finding_id: count,
    task_id: taskIdField,
    session_id: sessionIdField,
    tenant: tenantField,
    taskseq: z.int().nullable().describe('The place of the event in the log of the task. null: it has none.'),
    kind: z.string(),
    message: z.string(),
    sequence: count.describe('The message of the journal stream.'),
    record: textOrNull.describe('The beginning of what was read. null: nothing was.'),
  })
  .meta({ id: 'finding', description: 'Something in the record that does not fit.' })

const head = z.object({
  task_id: taskIdField,
  session_id: sessionIdField,
  tenant: tenantField,
  status: z.string(),
  last_taskseq: count,
  epoch: count,
  hash: z.string().describe('The hash of the last record.'),
  chain_ok: z.boolean(),
})

export const audit = contract('Whether the record is intact: what the audit found, and the head of the chain of each task.', {
  input: z.strictObject({
    ...taskName,
    task_id: taskName.task_id.optional().describe('Only this task: its id, or the beginning of it. Absent: all tasks.'),
    after: after.describe('Findings after this one: the "next_finding" of the page before. 0: from the beginning.'),
    before: before.describe('Heads of tasks before this one: the "next_head" of the page before. Absent: from the newest.'),
    limit: limitOf('findings, and as many heads', { usual: 100, max: 500 }),
  }),
  output: z.object({
    intact: z.boolean().describe('Nothing was found.'),
    tasks_broken: count.describe('Tasks whose chain does not hold.'),
    findings: z.array(finding).describe('Oldest first.'),
    more_findings: z.boolean(),
    next_finding: cursor.nullable(),
    heads: z.array(head).describe('Newest task first.'),
    more_heads: z.boolean(),
    next_head: cursor.nullable(),
  }),
})
