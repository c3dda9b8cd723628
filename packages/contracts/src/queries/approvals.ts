// `approvals`: the calls of one task or of all tasks that wait for a person, oldest first. And the view of
// one call that other answers show.
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  limitOf,
  paged,
  runIdField,
  sessionIdField,
  taskIdField,
  taskNameOfUser,
  textOrNull,
  timeOrNull,
} from '../fields.ts'

export const askedCall = z
  .object({
    task_id: taskIdField,
    session_id: sessionIdField,
    run_id: runIdField.nullable().describe('The run that made the call. null: no run is known.'),
    agent_name: textOrNull.describe(
      'The name of the agent that made the call. "Root agent": the run belongs to no team.',
    ),
    node_id: textOrNull.describe('The node to which the run belongs. null: it belongs to no team.'),
    call_id: z.string().describe("The provider's id of the call."),
    tool: z.string().describe('The name of the tool.'),
    subject: z
      .string()
      .describe(
        'What the call would act on, in the form that the patterns of permissions match. Beaver cuts it after 2,000 characters.',
      ),
    rule: textOrNull.describe(
      'The permission rule that asks, or what the run has read, if the call asks because of it. null: the tool itself asks.',
    ),
    call_hash: textOrNull.describe(
      'The SHA-256 of the canonical call: tool, arguments, and what the call would change. A decision names it. null: written by an older version.',
    ),
    preview: z
      .object({
        effect: z
          .string()
          .describe(
            'What the call would do: create, overwrite, append, unchanged, or why it would be refused.',
          ),
        path: z.string().describe('The path of the file after all links, relative to the workspace.'),
        bytes: z.int().describe('The size of the content that the call writes.'),
        sha256: z.string().describe('The SHA-256 of this content.'),
        before: z
          .object({ bytes: z.int().describe('Its size.'), sha256: z.string().describe('Its SHA-256.') })
          .nullable()
          .describe('The file that is there. null: there is none.'),
        diff: z.string().describe('A unified diff against the file that is there.'),
        diff_lines_left_out: z
          .int()
          .describe(
            'How many lines of the diff are left out. The event assistant_message_added has the whole content.',
          ),
      })
      .nullable()
      .describe('What the call would change. null: the tool cannot say it.'),
    arguments: textOrNull.describe(
      'The arguments as the model wrote them. They may be cut. null: they were not recorded.',
    ),
    arguments_approved: z
      .string()
      .optional()
      .describe(
        'The arguments as the person changed them, with which the call is made. They may be cut. Absent: nobody changed them.',
      ),
    state: z
      .string()
      .describe('waiting, granted, denied or left. left: the run ended before anybody decided.'),
    requested_at: timeOrNull.describe('When Beaver asked. RFC 3339, UTC.'),
    taskseq: z.int().describe('The place of the event approval_requested in the log of the task.'),
    by: textOrNull.describe('Who decided. null: nobody decided.'),
    user_id: textOrNull.describe(
      'The user on whose behalf. null: the caller decided for itself, or nobody decided.',
    ),
    reason: textOrNull.describe('Why the call was denied. null: it was not denied.'),
    decided_at: timeOrNull.describe('When somebody decided. RFC 3339, UTC. null: nobody decided.'),
  })
  .meta({ id: 'asked_call', description: 'A call that a person was asked about.' })
/** A call that a person was asked about. */
export type AskedCallAnswer = z.infer<typeof askedCall>

export const approvals = contract(
  'The calls of one task or of all tasks that wait for a person, oldest first.',
  {
    input: z.strictObject({
      ...taskNameOfUser,
      task_id: taskNameOfUser.task_id
        .optional()
        .describe(
          'Only the calls of this task: its id or the beginning of its id. Absent: the calls of all tasks.',
        ),
      limit: limitOf('calls', { usual: 50, max: 200 }),
    }),
    output: z.object({
      task_id: taskIdField.nullable().describe('The task that the input names. null: it names none.'),
      calls: z.array(askedCall).describe('The calls, oldest first.'),
      more: paged.more,
    }),
  },
)
