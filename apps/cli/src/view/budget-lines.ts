// A task that waits for more in a budget, on a screen: why, who used most, and the command that gives more.
import { shellWord, type DataOf } from '@beaver/core'
import { amountText, isShared } from '@beaver/core/budget'
import type { BudgetAsk } from '@beaver/core/task-view'
import { measureOptions } from '../commands/read-budget.ts'
import { oneLine } from '../text/plain-text.ts'
import { textWidth } from '../text/width.ts'
import { sharedBudgetOptions } from './shared-budgets.ts'

/** The lines about a wait, in `beaver show`. The first one says why. */
export const budgetLines = ({ reason, exceeded }: BudgetAsk, names: Names): string[] => [
  `a budget: ${oneLine(reason)}`,
  ...spentLines(exceeded),
  `Give more: ${giveCommand(exceeded, names)}`,
]

/** What a person reads who is asked to give more: why the task waits, and who used most. */
export const budgetQuestion = ({ reason, exceeded }: BudgetAsk): string[] => [
  `The task waits: ${oneLine(reason)}.`,
  ...spentLines(exceeded),
]

/** The commands that answer a wait, in one line if there is room. A command is never cut. */
export function giveLines({ exceeded }: BudgetAsk, names: Names, columns: number): string[] {
  const give = giveCommand(exceeded, names)
  const cancel = `${names.command} cancel ${shellWord(names.taskId)}`
  const both = `  give more: ${give}   stop: ${cancel}`
  return textWidth(both) <= columns ? [both] : [`  give more: ${give}`, `  stop:      ${cancel}`]
}

/** Names one wait of a task. A raise that was not enough makes another one of it. */
export const waitKey = ({ key, taskseq }: BudgetAsk): string => `${taskseq} ${key}`

type Exceeded = DataOf<'budget_exceeded'>

interface Names {
  readonly taskId: string
  /** The command with which a person calls `beaver` here. */
  readonly command: string
}

const giveCommand = (wait: Exceeded, { taskId, command }: Names): string =>
  `${command} ${giveWords(wait, taskId)}`

/** The words after `beaver` that give what the next calls need. */
export function giveWords({ budget, measure, needed }: Exceeded, taskId: string): string {
  const task = shellWord(taskId)
  const whose = isShared(budget)
    ? sharedBudgetOptions(budget)
    : budget.of === 'node'
      ? `${task} --node ${shellWord(budget.name ?? '')}`
      : task
  const [amount = ''] = measure === 'wall_ms' ? ['10m'] : amountText(measure, needed).split(' ')
  return `budget raise ${whose} ${measureOptions[measure]} ${amount.replaceAll(',', '')}`
}

function spentLines({ measure, spent_by }: Exceeded): string[] {
  const spenders = spent_by.map(
    ({ agent_name, task_id, used }) =>
      `${oneLine(agent_name ?? `the task ${task_id ?? ''}`)} (${amountText(measure, used)})`,
  )
  return spenders.length === 0 ? [] : [`Most was used by ${spenders.join(', ')}.`]
}
