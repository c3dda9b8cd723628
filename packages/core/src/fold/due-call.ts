// The next provider call of a run: its failed tries, and how long the run has waited for it. It starts anew
// with every answer and whenever the conversation is shortened. Pauses and times are recorded data; no clock
// is read.
import { addUsage } from '../usage.ts'
import type { Usage } from '../chat.ts'
import type { DataOf } from '../events/catalog.ts'
import type { Failure, FailureClass } from '../failure/failure-class.ts'

export interface DueCall {
  /** Failed tries by class. A try that asked several models counts once for each class. */
  readonly triesOf: Readonly<Partial<Record<FailureClass, number>>>
  /** The pauses, and the time that the failed tries took. */
  readonly waitedMs: number
  /** The models that failed in this try, in the order of the route. The next model of the route is due. */
  readonly failedSteps: readonly FailedStep[]
  /** How many answers were paid for and are of no use. */
  readonly paidTries: number
}

/** A model of a route that did not answer. */
interface FailedStep {
  readonly failure: Failure
  /** The provider's name. */
  readonly provider: string
}

export const nothingFailed: DueCall = { triesOf: {}, waitedMs: 0, failedSteps: [], paidTries: 0 }

function failedOnce(
  due: DueCall,
  { failure, retry_in_ms, provider_name, duration_ms = 0, usage }: DataOf<'provider_call_failed'>,
): DueCall {
  const paidTries = due.paidTries + (usage === undefined ? 0 : 1)
  const waitedMs = due.waitedMs + duration_ms + (retry_in_ms ?? 0)
  if (retry_in_ms === 0)
    return {
      ...due,
      waitedMs,
      paidTries,
      failedSteps: [...due.failedSteps, { failure, provider: provider_name ?? '' }],
    }
  const triesOf = { ...due.triesOf }
  for (const name of new Set([failure.class, ...due.failedSteps.map((step) => step.failure.class)]))
    triesOf[name] = (triesOf[name] ?? 0) + 1
  return { triesOf, waitedMs, paidTries, failedSteps: [] }
}

/**
 * What a failed call changes in a run. If the next model of the route is asked at once, the try is not over.
 */
export function afterFailedCall<
  Run extends { readonly tries: number; readonly due: DueCall; readonly usage: Usage },
>(
  { tries, due, usage }: Run,
  failed: DataOf<'provider_call_failed'>,
): { readonly tries: number; readonly due: DueCall; readonly usage: Usage } {
  return {
    tries: failed.retry_in_ms === 0 ? tries : failed.tries,
    due: failedOnce(due, failed),
    usage: failed.usage === undefined ? usage : addUsage(usage, failed.usage),
  }
}
