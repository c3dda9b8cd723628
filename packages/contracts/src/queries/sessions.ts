// `sessions`: the conversations, the one with the newest task first. `session`: the tasks of one, as a person
// reads them.
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  before,
  count,
  failureOrNull,
  inTime,
  limitOf,
  onlyOfTenant,
  onlyOfUser,
  paged,
  sessionIdField,
  taskIdField,
  tenantField,
  textOrNull,
  timeOrNull,
} from '../fields.ts'

const session = z
  .object({
    session_id: sessionIdField,
    tenant: tenantField.describe('The tenant to which the session belongs.'),
    user_id: textOrNull.describe('The user to whom the session belongs. null: it belongs to the tenant.'),
    title: textOrNull.describe('The title of the first task. null: it has none.'),
    text: textOrNull.describe('What the first task asked. It may be cut. null: not known.'),
    tasks: count.describe('How many tasks the session has.'),
    open: count.describe('How many of them have not ended.'),
    began_at: timeOrNull.describe('When the first task was submitted. RFC 3339, UTC. null: not known.'),
    last_at: timeOrNull.describe(
      'When something happened last in the newest task. RFC 3339, UTC. null: not known.',
    ),
    last_task_id: taskIdField.describe('The id of the newest task.'),
    last_status: z.string().describe('The state of the newest task, as in the query tasks.'),
  })
  .meta({ id: 'session_summary', description: 'One session: a conversation across tasks.' })
export type SessionSummary = z.infer<typeof session>

const turn = z.object({
  task_id: taskIdField,
  title: textOrNull.describe('The title of the task. null: it has none.'),
  status: z.string().describe('The state of the task, as in the query tasks.'),
  workflow: textOrNull.describe('The workflow that the task runs. null: a root agent works on the task.'),
  retry_of: taskIdField.nullable().describe('The task that this one retries. null: it is no retry.'),
  text: textOrNull.describe('What the task asked. It may be cut. null: not known.'),
  text_chars: count.describe('The number of characters (UTF-16 units) of the whole text.'),
  answer: textOrNull.describe('The final output. It may be cut. null: the task has not ended.'),
  answer_chars: count.describe('The number of characters (UTF-16 units) of the whole output.'),
  failure: failureOrNull,
  simulated: z
    .boolean()
    .nullable()
    .describe('Whether the simulated model answered. null: the task has not ended.'),
  submitted_at: timeOrNull.describe('When the task was submitted. RFC 3339, UTC. null: not known.'),
  ended_at: timeOrNull.describe('When the task ended. RFC 3339, UTC. null: it has not ended.'),
})
export type SessionTurn = z.infer<typeof turn>

export const sessions = contract('Lists the sessions. The one with the newest task comes first.', {
  input: z.strictObject({
    tenant: onlyOfTenant('sessions'),
    user_id: onlyOfUser('sessions'),
    ...inTime('sessions whose newest task was submitted'),
    limit: limitOf('sessions', { usual: 20, max: 200 }),
    before,
  }),
  output: z.object({ sessions: z.array(session).describe('The sessions.'), ...paged }),
})
export type SessionsAnswer = z.infer<(typeof sessions)['output']>

export const oneSession = contract(
  'Reads one session: what its tasks asked, and what came out. The newest task comes first.',
  {
    input: z.strictObject({
      session_id: z
        .string()
        .min(1)
        .max(128)
        .describe(
          'The id of the session, a beginning of the id that no other session has, or `latest` for the one with the newest task.',
        ),
      tenant: onlyOfTenant('a session'),
      user_id: onlyOfUser('sessions'),
      limit: limitOf('tasks', { usual: 50, max: 200 }),
      before,
    }),
    output: z.object({
      session: session.describe('The session.'),
      tasks: z.array(turn).describe('Its tasks, newest first.'),
      ...paged,
    }),
  },
)
export type SessionAnswer = z.infer<(typeof oneSession)['output']>
