// `failures`: why tasks failed, in groups of the same cause.
import { failure } from '@beaver/core/supervision'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, limitOf, paged, taskIdField, timeOrNull } from '../fields.ts'
import { taskFilter } from './tasks.ts'

const concentration = z.object({
  kind: z.enum(['workflow', 'skill', 'profile', 'model']).describe('What is named.'),
  name: z.string().describe('The name that most tasks of the group have.'),
  tasks: count.describe('How many tasks of the group have it.'),
})

const failureGroup = z
  .object({
    failure_class: failure.shape.class,
    pattern: z
      .string()
      .describe(
        'What the messages of the group have in common: the message with <id>, <n>, <time> and <path> in place of what differs from task to task. At most 300 characters.',
      ),
    message: z
      .string()
      .describe('The message of the newest task of the group. It is cut at 1,000 characters.'),
    tasks: count.describe('How many tasks failed in this way.'),
    first_at: timeOrNull.describe('When the first of them ended. RFC 3339, UTC. null: not known.'),
    last_at: timeOrNull.describe('When the last of them ended. RFC 3339, UTC. null: not known.'),
    task_ids: z.array(taskIdField).describe('The newest of these tasks, at most 5. The newest comes first.'),
    mostly: z
      .array(concentration)
      .describe(
        'For the workflow, the skill that the request names, the profile and the model of the last answer: the name that most tasks of the group have. What no task of the group has is absent.',
      ),
  })
  .meta({ id: 'failure_group', description: 'Tasks that failed with the same class and the same message.' })

/** The filters of `tasks` that need no whole task. */
const {
  tenant,
  session_id,
  user_id,
  uses_workflow,
  skill,
  profile,
  model,
  failure_class,
  submitted_since,
  submitted_before,
} = taskFilter

export const failures = contract(
  'Why tasks failed: the failed tasks in groups of the same class and the same message. Numbers, ids, times and paths in a message make no group of their own. Beaver looks at the newest 20,000 failed tasks.',
  {
    input: z.strictObject({
      tenant,
      session_id,
      user_id,
      uses_workflow,
      skill,
      profile,
      model,
      failure_class,
      submitted_since,
      submitted_before,
      limit: limitOf('groups', { usual: 50, max: 200 }),
    }),
    output: z.object({
      tasks: count.describe(
        'How many failed tasks there are in all groups, also in those that the answer leaves out.',
      ),
      looked_at: count.describe(
        'How many failed tasks Beaver looked at, also those that do not fit the filter.',
      ),
      at_least: z
        .boolean()
        .describe(
          'Whether there are older failed tasks, at which Beaver did not look. The numbers are then those of the newest tasks.',
        ),
      groups: z.array(failureGroup).describe('The groups, the one with most tasks first.'),
      more: paged.more.describe('Whether the answer leaves out groups.'),
    }),
  },
)
