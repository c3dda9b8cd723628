// What a task used of its budgets: for `beaver show`, and for the table of `beaver budget`. The shared budgets
// are only named here: shared-budgets.ts has their table.
import type { TaskSummary } from '@beaver/contracts'
import {
  amountText,
  type AppliedBudget,
  type BudgetMeasure,
  budgetMeasures,
  budgetText,
  isShared,
  usedText,
} from '@beaver/core/budget'
import { briefIds } from '../text/brief-ids.ts'
import { type Cost, costOf } from '../text/cost.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusWord } from '../text/status-paint.ts'
import { table } from '../text/table.ts'
import { measureRows, reservedColumn } from './shared-budgets.ts'

type Counted = Pick<TaskSummary, 'input_tokens' | 'output_tokens' | 'calls' | 'tool_calls'>
type Used = Partial<Record<BudgetMeasure, number>>

/**
 * What a task or a node used. Absent: nobody knows it. The budget counts a price that nobody knows as
 * configured, and this screen does not know that.
 */
const usedOf = (of: Counted, { usd, unknown }: Pick<Cost, 'usd' | 'unknown'>): Used => ({
  ...(unknown.length > 0 ? {} : { usd }),
  tokens: of.input_tokens + of.output_tokens,
  model_calls: of.calls,
  ...(of.tool_calls === undefined ? {} : { tool_calls: of.tool_calls }),
})

/**
 * The lines about the budgets of a task. The first one says what it used of its own. None, if nothing bounds
 * it.
 */
export function budgetUseLines(
  { budgets = [], ...task }: Pick<TaskSummary, 'budgets'> & Counted,
  cost: Pick<Cost, 'usd' | 'unknown'>,
): string[] {
  const own = budgets.find(({ of }) => of === 'task')
  const used = usedOf(task, cost)
  const parts = budgetMeasures.flatMap((measure) => {
    const [amount, limit] = [used[measure], own?.limits[measure]]
    return amount === undefined || limit === undefined ? [] : [usedText(measure, amount, limit)]
  })
  return [
    ...(parts.length === 0 ? [] : [`used ${parts.join(', ')}`]),
    ...budgets.filter(isShared).map((each) => `counts in ${oneLine(budgetText(each))}, too`),
  ]
}

/** The budget of a task, or of a node of it that is at work, with what is used and reserved of it. */
export interface BudgetUse extends AppliedBudget {
  readonly task_id: string
  readonly session_id: string
  readonly user_id: string | null
  readonly status: string
  /** A measure that nobody knows is absent. */
  readonly used: Used
  /** Empty: no call of a model is under way. */
  readonly reserved: Used
}

/** The budgets of tasks and of their nodes at work, as far as they have limits. */
export const budgetUses = (tasks: readonly TaskSummary[]): BudgetUse[] =>
  tasks.flatMap(({ budgets = [], node_uses: nodes = [], ...task }) => {
    const { task_id, session_id, user_id, status } = task
    const useOf = (
      budget: AppliedBudget,
      of: Counted & Pick<TaskSummary, 'usage_by_model' | 'cost_usd' | 'cost_usd_known' | 'reserved'>,
    ) => ({
      ...{ task_id, session_id, user_id, status, ...budget },
      used: usedOf(of, costOf(of)),
      reserved: of.reserved ?? {},
    })
    const ofNode = (id: string): AppliedBudget | undefined =>
      budgets.find(({ of, name }) => of === 'node' && name === id) ??
      budgets.find(({ of, name }) => of === 'node' && name === undefined)
    return [
      ...budgets.filter(({ of }) => of === 'task').map((own) => useOf(own, task)),
      ...nodes.flatMap((node) => {
        const budget = ofNode(node.node_id)
        return budget === undefined ? [] : [useOf({ ...budget, name: node.node_id }, node)]
      }),
    ].filter(({ limits }) => Object.keys(limits).length > 0)
  })

/** The table of these budgets. A line of a node has its name, and belongs to the task above it. */
export function budgetUseTable(
  uses: readonly BudgetUse[],
  {
    columns,
    title = (text) => text,
  }: { readonly columns: number; readonly title?: (text: string) => string },
): string[] {
  const rows = measureRows(uses)
  const brief = briefIds(uses.map(({ task_id: id }) => id))
  type Row = (typeof rows)[number]
  const whose =
    (id: (text: string) => string) =>
    ({ budget, first }: Row): string =>
      !first ? '' : budget.of === 'node' ? `  node ${oneLine(budget.name ?? '')}` : id(budget.task_id)
  return table<Row>(
    [
      { title: 'TASK', cell: whose((id) => id), brief: whose(brief) },
      {
        title: 'STATUS',
        cell: ({ budget, first }) => (first && budget.of === 'task' ? statusWord(budget.status) : ''),
        optional: 2,
      },
      {
        title: 'USED',
        cell: ({ budget, measure }) => {
          const [used, limit = 0] = [budget.used[measure], budget.limits[measure]]
          if (used !== undefined) return usedText(measure, used, limit)
          // The read model does not have the time of work.
          return `${measure === 'wall_ms' ? 'at most' : 'unknown of'} ${amountText(measure, limit)}`
        },
      },
      ...reservedColumn(rows),
      ...(uses.some(({ user_id: user }) => user !== null)
        ? [
            {
              title: 'USER',
              cell: ({ budget, first }: Row) =>
                first && budget.of === 'task' ? oneLine(budget.user_id ?? '').slice(0, 24) : '',
              optional: 3,
            },
          ]
        : []),
    ],
    rows,
    { width: columns, title },
  )
}
