// `status`: the projector's position, whether it still follows the journal, and the number of tasks.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, textOrNull, time, timeOrNull } from '../fields.ts'
import { journalFinding } from './audit.ts'

const fault = z.object({
  code: z.string().describe('A code for programs.'),
  message: z.string().describe('What is wrong, and what to do.'),
  since: time.describe('Since when. RFC 3339, UTC.'),
})

const checkpoints = z.object({
  last: z
    .object({
      size: count.describe('The number of messages that it counts.'),
      time: time.describe('When it was made. RFC 3339, UTC.'),
    })
    .nullable()
    .describe('The last signed checkpoint in the journal that fits. null: there is none.'),
  faults: z
    .array(
      z.object({
        from: z.string().describe('Where the checkpoint is.'),
        message: z.string().describe('Why it does not fit the journal.'),
      }),
    )
    .describe('Checkpoints that do not fit the journal, at most 20.'),
  targets: z
    .array(
      z.object({
        name: z.string().describe('Where checkpoints are written to.'),
        message: textOrNull.describe('Why the last one did not get there. null: it did.'),
        since: timeOrNull.describe('Since when. RFC 3339, UTC. null: the last one got there.'),
      }),
    )
    .describe('Where checkpoints are written to.'),
})

const told = z.object({
  message: z.string().describe('What is wrong.'),
  at: time.describe('Since when, or when it was said last. RFC 3339, UTC.'),
})

const traces = z.object({
  sent: count.describe('How many spans the collector took since the projector started.'),
  refused: count.describe('How many it refused.'),
  waiting: count.describe('Of how many events it does not have the spans yet.'),
  problem: told.nullable().describe('Why it takes no spans now. null: it takes them.'),
  refusal: told.nullable().describe('Why it refused spans. null: it refused none.'),
})

export const status = contract(
  'Says how far the projector is, why it does not continue, and how many tasks there are.',
  {
    input: z.strictObject({}),
    output: z.object({
      stream: textOrNull.describe(
        'The identity of the stream that the projector follows. null: it follows none yet.',
      ),
      sequence: count.describe('The sequence number of the last message that the projector applied.'),
      events: count.describe('The number of events in the read model.'),
      tasks: count.describe('The number of tasks in the read model.'),
      by_status: z
        .record(z.string(), count)
        .describe(
          'The number of tasks in each state, as the list of tasks shows it. A task of which a call waits for a person is in waiting_for_person, and a suspended task in the state that says for what it waits.',
        ),
      waiting: count.describe('The number of open tasks that no daemon drives, because they only wait.'),
      oldest_submitted_at: timeOrNull
        .optional()
        .describe(
          'When the oldest task was submitted whose status is submitted: no daemon has begun with it. RFC 3339, UTC. null: there is none. Absent: an older projector.',
        ),
      findings: count.describe('The number of findings of the audit.'),
      tasks_broken: count.describe('The number of tasks whose hash chain does not hold.'),
      quarantined: count.describe(
        'The number of messages in the journal that are no records. "quarantine" lists them.',
      ),
      texts_behind: count.describe(
        'The number of texts that are not in the search index yet. A search still finds them.',
      ),
      schema_version: count.describe('The version of the tables in the read model.'),
      stream_sequence: count
        .nullable()
        .describe('The sequence number of the last message in the journal. null: not known.'),
      behind: count
        .nullable()
        .describe('How many messages the projector has still to apply. null: not known.'),
      moved_at: timeOrNull.describe(
        'When the projector last applied a message. RFC 3339, UTC. null: it has applied none.',
      ),
      behind_since: timeOrNull.describe(
        'Since when the projector has messages to apply and applies none. RFC 3339, UTC. null: it is not behind.',
      ),
      checkpoints: checkpoints.describe('The signed checkpoints of the journal.'),
      traces: traces
        .nullable()
        .optional()
        .describe('The collector of traces. null: no spans are sent. Absent: an older projector.'),
      journal: z
        .array(journalFinding)
        .describe('What is wrong with the journal as a whole and with the read model, compared now.'),
      fault: fault.nullable().describe('Why the projector does not continue. null: it continues.'),
    }),
  },
)
/** What the projector says of itself. */
export type ProjectorStatus = z.infer<(typeof status)['output']>
