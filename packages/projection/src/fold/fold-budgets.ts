// Folds the budgets that bound a task: its newest claim says them, and raises add to them. They are one text in
// the row of the task. A node that was given more has a budget of its own there. And the reservations of calls:
// the rows have only their places, because the events have the amounts.
import type { DataOf, DomainEvent } from '@beaver/core'
import {
  type AppliedBudget,
  type BudgetLimits,
  type BudgetName,
  raisedLimits,
  settlesCall,
  sumOfLimits,
} from '@beaver/core/budget'
import type { HeldTask, Place } from './batch.ts'

/** A budget as the row of its task has it. `raised`: what was given more. */
type HeldBudget = AppliedBudget & { readonly raised?: BudgetLimits }

const held = (text: string | null): readonly HeldBudget[] =>
  text === null ? [] : (JSON.parse(text) as readonly HeldBudget[])

/** The budgets of a claim, with what was given more before it. `null`: none. */
export function budgetsOfClaim(
  budgets: DataOf<'task_claimed'>['budgets'],
  before: string | null,
): string | null {
  if (budgets === undefined) return null
  return held(before).reduce<string>(
    (text, { raised, ...budget }) => (raised === undefined ? text : withMore(text, budget, raised)),
    JSON.stringify(budgets),
  )
}

export function budgetRaised(task: HeldTask, _: Place, { budget, more }: DataOf<'budget_raised'>): void {
  if (task.row.budgets !== null) task.change().budgets = withMore(task.row.budgets, budget, more)
}

/** The budgets, one of which was given more. */
function withMore(text: string, budget: BudgetName, more: BudgetLimits): string {
  const all = held(text)
  const known = all.find((each) => same(each, budget))
  const ofEach =
    budget.of === 'node' ? all.find(({ of, name }) => of === 'node' && name === undefined) : undefined
  if (known !== undefined)
    return JSON.stringify(
      all.map((each) => (each === known ? { ...each, raised: sumOfLimits(each.raised ?? {}, more) } : each)),
    )
  if (ofEach === undefined) return text
  return JSON.stringify([...all, { ...ofEach, name: budget.name, raised: more }])
}

/** Notes which call of a run may be under way. The copies of a retry reserve nothing. */
export function foldReservation(task: HeldTask, { taskseq, runId }: Place, event: DomainEvent): void {
  const { type } = event
  if (type === 'task_suspended') for (const run of task.reservedRuns()) run.reserved_taskseq = null
  const isReserved = type === 'model_call_reserved' && taskseq > task.row.copied_to
  if (!isReserved && !settlesCall(event)) return
  const run = task.run(runId)
  if (run !== undefined) run.reserved_taskseq = isReserved ? taskseq : null
}

const same = (a: BudgetName, b: BudgetName): boolean => a.of === b.of && a.name === b.name && a.per === b.per

/** The budgets of a task, with all that was given more. */
export const budgetsOf = (text: string | null): AppliedBudget[] =>
  held(text).map(({ raised = {}, ...budget }) => ({ ...budget, limits: raisedLimits(budget.limits, raised) }))
