// `task.submit` and `task.run`: the same request; the second is answered when the task has ended.
import { foreignId, taskResult } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { sessionIdField, taskIdField } from '../fields.ts'

const fields = z.strictObject({
  task: z.string().max(1_000_000).optional().describe('What to do, in words. Required, unless "workflow" is given.'),
  workflow: z
    .strictObject({
      name: z.string().describe('A workflow tool, such as GraphWorkflow, or a definition file, such as workflow:summarize.'),
      arguments: z.record(z.string(), z.unknown()),
    })
    .optional()
    .describe('Instead of "task": a workflow to run as it is, without a root agent.'),
  task_id: foreignId
    .optional()
    .describe('An id of your own, which makes a repeated request harmless. Absent: one is made up. 1 to 128 characters, no control characters.'),
  session_id: foreignId
    .optional()
    .describe('Tasks of one session run one after the other. Absent: the session of the task with this id, else a new one. 1 to 128 characters.'),
  fresh: z
    .enum(['task', 'session'])
    .optional()
    .describe('What you made up just now, so that it is not looked for: the id of the task, or that of the session too. Leave it out when you ask again.'),
  workspace: z.string().optional().describe('The absolute path of the folder that the agents may work in. Absent: where the daemon was started.'),
  skill: z.string().optional().describe('The name of a skill to activate. Absent: none is named.'),
  profile: z.string().optional().describe("The name of the root agent's profile. Absent: the default of the daemon."),
  source: z.string().max(128).optional().describe('Who you are, for the record. Absent: "nats".'),
  stream: z.boolean().optional().describe('Answers are streamed and published live, for somebody who follows. Absent: they are not.'),
  approvals: z
    .enum(['wait', 'refuse'])
    .optional()
    .describe('What becomes of calls that need an approval; "refuse" where nobody can answer. Absent: as the daemon is configured.'),
  title: z.string().min(1).max(200).optional().describe('A name for the task, for the record.'),
  user_id: foreignId.optional().describe('Whom the task is for, for the record. 1 to 128 characters.'),
})

export const submitRequest = fields
  .refine((request) => request.task !== undefined || request.workflow !== undefined, {
    path: ['task'],
    message: 'is required, or "workflow" instead of it',
  })
  .refine(({ fresh, task_id, session_id }) => fresh === undefined || (task_id !== undefined && (fresh === 'task' || session_id !== undefined)), {
    path: ['fresh'],
    message: 'says that "task_id" was made up just now, and with "session" that "session_id" was too: give them',
  })
export type SubmitRequest = z.input<typeof submitRequest>
/** A task as a client describes it. */
export type SubmitTask = Readonly<Omit<SubmitRequest, 'fresh'>>

const submitted = z.object({ task_id: taskIdField, session_id: sessionIdField })
/** Where an accepted task is. */
export type SubmittedTask = z.infer<typeof submitted>

const outcome = taskResult.extend({ ...submitted.shape, status: z.enum(['completed', 'incomplete', 'failed', 'cancelled']) })
/** What a task ended with. */
export type TaskOutcome = z.infer<typeof outcome>

export const submit = contract('Submits a task. It is durable when the answer is there.', { input: submitRequest, output: submitted })
export const run = contract('Submits a task and waits for its end. The same request again waits for the same task, if it names a task_id.', {
  input: submitRequest,
  output: outcome,
})
/** The answer to a retry builds on it. */
export const submittedFields = submitted.shape
