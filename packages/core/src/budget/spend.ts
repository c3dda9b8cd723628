// What a task has used and reserved, folded from its log. A daemon that takes a task over begins with it.
// P1. A run has at most one open reservation. An outcome of the call settles it: by the tokens that the
// provider told, or by the reserved amounts if the provider told none.
// P2. A call that was lost with its process counts as used, because it may have been made. The next owner
// records it (`model_call_lost`) before the run goes on. If the task was suspended, no call was under way, and
// the reservation is void.
// P3. The events that a retry copies cost nothing.
// P4. An amount belongs to the day on which its call was reserved, also if its outcome comes after midnight.
import type { Usage } from '../chat.ts'
import { exactCostAt } from '../cost/cost.ts'
import type { Price } from '../cost/model-prices.ts'
import type { DomainEvent } from '../events/catalog.ts'
import {
  addAmounts,
  type Amounts,
  type BudgetMeasure,
  budgetMeasures,
  noAmounts,
  numberOf,
  sumOfLimits,
  takeAmounts,
  usdUnits,
} from './amounts.ts'
import type { BudgetLimits, BudgetName } from './budget.ts'

/** The price that counts for a call: of a model, asked by a provider, on a day (YYYY-MM-DD, UTC). */
export type PriceFor = (call: {
  readonly provider: string
  readonly model: string
  readonly day: string
}) => Price

/** A call of a model that may be under way. */
export interface OpenCall {
  readonly provider: string
  readonly model: string
  readonly inputTokens: number
  readonly outputTokens: number
  readonly amounts: Amounts
  /** The day to which it belongs: YYYY-MM-DD, in UTC. */
  readonly day: string
}

/** What one run has used. */
export interface RunSpend {
  readonly used: Amounts
  /** The call under way, and what it may use at most. `null`: there is none. */
  readonly open: OpenCall | null
  /**
   * Since when, and for how long, it waits for a person who gives more, and to what (`exceededKey`). `null`: it
   * does not wait.
   */
  readonly waits: { readonly sinceMs: number; readonly waitMs: number; readonly of: string } | null
}

/** What a task has used, by run, and what persons gave more. It is changed by `spendEvent`. */
export interface TaskSpend {
  readonly runs: Map<string, RunSpend>
  /** What all of its runs have used and reserved together. */
  total: { readonly used: Amounts; readonly reserved: Amounts }
  /** What was used on each day on which something happened. */
  readonly days: Map<string, Amounts>
  /** What persons gave more, by the key of the budget (`budgetKey`). */
  readonly raised: Map<string, BudgetLimits>
  /** The limits of which a share was told, with the largest share, by `reachedKey`. */
  readonly reached: Map<string, number>
  /** How many of the next events are copies. */
  copies: number
}

/**
 * The spending of a task before its first event.
 *
 * @example
 * newSpend().runs.size // => 0
 */
export const newSpend = (): TaskSpend => ({
  runs: new Map(),
  total: { used: noAmounts, reserved: noAmounts },
  days: new Map(),
  raised: new Map(),
  reached: new Map(),
  copies: 0,
})

const nothing: RunSpend = { used: noAmounts, open: null, waits: null }

/**
 * The key under which the raises of a budget of a task are kept.
 *
 * @example
 * budgetKey({ of: 'node', name: 'write' }) // => 'node write'
 */
export const budgetKey = ({
  of,
  name = '',
}: {
  readonly of: string
  readonly name?: string | undefined
}): string => `${of} ${name}`

/**
 * The key of a limit of which a share was told. A limit that is raised is another one.
 *
 * @example
 * reachedKey({ of: 'task' }, 'usd', 10) // => 'task  usd 10'
 */
export const reachedKey = (
  budget: { readonly of: string; readonly name?: string | undefined },
  measure: BudgetMeasure,
  limit: number,
): string => `${budgetKey(budget)} ${measure} ${limit}`

/**
 * Which limit a call exceeds. After a raise it is another one.
 *
 * @example
 * exceededKey({ budget: { of: 'task', per: 'run' }, measure: 'usd', limit: 10 }) // => 'task  run usd 10'
 */
export const exceededKey = ({
  budget,
  measure,
  limit,
}: {
  readonly budget: BudgetName
  readonly measure: BudgetMeasure
  readonly limit: number
}): string => `${budgetKey(budget)} ${budget.per} ${measure} ${limit}`

/** Beaver records when a task has used these shares of a limit, in percent. The largest comes first. */
const sharesTold = [100, 80, 50] as const

/** The largest share of a limit that is used and has to be told. `null`: none, or it was told. */
function shareReached(
  { used, limit }: { readonly used: number; readonly limit: number },
  toldPercent: number,
): (typeof sharesTold)[number] | null {
  const share = sharesTold.find((percent) => used * 100 >= limit * percent)
  return share === undefined || share <= toldPercent ? null : share
}

/** A share of a limit that is used. */
interface ShareReached {
  readonly measure: BudgetMeasure
  readonly percent: (typeof sharesTold)[number]
  readonly used: number
  readonly limit: number
}

/**
 * The largest share of each limit that is used and has to be told.
 *
 * @param toldOf the largest share of a limit that was told, in percent
 * @example
 * sharesReached({ limits: { tokens: 10 }, used: { ...noAmounts, tokens: 9 } }, () => 50) // => [{ measure: 'tokens', percent: 80, used: 9, limit: 10 }]
 */
export const sharesReached = (
  { limits, used }: { readonly limits: BudgetLimits; readonly used: Amounts },
  toldOf: (measure: BudgetMeasure, limit: number) => number | undefined,
): readonly ShareReached[] =>
  budgetMeasures.flatMap((measure) => {
    const limit = limits[measure]
    if (limit === undefined || limit === 0) return []
    const share = { used: numberOf(used, measure), limit }
    const percent = shareReached(share, toldOf(measure, limit) ?? 0)
    return percent === null ? [] : [{ measure, percent, ...share }]
  })

/**
 * Takes in the next event of the task. It changes and returns `spend`.
 *
 * @param of `atMs`: the time of the event, in milliseconds since 1970
 * @example
 * const failed = event('model_call_reserved', { provider_name: 'p', model: 'm', input_tokens_max: 10, output_tokens_max: 90, usd_max: 0.5 }, 'run_1')
 * const spend = spendEvent(newSpend(), failed, { atMs: 0, priceFor: () => ({ input: 1, output: 1 }) })
 * spend.runs.get('run_1')?.open?.amounts.tokens // => 100
 */
export function spendEvent(
  spend: TaskSpend,
  event: DomainEvent,
  of: { readonly atMs: number; readonly priceFor: PriceFor },
): TaskSpend {
  if (spend.copies > 0) {
    spend.copies--
    return spend
  }
  if (event.type === 'task_log_copied') spend.copies = event.data.events
  const today = dayOf(of.atMs)
  if (!spend.days.has(today)) spend.days.set(today, noAmounts)
  if (event.type === 'task_suspended')
    for (const [runId, run] of spend.runs) if (run.open !== null) put(spend, runId, { ...run, open: null })
  if (event.type === 'budget_reached') {
    const { budget, measure, percent, limit } = event.data
    spend.reached.set(reachedKey(budget, measure, limit), percent)
  }
  if (event.type === 'budget_raised') {
    const key = budgetKey(event.data.budget)
    const before = spend.raised.get(key) ?? {}
    spend.raised.set(key, sumOfLimits(before, event.data.more))
  }
  if (event.runId === undefined) return spend
  const before = spend.runs.get(event.runId) ?? nothing
  const paid = spentBy(before, event, of)
  const after = settlesCall(event) ? closed(paid) : paid
  if (after === before) return spend
  put(spend, event.runId, after)
  if (after.used !== before.used) {
    const day = before.open?.day ?? today
    const more = takeAmounts(after.used, before.used)
    spend.days.set(day, addAmounts(spend.days.get(day) ?? noAmounts, more))
  }
  return spend
}

/**
 * What a task used in a period.
 *
 * @param period `run`, a day (YYYY-MM-DD) or a month (YYYY-MM)
 * @example
 * usedIn(newSpend(), '2026-11') // => noAmounts
 */
export function usedIn({ total, days }: TaskSpend, period: string): Amounts {
  if (period === 'run') return total.used
  return [...days]
    .filter(([day]) => day.startsWith(period))
    .reduce((sum, [, used]) => addAmounts(sum, used), noAmounts)
}

/**
 * What the calls of a task that are under way may use at most, of a period.
 *
 * @example
 * reservedIn(newSpend(), 'run') // => noAmounts
 */
export function reservedIn({ total, runs }: TaskSpend, period: string): Amounts {
  if (period === 'run') return total.reserved
  return [...runs.values()]
    .filter(({ open }) => open?.day.startsWith(period) === true)
    .reduce((sum, run) => addAmounts(sum, reservedBy(run)), noAmounts)
}

const changed = (sum: Amounts, before: Amounts, after: Amounts): Amounts =>
  before === after ? sum : takeAmounts(addAmounts(sum, after), before)

/** Replaces what a run has used, and keeps the totals. */
function put(spend: TaskSpend, runId: string, after: RunSpend): void {
  const before = spend.runs.get(runId) ?? nothing
  const { used, reserved } = spend.total
  spend.runs.set(runId, after)
  spend.total = {
    used: changed(used, before.used, after.used),
    reserved: changed(reserved, reservedBy(before), reservedBy(after)),
  }
}

/**
 * What the call of a run that is under way may use at most.
 *
 * @example
 * reservedBy({ used: noAmounts, open: null, waits: null }) // => noAmounts
 */
export const reservedBy = ({ open }: RunSpend): Amounts => open?.amounts ?? noAmounts

function spentBy(
  run: RunSpend,
  event: DomainEvent,
  { atMs, priceFor }: { readonly atMs: number; readonly priceFor: PriceFor },
): RunSpend {
  const settle = (of: RunSpend, { usage, provider_name: provider, model }: Paid): RunSpend =>
    usage.calls === 0
      ? of
      : settled(of, usage, priceFor({ provider: provider ?? '', model: model ?? '', day: dayOf(atMs) }))
  switch (event.type) {
    case 'model_call_reserved': {
      const { data } = event
      const amounts = {
        ...noAmounts,
        usd: usdUnits(data.usd_max),
        tokens: data.input_tokens_max + data.output_tokens_max,
        model_calls: 1,
      }
      const open = {
        ...{ provider: data.provider_name, model: data.model, amounts },
        ...{ inputTokens: data.input_tokens_max, outputTokens: data.output_tokens_max },
        day: data.day ?? dayOf(atMs),
      }
      return { used: run.used, open, waits: null }
    }
    case 'budget_exceeded': {
      const { wait_ms: waitMs } = event.data
      const of = exceededKey(event.data)
      return { ...run, waits: waitMs === null ? null : { sinceMs: atMs, waitMs, of } }
    }
    case 'model_call_paid':
      return settlesCall(event)
        ? settle(run, event.data)
        : { ...run, used: settle({ ...run, open: null }, event.data).used }
    case 'assistant_message_added':
    case 'model_call_lost':
    case 'context_summarized':
    case 'summary_refused':
      return settle(run, event.data)
    case 'provider_call_failed': {
      const { usage } = event.data
      return usage === undefined ? run : settle(run, { ...event.data, usage })
    }
    case 'skill_selection_recorded':
      return [...(event.data.failed_calls ?? []), event.data].reduce(settle, run)
    case 'tool_call_started':
      return { ...run, used: addAmounts(run.used, { ...noAmounts, tool_calls: 1 }), waits: null }
    default:
      return run
  }
}

const settling: ReadonlySet<DomainEvent['type']> = new Set<DomainEvent['type']>([
  'assistant_message_added',
  'model_call_lost',
  'context_summarized',
  'summary_refused',
  'provider_call_failed',
  'skill_selection_recorded',
  'run_completed',
  'run_failed',
  'run_cancelled',
])

/**
 * Whether an event of a run settles its reservation (P1). A suspension of the task voids all of them (P2).
 *
 * @example
 * settlesCall(event('run_cancelled', { reason: 'enough', tool_iterations: 0, usage: noUsage }, 'run_1')) // => true
 */
export const settlesCall = (event: DomainEvent): boolean =>
  settling.has(event.type) ||
  // Other calls of the run's answer may have begun while the query of a search was embedded.
  (event.type === 'model_call_paid' && event.data.purpose !== 'knowledge_search')

interface Paid {
  readonly usage: Usage
  readonly provider_name?: string | null | undefined
  readonly model?: string | null | undefined
}

const closed = ({ used }: RunSpend): RunSpend => ({ used, open: null, waits: null })

const dayMs = 86_400_000
let newestDay = { number: -1, text: '' }

/**
 * The day of a time, in UTC: YYYY-MM-DD.
 *
 * @param atMs in milliseconds since 1970
 * @example
 * dayOf(0) // => '1970-01-01'
 */
export function dayOf(atMs: number): string {
  const number = Math.floor(atMs / dayMs)
  // Nearly all calls ask for today.
  if (number !== newestDay.number) newestDay = { number, text: new Date(atMs).toISOString().slice(0, 10) }
  return newestDay.text
}

/** P1. A count of zero tokens for a call is no count. */
function settled({ used, open, waits }: RunSpend, usage: Usage, price: Price): RunSpend {
  const cost = exactCostAt(price, usage)
  const isUnknown = cost === null || (usage.unknown_calls ?? 0) > 0
  const told: Amounts = {
    ...noAmounts,
    usd: cost ?? 0n,
    tokens: usage.input_tokens + usage.output_tokens,
    model_calls: usage.calls,
  }
  return {
    used: addAmounts(used, isUnknown && open !== null ? atLeast(told, open.amounts) : told),
    open: null,
    waits,
  }
}

const atLeast = (a: Amounts, b: Amounts): Amounts => ({
  ...a,
  usd: a.usd > b.usd ? a.usd : b.usd,
  tokens: Math.max(a.tokens, b.tokens),
})
