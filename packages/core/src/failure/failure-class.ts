// The ways LLM work fails. What is done about each is in failure-policy.ts.
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

/** What another endpoint may well answer: after these the fallback is asked, on every call anew (PR-02). */
export const fallbackClasses: ReadonlySet<FailureClass> = new Set([
  'rate_limited',
  'provider_unavailable',
  'provider_timeout',
  'provider_refused',
  'malformed_output',
])

/** What went wrong, as it stands in the journal. */
export const failure = z.object({ class: failureClass, message: z.string() })
export type Failure = z.infer<typeof failure>
