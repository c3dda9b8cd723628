// The key `retries`: changes to the default policies of failure classes. Only classes that are tried or
// restarted again have a place here.
import {
  type FailureClass,
  type FailurePolicies,
  type FailurePolicy,
  failurePolicies,
  policiesWith,
  type RetryChange,
} from '@beaver/core/supervision'
import { z } from 'zod'

const retried = z.strictObject({
  /** The number of tries, including the first one. */
  tries_max: z.number().int().min(1).max(1_000).optional(),
  pause_ms_min: z.number().int().min(1).max(3_600_000).optional(),
  pause_ms_max: z.number().int().min(1).max(3_600_000).optional(),
})
const restarted = z.strictObject({ restarts_max: z.number().int().min(0).max(100).optional() })

/** If the least pause is longer than the longest one, the problem is reported at the field that was given. */
const ofRetried = (name: FailureClass) =>
  retried
    .superRefine((given, context) => {
      const policy: FailurePolicy = failurePolicies[name]
      if (policy.action !== 'retry') return
      const least = given.pause_ms_min ?? policy.pauseMsMin
      const most = given.pause_ms_max ?? policy.pauseMsMax
      if (least <= most) return
      const message = `the least pause (${least} ms) must not be longer than the longest (${most} ms)`
      context.addIssue({
        code: 'custom',
        path: [given.pause_ms_max === undefined ? 'pause_ms_min' : 'pause_ms_max'],
        message,
      })
    })
    .optional()

export const retries = z
  .strictObject({
    rate_limited: ofRetried('rate_limited'),
    provider_unavailable: ofRetried('provider_unavailable'),
    provider_timeout: ofRetried('provider_timeout'),
    malformed_output: ofRetried('malformed_output'),
    worker_lost: restarted.optional(),
    out_of_memory: restarted.optional(),
  })
  .prefault({})

/** The configured policy of each failure class. */
export function configuredPolicies(config: {
  readonly retries: z.output<typeof retries>
  readonly provider_outage_ms_max: number
  readonly provider_limit_ms_max: number
}): FailurePolicies {
  const changes = Object.entries(config.retries).map(([name, given]): [string, RetryChange] => {
    const {
      tries_max: triesMax,
      pause_ms_min: pauseMsMin,
      pause_ms_max: pauseMsMax,
      restarts_max: restartsMax,
    } = given as Partial<Record<string, number>>
    return [name, { triesMax, pauseMsMin, pauseMsMax, restartsMax }]
  })
  return policiesWith({
    retries: Object.fromEntries(changes),
    outageMsMax: config.provider_outage_ms_max,
    limitMsMax: config.provider_limit_ms_max,
  })
}
