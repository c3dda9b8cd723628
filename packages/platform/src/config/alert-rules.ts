// `alerts.rules` of the configuration: what the projector watches, and from which value on it sends an alert. A
// rule that is absent watches nothing.
import { z } from 'zod'

const weekMs = 604_800_000
const longer = z.strictObject({ longer_than_ms: z.number().int().min(1_000).max(weekMs) })

export const alertRules = z
  .strictObject({
    /** So many of the tasks that ended within this time did not complete; a cancelled task does not count. */
    failure_rate: z
      .strictObject({
        percent: z.number().min(1).max(100),
        within_ms: z.number().int().min(60_000).max(weekMs).default(900_000),
        /** Fewer ended tasks say nothing. */
        tasks_min: z.number().int().min(1).max(10_000).default(10),
      })
      .optional(),
    /** The known cost of a day (UTC), in US dollars. */
    spend: z.strictObject({ usd: z.number().positive().max(1_000_000_000) }).optional(),
    /** A task waits for a person. */
    waits: longer.optional(),
    /** No daemon claims a task. */
    queue: longer.optional(),
    /** The read model does not move although messages wait. */
    behind: longer.optional(),
  })
  .default({})
