// Formats times, sizes and counts for people.
export { count, counted } from '@beaver/core/task-view'

/** @example duration(3_240) // '3.2 s' */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`
}

/** @example bytes(1_536_000_000) // '1.5 GB' */
export function bytes(n: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let value = n
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** A time in the reader's time zone: `12:01:03` for today, `2027-01-09 12:01` for other days. */
export function moment(iso: string, now: number): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return iso
  const two = (n: number): string => String(n).padStart(2, '0')
  const day = (date: Date): string =>
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`
  return day(at) === day(new Date(now)) ? `${time}:${two(at.getSeconds())}` : `${day(at)} ${time}`
}

/** How long a task took, or has taken so far, in milliseconds. `null`: unknown. */
export function tookMs(
  task: {
    readonly submitted_at: string | null
    readonly ended_at: string | null
    readonly elapsed_ms: number | null
  },
  now: number,
): number | null {
  return task.ended_at === null && task.submitted_at !== null
    ? Math.max(0, now - Date.parse(task.submitted_at))
    : task.elapsed_ms
}
