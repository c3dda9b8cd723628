// The table of the budgets that tasks share, for `beaver budget`, and the options that name one of them.
import type { RequestOutput } from '@beaver/contracts'
import { shellWord } from '@beaver/core'
import {
  amountText,
  type BudgetLimits,
  type BudgetMeasure,
  type BudgetName,
  budgetMeasures,
  usedText,
} from '@beaver/core/budget'
import { count } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { type Column, table } from '../text/table.ts'

type Shared = RequestOutput<'budget.list'>['budgets'][number]

/** A budget with what its calls under way may use. */
interface Bounded {
  readonly limits: BudgetLimits
  readonly reserved: Partial<Record<BudgetMeasure, number>>
}

/** One measure of a budget. Only the first row of a budget says whose it is. */
interface MeasureRow<Budget> {
  readonly budget: Budget
  readonly measure: BudgetMeasure
  readonly first: boolean
}

/** One row for each measure that a budget bounds. */
export const measureRows = <Budget extends Bounded>(budgets: readonly Budget[]): MeasureRow<Budget>[] =>
  budgets.flatMap((budget) =>
    budgetMeasures
      .filter((measure) => budget.limits[measure] !== undefined)
      .map((measure, i) => ({ budget, measure, first: i === 0 })),
  )

/** The column of what is reserved, if anything is. */
export function reservedColumn<Row extends MeasureRow<Bounded>>(rows: readonly Row[]): Column<Row>[] {
  const reserved = ({ budget, measure }: Row): number => budget.reserved[measure] ?? 0
  if (!rows.some((row) => reserved(row) > 0)) return []
  return [
    {
      title: 'RESERVED',
      // Without its unit, which the column of what is used has.
      cell: (row) =>
        reserved(row) === 0 ? '' : (amountText(row.measure, reserved(row)).split(' ')[0] ?? ''),
      align: 'right',
      optional: 1,
    },
  ]
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
  const rows = measureRows(budgets)
  type Row = (typeof rows)[number]
  const once =
    (text: (budget: Shared) => string) =>
    ({ budget, first }: Row): string =>
      first ? text(budget) : ''
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
          // Nobody shares a budget of time.
          usedText(measure, measure === 'wall_ms' ? 0 : budget.used[measure], budget.limits[measure] ?? 0),
      },
      ...reservedColumn(rows),
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

/** The options of `beaver budget raise` that name a budget which tasks share. */
export function sharedBudgetOptions({ of, name, per }: BudgetName): string {
  const whose = name === undefined ? `--${of}` : `--${of} ${shellWord(name)}`
  return of === 'session' && per === 'run' ? whose : `${whose} --per ${per}`
}
