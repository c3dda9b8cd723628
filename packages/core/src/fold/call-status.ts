// What a run does while calls of its last answer are open: it acts, waits for a person, or thinks again.
// This is the only definition of "waits for an approval". The fold of a run, the machine of the loop, the read model and the screens use it.

/** The progress of a call. An `OpenCall` has this shape. */
export interface CallProgress {
  /** The state of the approval; `null` if the call did not ask for one. */
  readonly approval: string | null
  /** The content of the result; `null` until there is one. */
  readonly result: string | null
}

/**
 * Whether a person was asked about the call and has not decided.
 *
 * @example
 * callWaits({ approval: 'requested', result: null }) // => true
 * callWaits({ approval: 'granted', result: null }) // => false
 */
export const callWaits = ({ approval, result }: CallProgress): boolean => result === null && approval === 'requested'

/**
 * What a run with these calls does.
 *
 * @returns `thinking` if every call has a result; `waiting_for_approval` if each call without a result waits for a person
 * @example
 * statusOfCalls([]) // => 'thinking'
 * statusOfCalls([{ approval: 'requested', result: null }]) // => 'waiting_for_approval'
 * statusOfCalls([{ approval: 'requested', result: null }, { approval: null, result: null }]) // => 'acting'
 */
export function statusOfCalls(calls: Iterable<CallProgress>): 'thinking' | 'acting' | 'waiting_for_approval' {
  let [open, waiting] = [0, 0]
  for (const call of calls) {
    if (call.result === null) open++
    if (callWaits(call)) waiting++
  }
  if (open === 0) return 'thinking'
  return waiting === open ? 'waiting_for_approval' : 'acting'
}
