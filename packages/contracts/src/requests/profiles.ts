// `profile.add_workflow`: adds a workflow to the tools of an agent profile, in the file of the profile.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { onBehalfOf } from '../fields.ts'

export const addWorkflow = contract(
  'Adds a workflow to the tools of an agent profile. The daemon that answers writes the file of the profile and uses it for later runs.',
  {
    input: z.strictObject({
      profile: z.string().min(1).max(200).describe('The name of a profile that the daemon has loaded.'),
      workflow: z
        .string()
        .min(1)
        .max(200)
        .describe(
          'The workflow, such as GraphWorkflow or workflow:summarize. An agent must be able to call it.',
        ),
      user_id: onBehalfOf,
    }),
    output: z.object({
      daemon: z.string().describe('The id of the daemon that answers.'),
      profile: z.string().describe('The name of the profile.'),
      workflow: z.string().describe('The workflow.'),
      file: z.string().describe('The file of the profile, on the machine of the daemon.'),
      changed: z
        .boolean()
        .describe('Whether the file was written. false: the profile has the workflow already.'),
      tool_ids: z
        .array(z.string())
        .nullable()
        .describe('The ids of its tools after that. null: it has what an agent without a profile has.'),
      made_list: z
        .boolean()
        .describe(
          'Whether the profile had no list of tools and got one. The list has all the tools of now. Tools that come later are not in it.',
        ),
    }),
  },
)
