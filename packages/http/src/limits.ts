// The limits on the requests of a caller: how many come in a time, and how many are open at a time. A caller is
// a token, or an address if the route needs no token.
import { HttpProblem } from './problem.ts'

const callersMax = 10_000
const burstS = 4

interface RateLimit {
  readonly perSecond: number
  readonly now: () => number
  /** How many may come at once. Default: those of four seconds. */
  readonly most?: number
  /** What the caller did too often, as a sentence. */
  readonly says?: string
}

/**
 * A token bucket for each caller. When there are too many callers, the one that was idle the longest loses
 * its bucket.
 *
 * @returns a function that counts one request of a caller, and throws the {HttpProblem} `too_many_requests`,
 * with `Retry-After`, if it is one too many. What it returns takes the request out of the count again
 */
export function rateLimit({
  perSecond,
  now,
  most = perSecond * burstS,
  says = `You may send ${perSecond} requests a second.`,
}: RateLimit): (caller: string) => () => void {
  const buckets = new Map<string, { left: number; atMs: number }>()
  return (caller) => {
    const atMs = now()
    const before = buckets.get(caller) ?? { left: most, atMs }
    const left = Math.min(most, before.left + ((atMs - before.atMs) / 1_000) * perSecond)
    buckets.delete(caller)
    if (buckets.size >= callersMax) buckets.delete(buckets.keys().next().value as string)
    buckets.set(caller, { left: Math.max(0, left - 1), atMs })
    if (left >= 1)
      return () => {
        const bucket = buckets.get(caller)
        if (bucket !== undefined) bucket.left = Math.min(most, bucket.left + 1)
      }
    const waitS = Math.ceil((1 - left) / perSecond)
    throw new HttpProblem('too_many_requests', `${says} Come again in ${waitS} s.`, {
      headers: { 'retry-after': String(waitS) },
    })
  }
}

/**
 * Limits how many requests of a caller are open at a time.
 *
 * @returns opens a request of the caller, and returns what ends it; throws {HttpProblem} `too_many_requests`
 */
/** Whether a bound of this file refused a request. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof HttpProblem && error.code === 'too_many_requests'

export function openLimit(most: number): (caller: string) => () => void {
  const open = new Map<string, number>()
  return (caller) => {
    const count = open.get(caller) ?? 0
    if (count >= most)
      throw new HttpProblem(
        'too_many_requests',
        `You have ${most} open requests, which is the most. Close a stream, or come again in 2 s.`,
        { headers: { 'retry-after': '2' } },
      )
    open.set(caller, count + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const left = (open.get(caller) ?? 1) - 1
      if (left === 0) open.delete(caller)
      else open.set(caller, left)
    }
  }
}
