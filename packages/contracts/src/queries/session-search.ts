// `session_search`: what an agent finds of a tenant's earlier sessions, best first (D-46).
import { z } from 'zod'
import { contract } from '../contract.ts'
import { sessionIdField, taskIdField, time } from '../fields.ts'

const hit = z.object({
  session_id: sessionIdField,
  task_id: taskIdField,
  role: z.enum(['user', 'assistant', 'tool']),
  excerpt: z.string().describe('The text around the first word that was found.'),
  at: time,
})

export const sessionSearch = contract("What an agent finds of a tenant's earlier sessions, best first.", {
  input: z.strictObject({
    query: z.string().max(1000).describe('Words, separated by white space. All of them must occur, anywhere in the text.'),
    tenant: z.string().min(1).max(128),
    session_id: z.string().max(128).optional().describe('The session that asks. It is left out, unless include_current is true.'),
    include_current: z.boolean().default(false),
    limit: z.number().default(10).describe('At most this many hits. A number outside of 1 to 50 is brought into it.'),
  }),
  output: z.object({ hits: z.array(hit) }),
})
