// The budgets of the configuration: what tasks, nodes, sessions, users, profiles and the tenant may use, and what
// a call counts whose price nobody knows. core decides with them; a daemon gives them to the tasks that it
// drives.
import {
  type Budget,
  budget,
  budgetDefault,
  budgetMeasures,
  isShared,
  type PriceFor,
} from '@beaver/core/budget'
import { type Price, priceTable } from '@beaver/core/cost'
import { z } from 'zod'
import { pricesOf, type PricesSource } from './prices.ts'

/**
 * At most one budget of each kind, name and period. Without one for tasks, the default counts; one without
 * limits bounds nothing.
 */
export const budgets = z
  .array(
    budget
      .refine((each) => each.wall_ms === undefined || !isShared(each), {
        path: ['wall_ms'],
        message:
          'is for budgets of single tasks and nodes only: tasks that share a budget work side by side, so the sum of their times says nothing',
      })
      .refine(({ of, per }) => per === 'run' || (of !== 'task' && of !== 'node'), {
        path: ['per'],
        message:
          'must be "run" for a task or a node. A day or a month bounds a session, a user, a profile or the tenant',
      })
      .refine(({ of, name }) => name === undefined || named.has(of), {
        path: ['name'],
        message: 'is for sessions, users and profiles only',
      }),
  )
  .superRefine((all, context) => {
    for (const [i, { of, name, per }] of all.entries())
      if (all.findIndex((each) => each.of === of && each.name === name && each.per === per) !== i)
        context.addIssue({
          code: 'custom',
          path: [i, 'of'],
          message: `there is a budget of ${name === undefined ? `each ${of}` : `the ${of} ${name}`}${per === 'run' ? '' : ` for a ${per}`} already. Join both`,
        })
  })
  .default([])
  .transform((all): readonly Budget[] =>
    all.some(({ of }) => of === 'task') ? all : [budgetDefault, ...all],
  )

/**
 * Whether a budget gives each task more money or more tokens than the default.
 *
 * @param given as it is written in a file
 */
export function isLooser(given: unknown): boolean {
  if (!Array.isArray(given)) return true
  return given.some((each: unknown) => {
    const of = budget.safeParse(each)
    if (!of.success) return true
    if (of.data.of !== 'task') return false
    return budgetMeasures.some(
      (measure) => (of.data[measure] ?? Infinity) > (budgetDefault[measure] ?? Infinity),
    )
  })
}

/** Of whom each one may have a budget of its own. */
const named: ReadonlySet<string> = new Set(['session', 'user', 'profile'])

/** The rules by which a daemon applies the budgets (`BudgetRules` of the runtime). */
interface ConfiguredBudgets {
  readonly budgets: readonly Budget[]
  readonly priceFor: PriceFor
  readonly refuses: (call: { readonly provider: string; readonly model: string }) => boolean
}

/** The newest prices count. */
const anyDay = '9999-12-31'
/** The price of a call that goes on although nobody knows its price and the configuration refuses others. */
const priceDefault: Price = { input: 3, output: 15 }

/**
 * The budgets of the configuration. The imported prices are read now, and not again.
 *
 * @throws {BeaverError} `invalid_configuration` if the file of imported prices cannot be read
 */
export function configuredBudgets(
  config: PricesSource & { readonly budgets: readonly Budget[] },
): ConfiguredBudgets {
  const { priceOf: known } = priceTable(pricesOf(config))
  const { unknown } = config.prices
  const unknownPrice = unknown === 'refuse' ? priceDefault : unknown
  return {
    budgets: config.budgets,
    priceFor: (call) => known(call) ?? unknownPrice,
    refuses: (call) => unknown === 'refuse' && known({ ...call, day: anyDay }) === null,
  }
}
