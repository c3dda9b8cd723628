// `status`: where the projector is, whether it goes on, and how many tasks there are.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, textOrNull, time, timeOrNull } from '../fields.ts'

const fault = z.object({ code: z.string(), message: z.string().describe('What is wrong, and what to do.'), since: time })

export const status = contract('How far the projector is, since when it does not go on and why, and counts of tasks.', {
  input: z.strictObject({}),
  output: z.object({
    stream: textOrNull.describe('The identity of the stream that it follows. null: none yet.'),
    sequence: count.describe('The last message that was applied.'),
    events: count,
    tasks: count,
    by_status: z.record(z.string(), count).describe('How many tasks there are in each state.'),
    waiting: count.describe('Open tasks that no daemon drives, because they only wait.'),
    findings: count.describe('What the audit found.'),
    tasks_broken: count.describe('Tasks whose chain does not hold.'),
    texts_behind: count.describe('Texts that searches still find without the index.'),
    schema_version: count,
    stream_sequence: count.nullable().describe('The last message of the journal. null: not known.'),
    behind: count.nullable().describe('How many messages lie between the two. null: not known.'),
    moved_at: timeOrNull.describe('When messages were last applied. null: none were.'),
    behind_since: timeOrNull.describe('Since when there is something to apply and nothing was. null: it is not behind.'),
    fault: fault.nullable().describe('Why it does not go on. null: it does.'),
  }),
})
/** What the projector says of itself. */
export type ProjectorStatus = z.infer<(typeof status)['output']>
