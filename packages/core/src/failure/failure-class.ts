// The ways in which LLM work fails. The reaction to each is in failure-policy.ts.
import { z } from 'zod'

/** The class of a failure. */
export const failureClass = z.enum([
  'rate_limited',
  'provider_unavailable',
  'provider_timeout',
  'provider_refused',
  'context_overflow',
  'refusal',
  'malformed_output',
  'output_truncated',
  'tool_timeout',
  'tool_crash',
  'worker_lost',
  'out_of_memory',
  'iterations_exhausted',
  'budget_exceeded',
  'growth_exceeded',
  'no_progress',
  'deadline_exceeded',
  'evidence_missing',
  'empty_output',
  'output_invalid',
  'tool_choice_unmet',
  'cancelled',
  'invalid_configuration',
  'internal',
])
export type FailureClass = z.infer<typeof failureClass>

/**
 * The failures after which the next model of the route is asked, because another endpoint may answer. Each
 * call asks the main provider first (PR-02).
 */
export const fallbackClasses: ReadonlySet<FailureClass> = new Set([
  'rate_limited',
  'provider_unavailable',
  'provider_timeout',
  'provider_refused',
  'malformed_output',
])

/** A failure as the journal stores it. `message` is for people. */
export const failure = z.object({
  class: failureClass.describe('The class of the failure. It decides what Beaver does next.'),
  message: z.string().describe('What failed, for people.'),
})
export type Failure = z.infer<typeof failure>
