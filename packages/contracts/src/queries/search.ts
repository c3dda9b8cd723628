// `search`: full text over the visible transcript, newest first.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { before, limitOf, paged, runIdField, sessionIdField, taskIdField, tenantField, textOrNull, time } from '../fields.ts'

const hit = z.object({
  task_id: taskIdField,
  session_id: sessionIdField,
  tenant: tenantField,
  taskseq: z.int().describe('The place of the event in the log of the task.'),
  run_id: runIdField.nullable(),
  agent_name: textOrNull,
  role: z.string().describe('user, assistant or tool.'),
  name: textOrNull.describe('The tool, for the role tool.'),
  time,
  snippet: z.string().describe('The text around the first word that was found.'),
})

export const search = contract('Where something was said, in all tasks, newest first.', {
  input: z.strictObject({
    query: z.string().max(1000).describe('Words, separated by white space. All of them must occur, anywhere in the text.'),
    tenant: z.string().max(128).optional().describe('Only tasks of this tenant.'),
    session_id: z.string().max(128).optional().describe('Only tasks of this session.'),
    limit: limitOf('hits', { usual: 20, max: 100 }),
    before,
  }),
  output: z.object({ hits: z.array(hit), ...paged }),
})
export type SearchAnswer = z.infer<(typeof search)['output']>
