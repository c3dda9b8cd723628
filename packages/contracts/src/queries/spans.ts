// `spans`: when each call of a model, each call of a tool and each wait of a task began and ended, in short.
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  after,
  archiveOfLog,
  count,
  limitOf,
  paged,
  runIdField,
  runNamed,
  sessionIdField,
  taskIdField,
  taskNameOfUser,
  tenantField,
  textOrNull,
  timeOrNull,
} from '../fields.ts'

const span = z
  .object({
    taskseq: count.describe(
      'The place in the log: of the answer or of the failure of a call of a model, of the answer that asked for a call of a tool, or of the event with which a wait began.',
    ),
    run_id: runIdField.nullable().describe('The run. null: the whole task.'),
    node_id: textOrNull.describe('The node of the run. null: it belongs to no team.'),
    kind: z
      .enum(['model', 'tool', 'wait'])
      .describe('What it is: a call of a model or of a tool, or a wait.'),
    name: z
      .string()
      .describe(
        'The name of the model or of the tool. It is empty if it is not known. Of a wait, what it waits for. approval: a person decides about a call. question: a person answers a question of a call. budget: somebody gives more to a budget. retry: the pause before a model is asked again. person, provider, limit: the task waits without a daemon.',
      ),
    call_id: textOrNull.describe(
      'The call of a tool, or the call about which a person is asked. null: there is none.',
    ),
    started_at: timeOrNull.describe(
      'When it began. RFC 3339, UTC. null: it has not begun, or the journal does not say when.',
    ),
    ended_at: timeOrNull.describe(
      'When it ended. RFC 3339, UTC. Of a retry, when the pause was to be over. null: it has not ended.',
    ),
    ok: z
      .boolean()
      .nullable()
      .describe(
        'Whether a call succeeded, or a person allowed it or answered. null: there is no outcome yet, or none is possible.',
      ),
    tries: count
      .nullable()
      .describe(
        'Of a failed call of a model, and of the pause after it, the number of the try since the last answer. Of a call of a tool, how often it was started. null: not known.',
      ),
    tokens: count
      .nullable()
      .describe(
        'The tokens that a call of a model read and wrote, together. null: not known, or no such call.',
      ),
  })
  .meta({ id: 'span', description: 'The time of a call or of a wait.' })
/** The time of a call or of a wait. */
export type Span = z.infer<typeof span>

const runsMax = 100

export const spans = contract(
  'When each call of a model, each call of a tool and each wait of a task began and ended. A call of a model is listed as soon as it has ended.',
  {
    input: z.strictObject({
      ...taskNameOfUser,
      run_ids: z
        .array(runNamed)
        .min(1)
        .max(runsMax)
        .optional()
        .describe(
          `Only spans of these runs, at most ${runsMax}. Absent: those of all runs, and of the whole task.`,
        ),
      from_ms: count
        .optional()
        .describe(
          'Only spans that end later than this, in milliseconds after the submission of the task. Absent: from the beginning.',
        ),
      to_ms: count
        .optional()
        .describe(
          'Only spans that begin earlier than this, in milliseconds after the submission of the task. Absent: to the end.',
        ),
      after,
      limit: limitOf('spans', { usual: 500, max: 2_000 }),
    }),
    output: z.object({
      task_id: taskIdField,
      session_id: sessionIdField,
      tenant: tenantField,
      submitted_at: timeOrNull.describe(
        'When the task was submitted, from which from_ms and to_ms count. RFC 3339, UTC. null: not known.',
      ),
      spans: z.array(span).describe('The spans, in the order of their places in the log.'),
      archive: archiveOfLog,
      ...paged,
    }),
  },
)
