// The limits of a budget in words.
import { amountText, type Budget, type BudgetLimits, budgetMeasures } from '@beaver/core/budget'

/** `10.00 USD and 5,000,000 tokens`. Empty if nothing is bounded. */
export const limitsText = (limits: BudgetLimits): string =>
  budgetMeasures
    .flatMap((measure) => {
      const limit = limits[measure]
      return limit === undefined ? [] : [amountText(measure, limit)]
    })
    .join(' and ')

/** What the configuration lets each task use. */
export const limitsOfTasks = (budgets: readonly Budget[]): BudgetLimits =>
  budgets.find(({ of }) => of === 'task') ?? {}
