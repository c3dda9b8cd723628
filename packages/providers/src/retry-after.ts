// Reads when the server wants to be asked again: `retry-after-ms`, or `Retry-After` in seconds or as an HTTP
// date.
import { systemClock } from '@beaver/core'

/**
 * The pause in milliseconds, or `null` if there is none that can be read. A date is compared with the
 * server's `Date`, if it sent one.
 */
export function retryAfterMs(
  headers: Headers | undefined,
  now: () => number = systemClock.now,
): number | null {
  if (headers === undefined) return null
  const ms = numberIn(headers.get('retry-after-ms'))
  if (ms !== null) return ms
  const text = headers.get('retry-after')
  const seconds = numberIn(text)
  if (seconds !== null) return Math.round(seconds * 1000)
  const at = /^\s*[a-z]{3}/i.test(text ?? '') ? Date.parse(text ?? '') : NaN
  if (Number.isNaN(at)) return null
  const sent = Date.parse(headers.get('date') ?? '')
  return Math.max(0, at - (Number.isNaN(sent) ? now() : sent))
}

function numberIn(text: string | null): number | null {
  return text !== null && /^\s*\d{1,12}(\.\d+)?\s*$/.test(text) ? Number(text) : null
}
