// `status`: what one of the daemons says of itself.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count } from '../fields.ts'

const answer = z.object({
  daemon: z.string().describe('The id of the daemon that answers first.'),
  provider: z.string(),
  model: z.string(),
  tasks: count.describe('How many tasks it holds now.'),
  skills: z.array(z.object({ name: z.string(), description: z.string() })).describe('What a task may name as its skill.'),
  profiles: z.array(z.string()).describe('What a task may name as its profile.'),
  workflows: z.array(z.string()).describe('What a task may name as its workflow.'),
})
/** What a daemon says of itself. */
export type DaemonStatus = z.infer<typeof answer>

export const status = contract('What one of the daemons says of itself: its model, its tasks, and what a task may name.', {
  input: z.strictObject({}),
  output: answer,
})
