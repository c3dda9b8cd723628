import type { DomainEvent } from '../events/catalog.ts'

const outcomes: ReadonlySet<string> = new Set<DomainEvent['type']>([
  'assistant_message_added',
  'provider_call_failed',
  'model_call_lost',
  'model_call_paid',
  'context_summarized',
  'summary_refused',
  'skill_selection_recorded',
])

/**
 * Whether an event of this type is the outcome of a call of a model. The outcomes of a run are counted from 0,
 * so a loop knows the number of a call before it makes it, and everybody finds its outcome by this number.
 *
 * @example
 * endsModelCall('provider_call_failed') // => true
 * endsModelCall('model_call_reserved') // => false
 */
export const endsModelCall = (type: string): boolean => outcomes.has(type)
