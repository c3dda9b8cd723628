// What a supervisor does about each class of failure. It is a table, so that tests and operators can read it.
// F1. Every class has a policy.
// F2. Every retry is bounded, in tries and in time. The caller supplies the earlier tries and waits, which it
// reads from the journal. No function here reads a clock.
import { supervisors } from '../supervision/supervisors.ts'
import type { FailureClass } from './failure-class.ts'

/**
 * - `retry`: makes the same call again, after a pause with jitter. The run fails after `triesMax` tries and
 * at least `waitMsMax` of waiting. If `waitMsMax` is 0, only the tries count.
 * - `restart`: restarts the loop from the journal, in another worker. The run fails after `restartsMax`
 * restarts.
 * - `fail_run`: fails the run at once. The supervisor of the run blocks what depends on it.
 */
export type FailurePolicy =
  | {
      readonly action: 'retry'
      readonly triesMax: number
      readonly pauseMsMin: number
      readonly pauseMsMax: number
      readonly waitMsMax: number
    }
  | { readonly action: 'restart'; readonly restartsMax: number }
  | { readonly action: 'fail_run' }

/** A policy for each class of failure. */
export type FailurePolicies = Readonly<Record<FailureClass, FailurePolicy>>

/**
 * How long a run waits for a provider that is away, or for a rate limit, before it fails: one hour, in
 * milliseconds.
 */
export const waitMsDefault = 3_600_000

const failRun: FailurePolicy = { action: 'fail_run' }

/** The default policies. */
export const failurePolicies = {
  rate_limited: {
    action: 'retry',
    triesMax: 6,
    pauseMsMin: 500,
    pauseMsMax: 30_000,
    waitMsMax: waitMsDefault,
  },
  provider_unavailable: {
    action: 'retry',
    triesMax: 5,
    pauseMsMin: 200,
    pauseMsMax: 30_000,
    waitMsMax: waitMsDefault,
  },
  provider_timeout: {
    action: 'retry',
    triesMax: 3,
    pauseMsMin: 200,
    pauseMsMax: 30_000,
    waitMsMax: waitMsDefault,
  },
  malformed_output: { action: 'retry', triesMax: 3, pauseMsMin: 50, pauseMsMax: 1_000, waitMsMax: 0 },
  provider_refused: failRun,
  context_overflow: failRun,
  refusal: failRun,
  output_truncated: failRun,
  tool_timeout: failRun,
  tool_crash: failRun,
  worker_lost: { action: 'restart', restartsMax: supervisors.loop.intensity.restartsMax },
  out_of_memory: { action: 'restart', restartsMax: supervisors.loop_out_of_memory.intensity.restartsMax },
  iterations_exhausted: failRun,
  budget_exceeded: failRun,
  growth_exceeded: failRun,
  no_progress: failRun,
  deadline_exceeded: failRun,
  evidence_missing: failRun,
  empty_output: failRun,
  output_invalid: failRun,
  tool_choice_unmet: failRun,
  cancelled: failRun,
  invalid_configuration: failRun,
  internal: failRun,
} as const satisfies FailurePolicies

/**
 * How often one call pays for an answer that is of no use, such as one that its server breaks off. Then the
 * run fails, whatever the policy of the class says: an outage costs nothing, but a server that always ends so
 * would be paid for as long as a run waits.
 */
export const paidTriesMax = 6

/**
 * The failures of a provider that is away or does not answer in time. A run waits for it for up to
 * `provider_outage_ms_max`.
 */
export const outageClasses: ReadonlySet<FailureClass> = new Set(['provider_unavailable', 'provider_timeout'])

/** What an operator may change in a policy. The action of a class is fixed. */
export interface RetryChange {
  readonly triesMax?: number | undefined
  readonly pauseMsMin?: number | undefined
  readonly pauseMsMax?: number | undefined
  readonly restartsMax?: number | undefined
}

/**
 * The default policies with the configured changes.
 *
 * @param change.outageMsMax how long a run waits for a provider that is away. Default: one hour
 * @param change.limitMsMax how long a run waits for a rate limit. Default: one hour
 * @example
 * const policies = policiesWith({ retries: { rate_limited: { triesMax: 2 } } })
 * policies.rate_limited.action === 'retry' && policies.rate_limited.triesMax // => 2
 */
export function policiesWith(change: {
  readonly retries?: Readonly<Partial<Record<FailureClass, RetryChange | undefined>>>
  readonly outageMsMax?: number
  readonly limitMsMax?: number
}): FailurePolicies {
  const { retries = {}, outageMsMax = waitMsDefault, limitMsMax = waitMsDefault } = change
  const changed = (name: FailureClass, policy: FailurePolicy): FailurePolicy => {
    const { triesMax, pauseMsMin, pauseMsMax, restartsMax } = retries[name] ?? {}
    if (policy.action === 'restart') return { ...policy, restartsMax: restartsMax ?? policy.restartsMax }
    if (policy.action !== 'retry') return policy
    const waitMsMax =
      name === 'rate_limited' ? limitMsMax : outageClasses.has(name) ? outageMsMax : policy.waitMsMax
    return {
      ...policy,
      triesMax: triesMax ?? policy.triesMax,
      pauseMsMin: pauseMsMin ?? policy.pauseMsMin,
      pauseMsMax: pauseMsMax ?? policy.pauseMsMax,
      waitMsMax,
    }
  }
  const entries = Object.entries(failurePolicies) as [FailureClass, FailurePolicy][]
  return Object.fromEntries(entries.map(([name, policy]) => [name, changed(name, policy)])) as FailurePolicies
}

/** The failed tries of one provider call so far. */
export interface FailedTries {
  /** Tries that failed with this class, including the last one. */
  readonly tries: number
  /** The time since the last answer that was spent waiting and on failed tries. */
  readonly waitedMs: number
  /** A random number in [0, 1). */
  readonly random: number
  /** The pause that the server asked for, or the time for which a circuit breaker stays open. Default: 0. */
  readonly retryAfterMs?: number | undefined
}

/**
 * The pause before the call is tried again, in milliseconds; `null` if the run fails. The ceiling doubles
 * with every try. The first tries pause between the minimum and the ceiling, and later tries between half the
 * ceiling and the ceiling. `retryAfterMs` raises the pause as far as the policy allows.
 *
 * @example
 * retryPauseMs(failurePolicies.rate_limited, { tries: 1, waitedMs: 0, random: 0.5 }) // => 750
 * retryPauseMs(failurePolicies.refusal, { tries: 1, waitedMs: 0, random: 0.5 }) // => null
 */
export function retryPauseMs(
  policy: FailurePolicy,
  { tries, waitedMs, random, retryAfterMs = 0 }: FailedTries,
): number | null {
  if (policy.action !== 'retry') return null
  const leftMs = policy.waitMsMax - waitedMs
  const more = tries < policy.triesMax
  if (!more && leftMs <= 0) return null
  const ceiling = Math.max(
    policy.pauseMsMin,
    Math.min(policy.pauseMsMax, policy.pauseMsMin * 2 ** Math.min(tries, 40)),
  )
  const least = more ? policy.pauseMsMin : Math.max(policy.pauseMsMin, ceiling / 2)
  const pause = Math.max(least + random * (ceiling - least), retryAfterMs)
  // The result is at least 1, because a recorded pause of 0 means that the next model of the route is asked
  // at once.
  return Math.max(1, Math.round(Math.min(more ? Math.max(leftMs, policy.pauseMsMax) : leftMs, pause)))
}

/**
 * The longest time from the first failed try until the run fails, in milliseconds, if every try takes at most
 * `tryMs` and servers ask for no longer pauses; `null` for a policy that does not retry.
 *
 * @example
 * retryTimeMsMax(failurePolicies.malformed_output, 60_000) // => 180_300
 * retryTimeMsMax(failurePolicies.refusal, 60_000) // => null
 */
export function retryTimeMsMax(policy: FailurePolicy, tryMs: number): number | null {
  if (policy.action !== 'retry') return null
  let pausesMs = 0
  for (let tries = 1; tries < policy.triesMax; tries++)
    pausesMs += retryPauseMs(policy, { tries, waitedMs: policy.waitMsMax, random: 1 }) ?? 0
  const triesTime = pausesMs + policy.triesMax * tryMs
  // The last try of a wait begins before the time is over, and may take `tryMs`.
  return Math.max(triesTime, policy.waitMsMax === 0 ? 0 : policy.waitMsMax + tryMs)
}
