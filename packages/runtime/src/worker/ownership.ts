// Checks whether the task of a loop still belongs to this daemon (docs/decisions/0032). The host is asked only if none of its answers has
// said so recently.
import type { HostAnswer, HostCall } from './protocol.ts'

/** An answer that takes longer is late: the task may be somebody else's by the time it is read. */
const lateMs = 500
const lateLooksMax = 3

export type AskHost = <Value extends HostAnswer>(what: HostCall) => Promise<Value>

export interface Ownership {
  /** Asks the host something whose answer says that the task is ours. */
  readonly told: AskHost
  /** @returns `null` when it is known; else resolves when the host was asked, and rejects when the task is not ours */
  stillOurs(): Promise<void> | null
}

export function ownership(ask: AskHost): Ownership {
  let knownAt = -Infinity
  const told: AskHost = async (what) => {
    const askedAt = performance.now()
    const value = await ask<never>(what)
    knownAt = askedAt
    return value
  }
  const isKnown = (): boolean => performance.now() - knownAt <= lateMs
  // Answers that all come late say that the machine is slow, not that the process was stopped each time.
  const look = async (): Promise<void> => {
    for (let looks = 1; looks <= lateLooksMax && !isKnown(); looks++) await told<null>({ of: 'still_ours' })
  }
  return { told, stillOurs: () => (isKnown() ? null : look()) }
}
