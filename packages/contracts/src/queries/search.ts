// `search`: full text over the visible transcript and over what failed, newest first.
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  before,
  limitOf,
  onlyOfTenant,
  onlyOfUser,
  paged,
  runIdField,
  sessionIdField,
  taskIdField,
  tenantField,
  textOrNull,
  time,
} from '../fields.ts'

const hit = z.object({
  task_id: taskIdField,
  session_id: sessionIdField,
  tenant: tenantField,
  taskseq: z.int().describe('The place of the event in the log of the task.'),
  run_id: runIdField.nullable().describe('The run that said it. null: none.'),
  agent_name: textOrNull.describe('The name of the agent. null: not known.'),
  role: z.string().describe('Who said it: user, assistant or tool. failure: the text tells what failed.'),
  name: textOrNull.describe('The name of the tool, or of the node that failed. null: neither.'),
  time,
  snippet: z.string().describe('The text around the first word that was found.'),
})

export const search = contract(
  'Searches the texts and the failures of all tasks. The newest hit comes first.',
  {
    input: z.strictObject({
      query: z
        .string()
        .max(1000)
        .describe('Words, separated by white space. All of them must occur, anywhere in the text.'),
      tenant: onlyOfTenant('tasks'),
      session_id: z.string().max(128).optional().describe('Only tasks of this session. Absent: any session.'),
      user_id: onlyOfUser('tasks'),
      limit: limitOf('hits', { usual: 20, max: 100 }),
      before,
    }),
    output: z.object({ hits: z.array(hit).describe('The hits, newest first.'), ...paged }),
  },
)
export type SearchAnswer = z.infer<(typeof search)['output']>
