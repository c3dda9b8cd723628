// `session_search`: what an agent finds of earlier sessions, newest first (D-46, D-67).
import { z } from 'zod'
import { contract } from '../contract.ts'
import { onlyOfUser, sessionIdField, taskIdField, time } from '../fields.ts'

const hit = z.object({
  session_id: sessionIdField,
  task_id: taskIdField,
  role: z.enum(['user', 'assistant', 'tool']).describe('Who said it.'),
  excerpt: z.string().describe('The text around the first word that was found.'),
  at: time,
})

export const sessionSearch = contract(
  "Searches a tenant's earlier sessions for an agent. The newest hit comes first.",
  {
    input: z.strictObject({
      query: z
        .string()
        .max(1000)
        .describe('Words, separated by white space. All of them must occur, anywhere in the text.'),
      tenant: z.string().min(1).max(128).describe('The tenant.'),
      user_id: onlyOfUser('sessions'),
      session_id: z
        .string()
        .max(128)
        .optional()
        .describe('The session of the agent. The search leaves it out, unless include_current is true.'),
      include_current: z
        .boolean()
        .default(false)
        .describe('Whether to search the session of the agent, too.'),
      limit: z
        .number()
        .default(10)
        .describe('At most this many hits, from 1 to 50. Beaver uses the nearest allowed number.'),
    }),
    output: z.object({ hits: z.array(hit).describe('The hits, newest first.') }),
  },
)
