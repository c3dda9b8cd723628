// A task that waits for more in a budget, in `beaver show`: why, who used most, and the command that gives more.
import type { QueryOutput } from '@beaver/contracts'
import type { DataOf } from '@beaver/core'
import { amountText, noPlaceText } from '@beaver/core/budget'
import { measureOptions } from '../commands/read-budget.ts'
import { oneLine } from '../text/plain-text.ts'
import { shellWord } from '../text/shell-word.ts'
import { sharedBudgetOptions } from './shared-budgets.ts'

export type BudgetWait = DataOf<'budget_exceeded'>

/**
 * The first call that still waits for a budget. `null`: none does.
 *
 * @param events the last ones of a task, in their order
 */
export function budgetWait(events: QueryOutput<'events'>['events']): BudgetWait | null {
  const waiting = new Map<string, BudgetWait>()
  for (const { type, run_id: runId, data } of events) {
    if (runId === null) continue
    const exceeded = type === 'budget_exceeded' ? (data as BudgetWait) : null
    if (exceeded === null || exceeded.wait_ms === null) waiting.delete(runId)
    else waiting.set(runId, exceeded)
  }
  return [...waiting.values()][0] ?? null
}

/** The lines about a wait. The first one says why. None, if the task does not wait for a budget. */
export function budgetLines(
  wait: BudgetWait | null,
  { taskId, command }: { readonly taskId: string; readonly command: string },
): string[] {
  if (wait === null) return []
  const { budget, measure, needed, spent_by } = wait
  const spenders = spent_by.map(
    ({ agent_name, task_id, used }) =>
      `${oneLine(agent_name ?? `the task ${task_id ?? ''}`)} (${amountText(measure, used)})`,
  )
  const task = shellWord(taskId)
  const whose =
    budget.of === 'task'
      ? task
      : budget.of === 'node'
        ? `${task} --node ${shellWord(budget.name ?? '')}`
        : sharedBudgetOptions(budget)
  const [amount = ''] = measure === 'wall_ms' ? ['10m'] : amountText(measure, needed).split(' ')
  return [
    `a budget: ${oneLine(noPlaceText(wait))}`,
    ...(spenders.length === 0 ? [] : [`Most was used by ${spenders.join(', ')}.`]),
    `Give more: ${command} budget raise ${whose} ${measureOptions[measure]} ${amount.replaceAll(',', '')}`,
  ]
}
