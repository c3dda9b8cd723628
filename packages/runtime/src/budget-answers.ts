// The answers to a call for which a budget has a place or none, and the events about it. Pure.
import type { CallNeeds, Granted, LoopSpec } from '@beaver/agent'
import { type DataOf, type DomainEvent, event } from '@beaver/core'
import {
  type Amounts,
  type Budget,
  type BudgetMeasure,
  type BudgetName,
  type Grant,
  noAmounts,
  noPlaceText,
  numberOf,
  type Standing,
} from '@beaver/core/budget'
import { usdOf } from '@beaver/core/cost'

/** A budget that bounds a call, as it is now. */
export interface Applied {
  readonly name: BudgetName
  readonly standing: Standing
  /** What happens at the limit of a measure. */
  readonly exceeded: (measure: BudgetMeasure) => Budget['exceeded']
}

export type Short = Extract<Grant, { kind: 'short' }>
export type Placed = Extract<Grant, { kind: 'granted' }>
export type ModelCallNeeds = Extract<CallNeeds, { kind: 'model' }>

export interface Reserved {
  readonly granted: Extract<Granted, { kind: 'granted' }>
  /** The reservation. */
  readonly event: DomainEvent
}

/** @param day the day in whose budgets it is reserved; `null`: no budget of a day or a month applies */
export function reserved(
  { run_id: runId }: LoopSpec['start'],
  needs: ModelCallNeeds,
  { amounts, outputTokens, outputTokensMax, day }: Placed & { readonly day: string | null },
): Reserved {
  const data = {
    provider_name: needs.provider,
    model: needs.model,
    input_tokens_max: needs.inputTokensMax,
    output_tokens_max: outputTokens,
    usd_max: usdOf(amounts.usd),
    ...(day === null ? {} : { day }),
  }
  return {
    granted: { kind: 'granted', outputTokensMax },
    event: event('model_call_reserved', data, runId),
  }
}

/** @param of `waitMs`: how long a person may give more; `null`: nobody is waited for */
export function exceededBy(
  { name, standing }: Applied,
  { measure, needed }: Short,
  of: Pick<DataOf<'budget_exceeded'>, 'spent_by'> & { readonly waitMs: number | null },
): DataOf<'budget_exceeded'> {
  return {
    ...{ budget: name, measure, needed, spent_by: of.spent_by, wait_ms: of.waitMs },
    limit: standing.limits[measure] ?? 0,
    used: numberOf(standing.used, measure),
  }
}

export function refusedBy({ name, standing }: Applied, { measure, needed }: Short): Granted {
  const used = numberOf(standing.used, measure)
  const why = noPlaceText({ budget: name, measure, limit: standing.limits[measure] ?? 0, used, needed })
  return {
    kind: 'refused',
    failure: {
      class: 'budget_exceeded',
      message: `${why.slice(0, 1).toUpperCase()}${why.slice(1)}. ${helpOf(name)}`,
    },
  }
}

/** What somebody can do, so that a retry gets further. It begins nodes anew, each with the whole of its budget. */
function helpOf({ of }: BudgetName): string {
  switch (of) {
    case 'task':
      return 'Retry the task with a larger budget.'
    case 'node':
      return 'Give nodes more in "budgets" of the configuration, and retry the task.'
    case 'session':
    case 'user':
    case 'profile':
    case 'tenant':
      return 'Give more to it with "beaver budget raise", and retry the task.'
    default:
      return of satisfies never
  }
}

export const refusedPrice = ({ model }: ModelCallNeeds): Granted => ({
  kind: 'refused',
  failure: {
    class: 'invalid_configuration',
    message: `Nobody knows the price of the model ${model}, and the configuration refuses such models ("prices": { "unknown": "refuse" }). Add its price to "prices".`,
  },
})

/** The three that used most. */
export const mostFirst = <Spender extends { readonly used: number }>(
  all: readonly Spender[],
): readonly Spender[] =>
  all
    .filter(({ used }) => used > 0)
    .toSorted((a, b) => b.used - a.used)
    .slice(0, 3)

export const toolCalls = (calls: number): Amounts =>
  calls === 0 ? noAmounts : { ...noAmounts, tool_calls: calls }
