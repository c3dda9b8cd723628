// What a task used of its budgets, in `beaver show`. The shared ones are only named: "beaver budget" has them.
import type { TaskAnswer } from '@beaver/contracts'
import { type BudgetMeasure, budgetMeasures, budgetText, isShared, usedText } from '@beaver/core/budget'
import type { Cost } from '../text/cost.ts'
import { oneLine } from '../text/plain-text.ts'

/**
 * The lines about the budgets of a task. The first one says what it used of its own. None, if nothing bounds
 * it.
 */
export function budgetUseLines(
  { budgets, ...task }: Pick<TaskAnswer['task'], 'budgets' | 'input_tokens' | 'output_tokens' | 'calls'>,
  cost: Pick<Cost, 'usd' | 'unknown'>,
): string[] {
  const own = budgets.find(({ of }) => of === 'task')
  const shared = budgets.filter(isShared)
  // The budget counts a price that nobody knows as configured, and this screen does not know that.
  const used: Partial<Record<BudgetMeasure, number>> = {
    ...(cost.unknown.length > 0 ? {} : { usd: cost.usd }),
    tokens: task.input_tokens + task.output_tokens,
    model_calls: task.calls,
  }
  const parts = budgetMeasures.flatMap((measure) => {
    const [amount, limit] = [used[measure], own?.limits[measure]]
    return amount === undefined || limit === undefined ? [] : [usedText(measure, amount, limit)]
  })
  return [
    ...(parts.length === 0 ? [] : [`used ${parts.join(', ')}`]),
    ...shared.map((each) => `counts in ${oneLine(budgetText(each))}, too`),
  ]
}
