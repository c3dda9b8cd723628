// How many requests one caller may send: a bucket of tokens for each.
import { HttpProblem } from './problem.ts'

const callersMax = 10_000
const burstS = 4

/** @returns takes one request of a caller; @throws {HttpProblem} `too_many_requests`, with `Retry-After` */
export function rateLimit({
  perSecond,
  now,
}: {
  readonly perSecond: number
  readonly now: () => number
}): (caller: string) => void {
  const most = perSecond * burstS
  const buckets = new Map<string, { left: number; atMs: number }>()
  return (caller) => {
    const atMs = now()
    const before = buckets.get(caller) ?? { left: most, atMs }
    const left = Math.min(most, before.left + ((atMs - before.atMs) / 1_000) * perSecond)
    buckets.delete(caller)
    if (buckets.size >= callersMax) buckets.delete(buckets.keys().next().value as string)
    buckets.set(caller, { left: Math.max(0, left - 1), atMs })
    if (left >= 1) return
    const waitS = Math.ceil((1 - left) / perSecond)
    throw new HttpProblem(
      'too_many_requests',
      `You may send ${perSecond} requests a second. Come again in ${waitS} s.`,
      {
        headers: { 'retry-after': String(waitS) },
      },
    )
  }
}
