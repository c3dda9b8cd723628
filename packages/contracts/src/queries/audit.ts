// `audit`: what the audit found, and the head of each log, which a reader can compare with the journal.
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  after,
  before,
  count,
  cursor,
  limitOf,
  onlyOfUser,
  sessionIdField,
  taskIdField,
  taskName,
  tenantField,
  textOrNull,
} from '../fields.ts'

export const finding = z
  .object({
    finding_id: count.describe('The number of the finding.'),
    task_id: taskIdField,
    session_id: sessionIdField,
    tenant: tenantField,
    taskseq: z
      .int()
      .nullable()
      .describe('The place of the event in the log of the task. null: the event has no place.'),
    kind: z.string().describe('What kind of fault it is, as a code.'),
    message: z.string().describe('What does not fit, in one sentence.'),
    sequence: count.describe('The sequence number of the message in the journal stream.'),
    record: textOrNull.describe('The beginning of what was read. null: nothing was read.'),
  })
  .meta({ id: 'finding', description: 'Something in the record that does not fit.' })

export const journalFinding = z
  .object({
    kind: z.string().describe('What kind of finding it is, as a code.'),
    message: z.string().describe('What is wrong, in whole sentences.'),
    harmful: z
      .boolean()
      .describe(
        'Whether acknowledged entries are gone or may go unseen. Then no daemon writes to the journal.',
      ),
  })
  .meta({
    id: 'journal_finding',
    description: 'Something about the journal as a whole, or about the read model, that is not as it was.',
  })

const verified = z.object({
  tasks: count.describe(
    'How many tasks Beaver read again from the journal and compared with the read model.',
  ),
  tasks_left: count.describe(
    'How many tasks it did not compare, because the time was up or because somebody writes to them.',
  ),
  events: count.describe('How many events of these tasks are as they were.'),
  head: textOrNull.describe(
    'The hash of the last event, if one task was compared and nothing differs. null: otherwise.',
  ),
  differs: z
    .array(
      z.object({
        task_id: taskIdField,
        session_id: sessionIdField,
        tenant: tenantField,
        messages: z.array(z.string()).describe('What differs, in whole sentences.'),
      }),
    )
    .describe('The tasks that are not as they were.'),
})

const head = z.object({
  task_id: taskIdField,
  session_id: sessionIdField,
  tenant: tenantField,
  status: z.string().describe('The state of the task.'),
  last_taskseq: count.describe('The place of the last event in the log of the task.'),
  epoch: count.describe('The number of the latest claim.'),
  hash: z.string().describe('The hash of the last record.'),
  chain_ok: z.boolean().describe('Whether the hash chain of the task holds.'),
})

export const audit = contract(
  'Says whether the journal is intact: what the audit found, and the head of the hash chain of each task.',
  {
    input: z.strictObject({
      ...taskName,
      task_id: taskName.task_id
        .optional()
        .describe('Only this task: its id or the beginning of its id. Absent: all tasks.'),
      user_id: onlyOfUser('tasks'),
      after: after.describe(
        'Only findings after this one: the "next_finding" of the page before. 0: the first page.',
      ),
      before: before.describe(
        'Only heads before this one: the "next_head" of the page before. Absent: the first page.',
      ),
      verify: z
        .boolean()
        .default(false)
        .describe(
          'true: Beaver reads the task again from the journal, or the newest tasks for about half a second, and compares.',
        ),
      limit: limitOf('findings, and as many heads', { usual: 100, max: 500 }),
    }),
    output: z.object({
      intact: z
        .boolean()
        .describe(
          'Whether the audit found nothing, in the records, in the journal as a whole, and in what it compared now.',
        ),
      tasks_broken: count.describe('The number of tasks whose hash chain does not hold.'),
      journal: z
        .array(journalFinding)
        .describe(
          'What is wrong with the journal as a whole and with the read model. With user_id, it leaves out what names tasks.',
        ),
      verified: verified.nullable().describe('What the comparison gave. null: nobody asked for it.'),
      findings: z.array(finding).describe('What the audit found, oldest first.'),
      more_findings: z.boolean().describe('Whether there are more findings after this page.'),
      next_finding: cursor
        .nullable()
        .describe('The "after" of the next page of findings. null: this is the last page.'),
      heads: z.array(head).describe('The head of each log, newest task first.'),
      more_heads: z.boolean().describe('Whether there are more heads after this page.'),
      next_head: cursor
        .nullable()
        .describe('The "before" of the next page of heads. null: this is the last page.'),
    }),
  },
)
