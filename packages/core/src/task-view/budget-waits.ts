// What a task asks people for a budget. Runs wait for more in a budget from `budget_exceeded` on, until they
// go on or end. All runs that wait for one limit of one budget ask together.
// - A raise that suffices for all of them ends the ask. After a smaller one they ask again, with the new limit.
// - A run that goes on uses its part of what was given.
import { isShared } from '../budget/account.ts'
import { budgetKey } from '../budget/spend.ts'
import type { BudgetName } from '../budget/budget.ts'
import { budgetText, noPlaceText } from '../budget/amounts.ts'
import type { DataOf, DomainEvent, EventType } from '../events/catalog.ts'
import { isTerminalTaskEvent } from '../events/event-kinds.ts'

/** A run whose next call has no place in a budget. `limit` and `used` of `exceeded` are as they are now. */
export interface BudgetWait {
  readonly runId: string | undefined
  readonly exceeded: DataOf<'budget_exceeded'>
  /** The place of the event `budget_exceeded` in the log of the task. */
  readonly taskseq: number
}

/** What a person is asked for. */
export interface BudgetAsk {
  /** Names the budget, its measure and its limit, so it is another one after a raise. */
  readonly key: string
  /** Why, without a capital and without a full stop. */
  readonly reason: string
  /** `needed`: what the next calls of all that wait need. */
  readonly exceeded: DataOf<'budget_exceeded'>
  /** The node whose budget it is. `undefined`: the budget is that of the task, or one that tasks share. */
  readonly nodeId: string | undefined
  /** Whether tasks share the budget. Then only an operator can give more. */
  readonly shared: boolean
  /** The runs that wait. */
  readonly runIds: readonly string[]
  /** The place in the log of the task where the first of them began to wait. */
  readonly taskseq: number
}

export interface BudgetWaiting {
  budgetWaits: readonly BudgetWait[]
  /** The place of the last event that was copied from the log of a retried task. */
  copiedTo: number
}

const runEnds: ReadonlySet<EventType> = new Set(['run_completed', 'run_failed', 'run_cancelled'])
const goesOn: ReadonlySet<EventType> = new Set(['model_call_reserved', 'tool_call_started'])

type PlacedEvent = DomainEvent & { readonly taskseq: number }

/** Takes the next event of the task. */
export function evolveBudgetWaits(view: BudgetWaiting, { type, data, runId, taskseq }: PlacedEvent): void {
  if (type === 'task_log_copied') view.copiedTo = taskseq + data.events
  const waits = view.budgetWaits
  if (type === 'budget_exceeded') {
    if (taskseq <= view.copiedTo) return
    const others = waits.filter((each) => each.runId !== runId)
    view.budgetWaits = data.wait_ms === null ? others : [...others, { runId, exceeded: data, taskseq }]
  } else if (waits.length === 0) return
  else if (isTerminalTaskEvent(type)) view.budgetWaits = []
  else if (runEnds.has(type)) view.budgetWaits = waits.filter((each) => each.runId !== runId)
  else if (type === 'budget_raised')
    view.budgetWaits = waits.map((each) =>
      budgetKey(each.exceeded.budget) === budgetKey(data.budget)
        ? changed(each, { limit: each.exceeded.limit + (data.more[each.exceeded.measure] ?? 0) })
        : each,
    )
  else if (goesOn.has(type)) {
    const gone = waits.find((each) => each.runId === runId)
    if (gone === undefined) return
    view.budgetWaits = waits
      .filter((each) => each !== gone)
      .map((each) =>
        keyOf(each) === keyOf(gone)
          ? changed(each, { used: each.exceeded.used + gone.exceeded.needed })
          : each,
      )
  }
}

const changed = (wait: BudgetWait, now: { readonly limit?: number; readonly used?: number }): BudgetWait => ({
  ...wait,
  exceeded: { ...wait.exceeded, ...now },
})

const keyOf = ({ exceeded: { budget, measure, limit } }: Pick<BudgetWait, 'exceeded'>): string =>
  JSON.stringify([budgetKey(budget), budget.per, measure, limit])

/** Sums of US dollars are not exact in binary. */
const roundingUsd = 1e-9

/**
 * What the task asks people for, in the order of the log.
 *
 * @example
 * budgetAsks({ budgetWaits: [] }) // => []
 */
export function budgetAsks({ budgetWaits }: Pick<BudgetWaiting, 'budgetWaits'>): BudgetAsk[] {
  const byKey = Map.groupBy(budgetWaits, keyOf)
  return [...byKey].flatMap(([key, [first, ...others]]) => {
    if (first === undefined) return []
    const { exceeded, taskseq } = first
    const { budget, limit } = exceeded
    const all = [exceeded, ...others.map((each) => each.exceeded)]
    const used = Math.max(...all.map((each) => each.used))
    const needed = all.reduce((sum, each) => sum + each.needed, 0)
    // `wall_ms` has no need: the time is over, or it is not.
    const fits = exceeded.measure === 'wall_ms' ? used < limit : used + needed <= limit + roundingUsd
    if (fits) return []
    const of = { ...exceeded, used, needed }
    const shared = isShared(budget)
    const nodeId = budget.of === 'node' ? budget.name : undefined
    const runIds = [first, ...others].flatMap((each) => each.runId ?? [])
    return [{ key, reason: noPlaceText(of), exceeded: of, nodeId, shared, runIds, taskseq }]
  })
}

/**
 * What the task asks people for, by the newest events of its log. An ask that began before them is not known.
 *
 * @example
 * budgetAsksIn([]) // => []
 */
export function budgetAsksIn(events: Iterable<PlacedEvent>): BudgetAsk[] {
  const view: BudgetWaiting = { budgetWaits: [], copiedTo: 0 }
  for (const event of events) evolveBudgetWaits(view, event)
  return budgetAsks(view)
}

/**
 * What a person of a chat or an editor reads about a budget that tasks share.
 *
 * @example
 * operatorGives({ of: 'tenant', per: 'day' }) // => 'Only an operator can give more to the budget of the tenant for a day: "beaver budget raise" on the command line.'
 */
export const operatorGives = (budget: BudgetName): string =>
  `Only an operator can give more to ${budgetText(budget)}: "beaver budget raise" on the command line.`
