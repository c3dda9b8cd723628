// Checks whether the task of a loop still belongs to this daemon (docs/decisions/0032). The host is asked
// only if none of its answers has said so recently.
import type { HostAnswer, HostCall } from './protocol.ts'

/** An answer that takes longer is late: the task may belong to another daemon by the time it is read. */
const lateMs = 500
/**
 * On a slow machine every answer is late. Then an answer counts that is not slower than others were: at most
 * so late.
 */
const slowMsMax = 2_000
const looksMax = 20

export type AskHost = <Value extends HostAnswer>(what: HostCall) => Promise<Value>

export interface Ownership {
  /** Asks the host something whose answer says that the task is ours. */
  readonly told: AskHost
  /**
   * @returns `null` when it is known; else resolves when the host was asked, and rejects when the task is not
   * ours
   */
  stillOurs(): Promise<void> | null
}

/** @param nowMs a clock that goes on while the process is stopped */
export function ownership(ask: AskHost, nowMs: () => number = () => performance.now()): Ownership {
  let knownAt = -Infinity
  const told: AskHost = async (what) => {
    const askedAt = nowMs()
    const value = await ask<never>(what)
    knownAt = askedAt
    return value
  }
  const isKnown = (): boolean => nowMs() - knownAt <= lateMs
  const look = async (): Promise<void> => {
    let fastestMs = Infinity
    for (let looks = 1; looks <= looksMax; looks++) {
      const askedAt = nowMs()
      await told<null>({ of: 'still_ours' })
      const tookMs = nowMs() - askedAt
      // A process that was stopped reads one answer late, and the next one in time. A slow machine reads all
      // of them late.
      if (tookMs <= Math.max(lateMs, fastestMs === Infinity ? 0 : Math.min(2 * fastestMs, slowMsMax))) return
      fastestMs = Math.min(fastestMs, tookMs)
    }
  }
  return { told, stillOurs: () => (isKnown() ? null : look()) }
}
