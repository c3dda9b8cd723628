// The table of the budgets that tasks share, for `beaver budget`, and the options that name one of them.
import type { RequestOutput } from '@beaver/contracts'
import {
  amountText,
  type BudgetMeasure,
  type BudgetName,
  budgetMeasures,
  usedText,
} from '@beaver/core/budget'
import { count } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { shellWord } from '../text/shell-word.ts'
import { table } from '../text/table.ts'

type Shared = RequestOutput<'budget.list'>['budgets'][number]

/** One measure of a budget. Only the first row of a budget says whose it is. */
interface Row {
  readonly budget: Shared
  readonly measure: BudgetMeasure
  readonly first: boolean
}

/**
 * The table, with one row for each measure that is bounded. What is reserved is shown if anything is. A narrow
 * terminal does not show when a budget begins anew.
 */
export function sharedBudgetTable(
  budgets: readonly Shared[],
  {
    columns,
    title = (text) => text,
  }: { readonly columns: number; readonly title?: (text: string) => string },
): string[] {
  const rows = budgets.flatMap((budget) =>
    budgetMeasures
      .filter((measure) => budget.limits[measure] !== undefined)
      .map((measure, i): Row => ({ budget, measure, first: i === 0 })),
  )
  const once =
    (text: (budget: Shared) => string) =>
    ({ budget, first }: Row): string =>
      first ? text(budget) : ''
  const reserved = ({ budget, measure }: Row): number => amountOf(budget.reserved, measure)
  return table<Row>(
    [
      {
        title: 'BUDGET OF',
        cell: once(({ of, name }) => (name === undefined ? `the ${of}` : `${of} ${oneLine(name)}`)),
        flexible: true,
        least: 10,
      },
      { title: 'PER', cell: once(({ per }) => (per === 'run' ? 'life' : per)) },
      {
        title: 'USED',
        cell: ({ budget, measure }) =>
          usedText(measure, amountOf(budget.used, measure), budget.limits[measure] ?? 0),
      },
      ...(rows.some((row) => reserved(row) > 0)
        ? [
            {
              title: 'RESERVED',
              cell: (row: Row) => (reserved(row) === 0 ? '' : numberText(row.measure, reserved(row))),
              align: 'right' as const,
              optional: 1,
            },
          ]
        : []),
      {
        title: 'ANEW FROM',
        cell: once(({ ends_at: end }) => end?.slice(0, 'YYYY-MM-DD'.length) ?? '-'),
        optional: 2,
      },
      { title: 'WAITING', cell: once(({ waiting_tasks: waiting }) => count(waiting)), align: 'right' },
    ],
    rows,
    { width: columns, title },
  )
}

/** Nobody shares a budget of time. */
const amountOf = (amounts: Shared['used'], measure: BudgetMeasure): number =>
  measure === 'wall_ms' ? 0 : amounts[measure]

/** The amount without its unit, which the column of what is used has. */
const numberText = (measure: BudgetMeasure, amount: number): string =>
  amountText(measure, amount).split(' ')[0] ?? ''

/** The options of `beaver budget raise` that name a budget which tasks share. */
export function sharedBudgetOptions({ of, name, per }: BudgetName): string {
  const whose = name === undefined ? `--${of}` : `--${of} ${shellWord(name)}`
  return of === 'session' && per === 'run' ? whose : `${whose} --per ${per}`
}
