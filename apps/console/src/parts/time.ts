// Times, durations, counts and money as words. Pure, so that they are tested without a browser.

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A duration with at most two units, such as "2 min 5 s". `null`: "–". */
export function durationText(ms: number | null): string {
  if (ms === null) return '–'
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const at = units.findIndex(([, size]) => ms >= size)
  const [name, size] = units[at] ?? units[3]
  const lower = units[at + 1]
  const whole = Math.floor(ms / size)
  const rest = lower === undefined ? 0 : Math.floor((ms - whole * size) / lower[1])
  return rest === 0 || lower === undefined ? `${whole} ${name}` : `${whole} ${name} ${rest} ${lower[0]}`
}

const seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200]
const tickSteps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...seconds.map((each) => each * 1_000),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * 86_400_000),
]

/** Round durations from 0 up to this one, for an axis: at most six, in milliseconds. */
export function timeTicks(ms: number): readonly number[] {
  const step = tickSteps.find((each) => ms / each < 6) ?? ms
  return Array.from({ length: Math.floor(ms / step) + 1 }, (_, at) => at * step)
}

/** How long ago a time is, with one unit: "now", "5 min ago", "in 3 s". */
export function agoText(time: string, now: number): string {
  const ms = now - Date.parse(time)
  const size = Math.abs(ms)
  const [name, unit] = units.find(([, each]) => size >= each) ?? ['s', 1_000]
  const amount = Math.floor(size / unit)
  if (amount === 0) return 'now'
  return ms > 0 ? `${amount} ${name} ago` : `in ${amount} ${name}`
}

/** The time in the zone of the reader. */
export const localTime = (time: string): string =>
  new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(time))

/** A number as the command line writes it: 12,345. */
export const numberText = (value: number): string => value.toLocaleString('en-US')

/** A large number in short: 950, 12.3k, 4.1M. */
export function shortNumber(value: number): string {
  if (value < 1_000) return String(value)
  const [size, name] = value < 999_500 ? [1_000, 'k'] : [1_000_000, 'M']
  return `${(value / size).toFixed(value / size < 100 ? 1 : 0)}${name}`
}

/** US dollars: two digits, or as many as the first two that are not 0. `null`: the price is not known. */
export function moneyText(usd: number | null): string {
  if (usd === null) return 'unknown'
  if (usd === 0) return '$0'
  const digits = usd >= 0.1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(usd)))
  const [whole = '', rest = ''] = usd.toFixed(digits).split('.')
  // At least two digits, and no 0 behind them that says nothing.
  return `$${numberText(Number(whole))}.${rest.replace(/(\d\d+?)0+$/, '$1')}`
}
