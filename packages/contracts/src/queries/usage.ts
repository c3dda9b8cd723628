// `usage`: what calls of models used, by day, by user, by tenant or by model.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { limitOf, onlyOfTenant, onlyOfUser, paged, textOrNull } from '../fields.ts'
import { usageFields } from './tasks.ts'

const groups = ['day', 'user', 'tenant', 'model'] as const
/** By what usage is summed. */
export type UsageGroup = (typeof groups)[number]

const group = z
  .object({
    key: textOrNull.describe(
      'The day (YYYY-MM-DD), the user, the tenant or the model. null: no user, or a model without a name.',
    ),
    ...usageFields,
  })
  .meta({
    id: 'usage_group',
    description: 'What calls of models used on one day, for one user, for one tenant or by one model.',
  })

const usageAnswer = z.object({
  since: z.iso.date().describe('The first day that counts. YYYY-MM-DD, UTC.'),
  until: z.iso.date().describe('The last day that counts. YYYY-MM-DD, UTC.'),
  total: z.object(usageFields).describe('All groups together, also those that the answer leaves out.'),
  groups: z
    .array(group)
    .describe('Days: newest first. Users, tenants and models: the one with most tokens first.'),
  more: paged.more.describe('Whether the answer leaves out groups.'),
})
export type UsageAnswer = z.infer<typeof usageAnswer>

export const usage = contract(
  'What calls of models used, as providers reported it, by day, by user, by tenant or by model. It does not count calls of archived events.',
  {
    input: z.strictObject({
      by: z.enum(groups).default('day').describe('By what to sum.'),
      since: z.iso
        .date()
        .optional()
        .describe('The first day that counts. YYYY-MM-DD, UTC. Default: 30 days before the last one.'),
      until: z.iso.date().optional().describe('The last day that counts. YYYY-MM-DD, UTC. Default: today.'),
      split_at: z
        .array(z.iso.date())
        .max(100)
        .optional()
        .describe(
          'Days on which a period begins. usage_by_model then has an item for each model and period. Default: one period.',
        ),
      tenant: onlyOfTenant('tasks'),
      user_id: onlyOfUser('tasks'),
      limit: limitOf('groups', { usual: 100, max: 1_000 }),
    }),
    output: usageAnswer,
  },
)
