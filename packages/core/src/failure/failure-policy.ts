// What a supervisor does about each class of failure: a table, so that tests and operators read it as one.
// F1. Every class has a policy. F2. Every retry is bounded, in tries and in time. F3. What was tried and waited for before is given
//     by the caller, who has it from the journal: nothing here reads a clock.
import type { FailureClass } from './failure-class.ts'

/**
 * - `retry`: the same call again, after a jittered pause. The run fails when `triesMax` tries were made and at least `waitMsMax`
 *   was waited; 0: the tries alone decide.
 * - `restart`: the loop again from the journal, in another worker; when the restarts are used up, the run fails.
 * - `fail_run`: the run fails at once; its supervisor blocks what depends on it.
 */
export type FailurePolicy =
  | { readonly action: 'retry'; readonly triesMax: number; readonly pauseMsMin: number; readonly pauseMsMax: number; readonly waitMsMax: number }
  | { readonly action: 'restart'; readonly restartsMax: number }
  | { readonly action: 'fail_run' }

export type FailurePolicies = Readonly<Record<FailureClass, FailurePolicy>>

/** How long a run waits for a provider that is away, and for a limit, before it fails: an hour. */
export const waitMsDefault = 3_600_000

const failRun: FailurePolicy = { action: 'fail_run' }

/** As they are where nothing is configured. */
export const failurePolicies = {
  rate_limited: { action: 'retry', triesMax: 6, pauseMsMin: 500, pauseMsMax: 30_000, waitMsMax: waitMsDefault },
  provider_unavailable: { action: 'retry', triesMax: 5, pauseMsMin: 200, pauseMsMax: 30_000, waitMsMax: waitMsDefault },
  provider_timeout: { action: 'retry', triesMax: 3, pauseMsMin: 200, pauseMsMax: 30_000, waitMsMax: waitMsDefault },
  malformed_output: { action: 'retry', triesMax: 3, pauseMsMin: 50, pauseMsMax: 1_000, waitMsMax: 0 },
  provider_refused: failRun,
  context_overflow: failRun,
  refusal: failRun,
  tool_timeout: failRun,
  tool_crash: failRun,
  worker_lost: { action: 'restart', restartsMax: 3 },
  out_of_memory: { action: 'restart', restartsMax: 1 },
  iterations_exhausted: failRun,
  budget_exceeded: failRun,
  deadline_exceeded: failRun,
  evidence_missing: failRun,
  empty_output: failRun,
  cancelled: failRun,
  internal: failRun,
} as const satisfies FailurePolicies

/** A provider that is away or does not answer in time: waited for up to `provider_outage_ms_max`. */
export const outageClasses: ReadonlySet<FailureClass> = new Set(['provider_unavailable', 'provider_timeout'])

/** What an operator may change of a policy. The action of a class is fixed. */
export interface RetryChange {
  readonly triesMax?: number | undefined
  readonly pauseMsMin?: number | undefined
  readonly pauseMsMax?: number | undefined
  readonly restartsMax?: number | undefined
}

/**
 * The default policies with what is configured.
 *
 * @param change.outageMsMax how long an outage is waited for. `limitMsMax`: how long a limit is
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
    const waitMsMax = name === 'rate_limited' ? limitMsMax : outageClasses.has(name) ? outageMsMax : policy.waitMsMax
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

/** What failed so far, of one provider call. */
export interface FailedTries {
  /** Tries that failed with this class, this one included. */
  readonly tries: number
  /** What was waited since the last answer, failed tries included. */
  readonly waitedMs: number
  /** In [0, 1). */
  readonly random: number
  /** The wish of the server, or the time for which a circuit is still open. */
  readonly retryAfterMs?: number | undefined
}

/**
 * The pause before the call is tried again, or `null` when the run fails. The ceiling doubles with every try; the first tries pause
 * anywhere between the least pause and the ceiling, later ones between half the ceiling and the ceiling. `retryAfterMs` is the least
 * pause, as far as the policy allows.
 */
export function retryPauseMs(policy: FailurePolicy, { tries, waitedMs, random, retryAfterMs = 0 }: FailedTries): number | null {
  if (policy.action !== 'retry') return null
  const leftMs = policy.waitMsMax - waitedMs
  const more = tries < policy.triesMax
  if (!more && leftMs <= 0) return null
  const ceiling = Math.max(policy.pauseMsMin, Math.min(policy.pauseMsMax, policy.pauseMsMin * 2 ** Math.min(tries, 40)))
  const least = more ? policy.pauseMsMin : Math.max(policy.pauseMsMin, ceiling / 2)
  const pause = Math.max(least + random * (ceiling - least), retryAfterMs)
  // 0 stands for no pause at all: the fallback is asked at once.
  return Math.max(1, Math.round(Math.min(more ? Math.max(leftMs, policy.pauseMsMax) : leftMs, pause)))
}

/**
 * The most time from the first failed try until the run fails, when every try takes `tryMs` at most and servers ask for no longer
 * pauses; `null` for a policy that does not retry.
 */
export function retryTimeMsMax(policy: FailurePolicy, tryMs: number): number | null {
  if (policy.action !== 'retry') return null
  let pausesMs = 0
  for (let tries = 1; tries < policy.triesMax; tries++) pausesMs += retryPauseMs(policy, { tries, waitedMs: policy.waitMsMax, random: 1 }) ?? 0
  const triesTime = pausesMs + policy.triesMax * tryMs
  // The last try of a wait begins before the time is up, and may take its whole time.
  return Math.max(triesTime, policy.waitMsMax === 0 ? 0 : policy.waitMsMax + tryMs)
}
