// What earlier tasks of a kind used, for `beaver plan`: of the newest ones that completed, what half of them and
// nine of ten used at most.
// P1. A cost that nobody knows is in no figure, and the screen says how many tasks have one. What the others cost
// is then said of these others alone.
import type { TaskSummary } from '@beaver/contracts'
import { amountText, type BudgetMeasure } from '@beaver/core/budget'
import { costOf } from '../text/cost.ts'
import { counted } from '../text/figures.ts'

/** Of so many tasks, the median and the 90th percentile: each is what one of the tasks used. */
interface Spread {
  readonly tasks: number
  readonly median: number
  readonly p90: number
}

/** What earlier tasks used. `null`: no task has completed whose amount is known. */
export interface PastUse {
  readonly tasks: number
  /** Whether the simulated model answered them, which costs nothing. */
  readonly simulated: boolean
  readonly usd: Spread | null
  readonly tokens: Spread | null
  readonly model_calls: Spread | null
}

/**
 * @param tasks that completed, newest first. Left out are retries, of which only a part was paid, archived
 * tasks, whose usage is in the archive, and simulated ones, unless there are no others
 */
export function pastUse(tasks: readonly TaskSummary[]): PastUse {
  const whole = tasks.filter(
    ({ retry_of, archived_events }) => retry_of === null && archived_events === undefined,
  )
  const paid = whole.filter(({ simulated }) => simulated !== true)
  const counts = paid.length === 0 ? whole : paid
  const costs = counts.map(costOf).filter(({ unknown }) => unknown.length === 0)
  return {
    tasks: counts.length,
    simulated: paid.length === 0 && whole.length > 0,
    usd: spreadOf(costs.map(({ usd }) => usd)),
    tokens: spreadOf(counts.map((each) => each.input_tokens + each.output_tokens)),
    model_calls: spreadOf(counts.map(({ calls }) => calls)),
  }
}

function spreadOf(amounts: readonly number[]): Spread | null {
  const sorted = amounts.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
  return sorted.length === 0 ? null : { tasks: sorted.length, median: at(0.5), p90: at(0.9) }
}

/**
 * The lines about it.
 *
 * @param past `null`: nothing could be asked
 */
export function pastLines(past: PastUse | null): string[] {
  if (past === null) return ['nothing is known of earlier tasks, because no Beaver answers here']
  if (past.tasks === 0) return ['no such task has completed yet, so only these bounds are known']
  const unknown = past.tasks - (past.usd?.tasks ?? 0)
  const measures: readonly (keyof PastUse & BudgetMeasure)[] =
    unknown === 0 ? ['usd', 'tokens', 'model_calls'] : ['tokens', 'model_calls']
  const used = (share: 'median' | 'p90'): string =>
    measures
      .flatMap((measure) => {
        const spread = past[measure]
        return spread === null ? [] : [amountText(measure, spread[share])]
      })
      .join(', ')
  const isOne = past.tasks === 1
  return [
    isOne
      ? `the one task that completed used ${used('median')}`
      : `half of ${counted(past.tasks, 'task')} used at most ${used('median')}`,
    ...(isOne ? [] : [`90% of them used at most ${used('p90')}`]),
    ...(past.simulated ? ['the simulated model answered, which costs nothing'] : []),
    ...(unknown === 0 ? [] : [isOne ? 'its cost is unknown' : unknownCost(unknown, past.usd)]),
  ]
}

/** @param known what the tasks with a known cost used. `null`: there are none */
function unknownCost(unknown: number, known: Spread | null): string {
  const start = `the cost of ${unknown} of them is unknown`
  if (known === null) return start
  return known.tasks === 1
    ? `${start}; the other one used ${amountText('usd', known.median)}`
    : `${start}; 90% of the other ${known.tasks} used at most ${amountText('usd', known.p90)}`
}
