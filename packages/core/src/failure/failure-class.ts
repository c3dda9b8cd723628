// The ways LLM work fails, and what its supervisor does about each: a table, so that tests and operators read it as one.
// F1. Every class has a policy. F2. Every retry is bounded.
import { z } from 'zod'

export const failureClass = z.enum([
  'rate_limited',
  'provider_unavailable',
  'provider_timeout',
  'provider_refused',
  'context_overflow',
  'refusal',
  'malformed_output',
  'tool_timeout',
  'tool_crash',
  'worker_lost',
  'out_of_memory',
  'iterations_exhausted',
  'budget_exceeded',
  'deadline_exceeded',
  'evidence_missing',
  'empty_output',
  'cancelled',
  'internal',
])
export type FailureClass = z.infer<typeof failureClass>

/**
 * - `retry`: the same call again, after a jittered pause; when the tries are used up, the run fails.
 * - `restart`: the loop again from the journal, in another worker; when the restarts are used up, the run fails.
 * - `fail_run`: the run fails at once; its supervisor blocks what depends on it.
 */
export type FailurePolicy =
  | { readonly action: 'retry'; readonly triesMax: number; readonly pauseMsMin: number; readonly pauseMsMax: number }
  | { readonly action: 'restart'; readonly restartsMax: number }
  | { readonly action: 'fail_run' }

const failRun: FailurePolicy = { action: 'fail_run' }

export const failurePolicies: Readonly<Record<FailureClass, FailurePolicy>> = {
  rate_limited: { action: 'retry', triesMax: 6, pauseMsMin: 500, pauseMsMax: 30_000 },
  provider_unavailable: { action: 'retry', triesMax: 5, pauseMsMin: 200, pauseMsMax: 10_000 },
  provider_timeout: { action: 'retry', triesMax: 3, pauseMsMin: 200, pauseMsMax: 5_000 },
  malformed_output: { action: 'retry', triesMax: 3, pauseMsMin: 50, pauseMsMax: 1_000 },
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
}

/** What another endpoint may well answer: after these the fallback is asked, on every call anew (PR-02). */
export const fallbackClasses: ReadonlySet<FailureClass> = new Set([
  'rate_limited',
  'provider_unavailable',
  'provider_timeout',
  'provider_refused',
  'malformed_output',
])

/**
 * The pause before try `tries + 1`, or `null` when the tries are used up. Jitter between the least pause and an exponential ceiling;
 * a server's own wish (`Retry-After`) is the least pause, up to the ceiling of the policy.
 *
 * @param random a number in [0, 1)
 */
export function retryPauseMs(policy: FailurePolicy, failed: { tries: number; random: number; retryAfterMs?: number }): number | null {
  if (policy.action !== 'retry' || failed.tries >= policy.triesMax) return null
  const ceiling = Math.min(policy.pauseMsMax, policy.pauseMsMin * 2 ** failed.tries)
  const pause = policy.pauseMsMin + failed.random * (ceiling - policy.pauseMsMin)
  return Math.round(Math.min(policy.pauseMsMax, Math.max(pause, failed.retryAfterMs ?? 0)))
}

/** What went wrong, as it stands in the journal. */
export const failure = z.object({ class: failureClass, message: z.string() })
export type Failure = z.infer<typeof failure>
