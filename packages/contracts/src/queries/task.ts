// `task`: one task whole. What was asked, who did what, what came out, what failed, and whether the record is
// intact.
import { failure } from '@beaver/core/supervision'
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  archiveOfLog,
  after,
  count,
  limitOf,
  paged,
  runIdField,
  taskIdField,
  taskNameOfUser,
  textOrNull,
  time,
} from '../fields.ts'
import { askedCall } from './approvals.ts'
import { askedQuestion } from './questions.ts'
import { finding } from './audit.ts'
import { check, run, team } from './run-tree.ts'
import { summaryFields } from './tasks.ts'

const detail = z
  .object({
    ...summaryFields,
    workspace: textOrNull.describe(
      'The absolute path of the folder in which the agents may work. null: not known.',
    ),
    source: textOrNull.describe('The program that submitted the task, as it says. null: not known.'),
    submitted_by: textOrNull.describe(
      'Who submitted the task, by the name under which the NATS server let the request pass. null: not known.',
    ),
    workflow: textOrNull.describe('The workflow that the task runs. null: a root agent works on the task.'),
    profile: textOrNull.describe('The profile of the root agent. null: the default profile.'),
    previous_task_id: taskIdField
      .nullable()
      .describe('The task that was accepted before this one in its session. null: this is the first task.'),
    root_run_id: runIdField.nullable().describe('The run of the root agent. null: there is none.'),
    daemon: textOrNull.describe('The daemon that drives the task. null: none.'),
    claims: count.describe('How often a daemon claimed the task.'),
    cancel_reason: textOrNull.describe('Why somebody asked to cancel the task. null: nobody asked.'),
    dead_lettered: z.boolean().describe('Whether Beaver gave up on the task.'),
    epoch: count.describe('The number of the latest claim.'),
    last_taskseq: count.describe('The place of the last event in the log of the task.'),
    head_hash: z.string().describe('The hash of the last record.'),
  })
  .meta({ id: 'task_detail', description: 'One task as a whole.' })

export const task = contract(
  'Everything about one task: its agents, evidence, failures, approvals, usage and result, and whether its record is intact.',
  {
    input: z.strictObject({
      ...taskNameOfUser,
      after,
      limit: limitOf('nodes of all teams together', { usual: 200, max: 512 }),
    }),
    output: z.object({
      task: detail.describe('The task.'),
      runs: z
        .array(run)
        .describe('The runs that belong to no team. Each has its teams and their runs in it.'),
      teams: z.array(team).describe('The team of a task that is a workflow.'),
      more: z
        .boolean()
        .describe(
          'Whether more pages of nodes follow. The first page also has the nodes that failed or are at work, wherever they are declared.',
        ),
      next: paged.next,
      questions: z
        .array(askedQuestion)
        .optional()
        .describe(
          'Every question that a call asked a person. Those that wait come first. Absent: an older version answers.',
        ),
      approvals: z
        .array(askedCall)
        .describe('Every call about which Beaver asked a person. Those that wait come first.'),
      steers: z
        .array(
          z.object({
            request_id: z.string().describe('The id of the request.'),
            text: z.string().describe('The text, cut to 1,000 characters.'),
            text_chars: count.describe('The length of the whole text.'),
            by: textOrNull.describe('Who steered the task. null: an older version did not record it.'),
            user_id: textOrNull.describe('The user on whose behalf. null: the caller steered for itself.'),
            at: time,
            taskseq: count.describe('The place of the request in the log.'),
            given_taskseq: count
              .nullable()
              .describe(
                'The place of the message in which the root agent was given the text. null: it was not given it.',
              ),
          }),
        )
        .describe('The texts with which the task was steered, in order.'),
      final_output: textOrNull.describe(
        'The answer. Beaver cuts it after 40,000 characters. null: the task has not ended.',
      ),
      final_output_chars: count.describe('The number of characters (UTF-16 units) of the whole output.'),
      unfit_output: z
        .string()
        .optional()
        .describe(
          'The last text of the agent, if the task failed because of it. Beaver cuts it after 40,000 characters. Absent: the task did not fail so.',
        ),
      outputs: z
        .array(
          z.object({
            node_id: z.string().describe('The node.'),
            output: z.string().describe('The text that the node returned. It may be cut.'),
            output_chars: count.describe('The number of characters (UTF-16 units) of the whole output.'),
          }),
        )
        .describe('The outputs of the nodes that completed, in declared order.'),
      evidence: z
        .array(check)
        .optional()
        .describe(
          'The verdict on each requirement for the final text. Absent: the task has none, or it has not ended.',
        ),
      failures: z
        .array(
          z.object({
            class: failure.shape.class.describe('The class of the failure.'),
            message: z.string().describe('What failed, for people.'),
            scope: z.string().describe('What the failure belongs to: run, node or task.'),
            id: z.string().describe('The id of that run, node or task.'),
            name: z.string().describe('The name of that run, node or task.'),
          }),
        )
        .describe('What failed. The inner failures come first, and the failure of the task comes last.'),
      more_failures: z.boolean().describe('Whether the answer leaves out failures.'),
      chain_ok: z
        .boolean()
        .describe('Whether the record of the task is intact: its chain and its signatures.'),
      unsigned: count.describe(
        'How many of its records have no signature, because they are older than the keys of the journal.',
      ),
      findings: z.array(finding).describe('What the audit found in the log of the task.'),
      more_findings: z.boolean().describe('Whether there are more findings.'),
      redactions: z
        .array(
          z.object({
            taskseq: count.describe('The place of the event in the log.'),
            by: z.string().describe('Who removed the text.'),
            at: z.string().describe('When, in RFC 3339.'),
            reason: z.string().describe('Why.'),
            bytes: z
              .enum(['erased', 'in_journal'])
              .describe('Whether the bytes were erased, or are still part of the record in the journal.'),
          }),
        )
        .describe('The texts that were removed from the record on purpose. Readers see a replacement.'),
      archives: z
        .array(
          z.object({
            file: z.string().describe('The file with the log, on the machine of the person who wrote it.'),
            sha256: z.string().describe('The SHA-256 of the file.'),
            by: z.string().describe('Who wrote it.'),
            at: z.string().describe('When, in RFC 3339.'),
            hash: z.string().describe('The head of the log in the file.'),
          }),
        )
        .describe('The files to which the log was archived.'),
      archive: archiveOfLog,
      calls_lost: count
        .optional()
        .describe(
          'How many calls of models may have been made whose answers were lost with a daemon or a thread. No sum has them. Absent: none.',
        ),
    }),
  },
)
/** One task whole. */
export type TaskAnswer = z.infer<(typeof task)['output']>
