// The date and the time of a moment in a time zone, for people and models.

/**
 * Whether the text names a time zone.
 *
 * @example
 * isTimeZone('Europe/Zurich') // => true
 * isTimeZone('Mars/Olympus') // => false
 */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** A moment as the clocks of a time zone show it. */
export interface LocalTime {
  /** `2026-11-23`. */
  readonly date: string
  /** `18:05:09`. */
  readonly time: string
  /** `Monday`. */
  readonly weekday: string
}

/**
 * The date and the time of a moment in a time zone.
 *
 * @param atMs milliseconds since 1970
 * @throws {RangeError} if there is no such time zone
 * @example
 * localTime(0, 'Asia/Tokyo') // => { date: '1970-01-01', time: '09:00:00', weekday: 'Thursday' }
 */
export function localTime(atMs: number, timeZone: string): LocalTime {
  const second = Math.floor(atMs / 1_000)
  if (newest?.second !== second || newest.timeZone !== timeZone)
    newest = { second, timeZone, time: timeOf(atMs, timeZone) }
  return newest.time
}

/** Many runs begin in one second, and each of them asks. */
let newest: { readonly second: number; readonly timeZone: string; readonly time: LocalTime } | null = null

function timeOf(atMs: number, timeZone: string): LocalTime {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, value]),
  )
  const partOf = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? ''
  return {
    date: `${partOf('year')}-${partOf('month')}-${partOf('day')}`,
    time: `${partOf('hour')}:${partOf('minute')}:${partOf('second')}`,
    weekday: partOf('weekday'),
  }
}

const formats = new Map<string, Intl.DateTimeFormat>()
const formatsMax = 100

/** To make a format takes a hundred times as long as to use it, and every run says the date. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const two = '2-digit'
  const options = {
    timeZone,
    year: 'numeric',
    month: two,
    day: two,
    hour: two,
    minute: two,
    second: two,
    hourCycle: 'h23',
    weekday: 'long',
  } as const
  const made = new Intl.DateTimeFormat('en', options)
  if (formats.size >= formatsMax) formats.clear()
  formats.set(timeZone, made)
  return made
}
