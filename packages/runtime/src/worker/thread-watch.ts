// Decides whether a worker thread still answers, from what the main thread reads at each tick. Pure; shard.ts
// ends threads. Time is counted in ticks of the main thread, each at most `tickMsMax`, so that a main thread
// that was held up, or a stopped process, blames no worker; time in which the thread waited for a processor
// does not count. docs/decisions/0025 explains the figures.
import { beatMs, type VitalsReading } from './thread-vitals.ts'

export const watchLimits = {
  tickMs: 500,
  tickMsMax: 1_000,
  /**
   * Silence after which a thread is ended if a call of it is past its deadline, or a cancel was not heard.
   */
  silentMsMin: 2_500,
  /** Silence after which it is ended even if no call is at work in it. */
  silentMsMax: 20_000,
  /** For this long, deadlines and cancels are the thread's own business. */
  graceMs: 500,
  /**
   * A tool may continue after its deadline if the event loop keeps this part of its beats over `strainMs`.
   */
  strainMs: 5_000,
  strainBeats: 0.5,
  /** How long a tool continues after its deadline before the thread's strain counts. */
  overdueMs: 2_000,
} as const

export interface Sight extends Omit<VitalsReading, 'thread'> {
  /** How long the thread has waited for a processor since it began. 0: not known. */
  readonly waitedMs: number
  /** When the oldest unanswered cancel was sent, on the clock of `nowMs`. */
  readonly cancelledAtMs: number | null
}

export interface ThreadWatch {
  /** @returns why the thread must be ended; `null`: it is well, or may recover */
  look(sight: Sight, nowMs: number): string | null
}

export function threadWatch(): ThreadWatch {
  let time = 0
  let lastMs: number | null = null
  let lastBeats = 0
  let lastWaitedMs = 0
  let silentMs = 0
  const seen = new Map<string, number>()
  const recent: { readonly ms: number; readonly beats: number }[] = []

  return {
    look({ beats, calls, cancelledAtMs, waitedMs }, nowMs) {
      // A count that could not be read is 0.
      const starvedMs = Math.max(0, waitedMs - lastWaitedMs)
      const ms = Math.max(0, Math.min(nowMs - (lastMs ?? nowMs), watchLimits.tickMsMax) - starvedMs)
      lastWaitedMs = Math.max(lastWaitedMs, waitedMs)
      const beaten = beats - lastBeats
      lastMs = nowMs
      lastBeats = beats
      time += ms
      silentMs = beaten === 0 ? silentMs + ms : 0
      recent.push({ ms, beats: beaten })
      while (sum(recent, 'ms') - (recent[0]?.ms ?? 0) >= watchLimits.strainMs) recent.shift()

      const there = new Set(calls.map(({ place, number }) => `${place}.${number}`))
      for (const key of seen.keys()) if (!there.has(key)) seen.delete(key)
      for (const key of there) if (!seen.has(key)) seen.set(key, time)
      const overdue = calls
        .map((call) => ({
          call,
          ms: time - (seen.get(`${call.place}.${call.number}`) ?? time) - call.timeoutMs,
        }))
        .toSorted((one, other) => other.ms - one.ms)[0]

      const silent = `its event loop has not run for ${(silentMs / 1000).toFixed(1)} s`
      if (silentMs >= watchLimits.silentMsMin) {
        if (overdue !== undefined && overdue.ms >= watchLimits.graceMs)
          return `${silent} and ${overdue.call.tool} is past its deadline`
        if (cancelledAtMs !== null && nowMs - cancelledAtMs >= watchLimits.graceMs)
          return `${silent} and it did not react to a cancel`
        if (silentMs >= watchLimits.silentMsMax && overdue === undefined) return silent
      }
      const expected = sum(recent, 'ms') / beatMs
      const strained =
        sum(recent, 'ms') >= watchLimits.strainMs && sum(recent, 'beats') < expected * watchLimits.strainBeats
      if (strained && overdue !== undefined && overdue.ms >= watchLimits.overdueMs)
        return `its event loop hardly runs, and ${overdue.call.tool} goes on ${(overdue.ms / 1000).toFixed(1)} s after its deadline`
      return null
    },
  }
}

const sum = <Key extends string>(all: readonly Readonly<Record<Key, number>>[], key: Key): number =>
  all.reduce((total, each) => total + each[key], 0)
