// `status`: what one of the daemons says about itself.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count } from '../fields.ts'

const answer = z.object({
  daemon: z.string().describe('The id of the daemon that answers first.'),
  provider: z.string().describe('The provider that the daemon asks.'),
  model: z.string().describe('The model that the daemon asks for.'),
  tasks: count.describe('How many tasks the daemon drives now.'),
  skills: z
    .array(z.object({ name: z.string().describe('The name of the skill.'), description: z.string().describe('What the skill is for.') }))
    .describe('The skills that a task may name.'),
  profiles: z.array(z.string()).describe('The profiles that a task may name.'),
  workflows: z.array(z.string()).describe('The workflows that a task may name.'),
  workflow_texts: z
    .record(z.string(), z.string())
    .optional()
    .describe('The workflows that one text is enough for, each with the input that the text is for. Absent: an older daemon answers.'),
  changes_not_used: z
    .array(z.object({ file: z.string().describe('The file or folder.'), message: z.string().describe('Why the change cannot be used.') }))
    .optional()
    .describe('Changes of skills, definitions and profiles that cannot be used: the daemon goes on with what it has. Absent: there are none.'),
})
/** What a daemon says about itself. */
export type DaemonStatus = z.infer<typeof answer>

export const status = contract('Asks one daemon for its model, its tasks, and the skills, profiles and workflows that a task may name.', {
  input: z.strictObject({}),
  output: answer,
})
