// What a run does while calls of its last answer are open: it acts, waits for a person, or thinks again.
// The one definition of "waits for an approval". The fold of a run, the machine of the loop, the read model and the screens use it.

/** How far a call has come. An `OpenCall` is one. */
export interface CallProgress {
  /** `null`: nobody is asked about it. */
  readonly approval: string | null
  /** `null` until there is one. */
  readonly result: string | null
}

/** A person is asked about the call and has not decided. */
export const callWaits = ({ approval, result }: CallProgress): boolean => result === null && approval === 'requested'

/** @returns `thinking` when every call has a result; `waiting_for_approval` when each one without a result waits for a person */
export function statusOfCalls(calls: Iterable<CallProgress>): 'thinking' | 'acting' | 'waiting_for_approval' {
  let [open, waiting] = [0, 0]
  for (const call of calls) {
    if (call.result === null) open++
    if (callWaits(call)) waiting++
  }
  if (open === 0) return 'thinking'
  return waiting === open ? 'waiting_for_approval' : 'acting'
}
