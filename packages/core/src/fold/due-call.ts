// The provider call that a run is to make next: what failed of it so far, and how long it was waited for. Part of the run's state.
// D1. It begins anew with every answer, and whenever the conversation was shortened. D2. It is folded from the journal alone: pauses
//     and the time that failed tries took are data, and no clock is read.
import type { DataOf } from '../events/catalog.ts'
import type { Failure, FailureClass } from '../failure/failure-class.ts'

export interface DueCall {
  /** Failed tries by class. A try of main and the fallback counts for the classes of both. */
  readonly triesOf: Readonly<Partial<Record<FailureClass, number>>>
  /** Pauses, and what the failed tries took. */
  readonly waitedMs: number
  /** Main failed in this try and the fallback is due; `null`: main is. */
  readonly mainFailed: { readonly failure: Failure; readonly provider: string } | null
}

export const nothingFailed: DueCall = { triesOf: {}, waitedMs: 0, mainFailed: null }

export function failedOnce(due: DueCall, { failure, retry_in_ms, provider_name, duration_ms = 0 }: DataOf<'provider_call_failed'>): DueCall {
  const waitedMs = due.waitedMs + duration_ms + (retry_in_ms ?? 0)
  if (retry_in_ms === 0) return { ...due, waitedMs, mainFailed: { failure, provider: provider_name ?? '' } }
  const triesOf = { ...due.triesOf }
  for (const name of new Set([failure.class, ...(due.mainFailed === null ? [] : [due.mainFailed.failure.class])])) triesOf[name] = (triesOf[name] ?? 0) + 1
  return { triesOf, waitedMs, mainFailed: null }
}
