// Folds the budgets that bound a task: its newest claim says them, and raises add to them. They are one text in
// the row of the task.
import type { DataOf } from '@beaver/core'
import {
  type AppliedBudget,
  type BudgetLimits,
  type BudgetName,
  raisedLimits,
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
  const known = held(before)
  return JSON.stringify(
    budgets.map((budget): HeldBudget => {
      const raised = known.find((each) => same(each, budget))?.raised
      return raised === undefined ? budget : { ...budget, raised }
    }),
  )
}

export function budgetRaised(task: HeldTask, _: Place, { budget, more }: DataOf<'budget_raised'>): void {
  if (task.row.budgets === null) return
  const all = held(task.row.budgets).map((each) =>
    same(each, budget) ? { ...each, raised: sumOfLimits(each.raised ?? {}, more) } : each,
  )
  task.change().budgets = JSON.stringify(all)
}

const same = (a: BudgetName, b: BudgetName): boolean => a.of === b.of && a.name === b.name && a.per === b.per

/** The budgets of a task, with all that was given more. */
export const budgetsOf = (text: string | null): AppliedBudget[] =>
  held(text).map(({ raised = {}, ...budget }) => ({ ...budget, limits: raisedLimits(budget.limits, raised) }))
