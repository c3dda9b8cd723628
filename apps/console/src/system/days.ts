// The bars of a plot by day: which days there are, how high each bar is, and where the lines of the scale are.
// Pure.
import type { UsageAnswer } from '@beaver/contracts'
import type { Measure } from './search.ts'

export interface Day {
  /** YYYY-MM-DD, UTC. */
  readonly day: string
  /** `null`: nothing is known of what the calls of the day cost. A day without calls has 0. */
  readonly value: number | null
  /** Whether the value is a part only, because the cost of some calls is not known. */
  readonly isPart: boolean
}

const dayMs = 86_400_000
/** So many bars fit into a page; of a longer period the last days are shown. */
const daysMax = 366

type Usage = Pick<UsageAnswer, 'since' | 'until' | 'groups'>

/** Every day of the period, also those without calls, the oldest first. */
export function daysOf({ since, until, groups }: Usage, measure: Measure): readonly Day[] {
  const known = new Map(groups.map((each) => [each.key, each]))
  const last = Date.parse(until)
  const first = Math.max(Date.parse(since), last - (daysMax - 1) * dayMs)
  const count = Math.max(0, Math.round((last - first) / dayMs) + 1)
  return Array.from({ length: count }, (_, at) => {
    const day = new Date(first + at * dayMs).toISOString().slice(0, 'YYYY-MM-DD'.length)
    const used = known.get(day)
    if (used === undefined || used.calls === 0) return { day, value: 0, isPart: false }
    if (measure === 'tokens') return { day, value: used.input_tokens + used.output_tokens, isPart: false }
    const whole = used.cost_usd ?? null
    return { day, value: whole ?? used.cost_usd_known ?? null, isPart: whole === null }
  })
}

/** The top of a scale: 1, 2 or 5 times a power of ten, and not below the greatest value. */
export function topOf(values: readonly number[]): number {
  const greatest = Math.max(0, ...values)
  if (greatest === 0) return 1
  const power = 10 ** Math.floor(Math.log10(greatest))
  return ([1, 2, 5].find((each) => each * power >= greatest) ?? 10) * power
}

/** The days that have a name below the plot: the first, the last and some between, evenly. */
export function namedDays(days: readonly Day[], namesMax: number): readonly number[] {
  const last = days.length - 1
  if (last < 0) return []
  const count = Math.min(namesMax, days.length)
  if (count < 2) return [0]
  return Array.from({ length: count }, (_, at) => Math.round((at * last) / (count - 1)))
}
