// `task`: one task whole. What was asked, who did what, what came out, what failed, and whether the record is intact.
import { failure } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, limitOf, runIdField, taskIdField, taskName, textOrNull } from '../fields.ts'
import { askedCall } from './approvals.ts'
import { finding } from './audit.ts'
import { run, team } from './run-tree.ts'
import { summaryFields } from './tasks.ts'

const detail = z
  .object({
    ...summaryFields,
    workspace: textOrNull.describe('The absolute path of the folder that the agents may work in. null: not known.'),
    source: textOrNull.describe('Who submitted it, for the record. null: not known.'),
    workflow: textOrNull.describe('The workflow that the task is. null: a root agent has the task.'),
    profile: textOrNull.describe('The profile of the root agent. null: the default one.'),
    previous_task_id: taskIdField.nullable().describe('The task accepted before it in its session. null: it is the first.'),
    root_run_id: runIdField.nullable().describe('The run of the root agent. null: there is none.'),
    daemon: textOrNull.describe('The daemon that drives it. null: none does.'),
    claims: count,
    cancel_reason: textOrNull.describe('Why a cancel was asked for. null: none was.'),
    dead_lettered: z.boolean(),
    epoch: count,
    last_taskseq: count.describe('The place of its last event.'),
    head_hash: z.string().describe('The hash of its last record.'),
  })
  .meta({ id: 'task_detail', description: 'One task with everything that is known of it as a whole.' })

export const task = contract('One task whole: agents, evidence, failures, approvals, usage, result, and whether its record is intact.', {
  input: z.strictObject({ ...taskName, limit: limitOf('nodes of all teams together', { usual: 200, max: 512 }) }),
  output: z.object({
    task: detail,
    runs: z.array(run).describe('The runs that no team of the task called for; others stand below them.'),
    teams: z.array(team).describe('The team of a task that is a workflow.'),
    more: z.boolean().describe('Nodes or runs were left out.'),
    approvals: z.array(askedCall).describe('Every call that a person was asked about; those that wait come first.'),
    final_output: textOrNull.describe('Cut after 40,000 characters. null: the task has not ended.'),
    final_output_chars: count.describe('Characters (UTF-16 units) of the whole output.'),
    outputs: z.array(z.object({ node_id: z.string(), output: z.string().describe('It may be cut.'), output_chars: count })),
    failures: z
      .array(failure.extend({ scope: z.string().describe('run, node or task.'), id: z.string(), name: z.string() }))
      .describe('What failed, from the inside out.'),
    chain_ok: z.boolean().describe('The record of the task is intact.'),
    findings: z.array(finding),
    more_findings: z.boolean(),
  }),
})
/** One task whole. */
export type TaskAnswer = z.infer<(typeof task)['output']>
