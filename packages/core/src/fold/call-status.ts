// What a run does while calls of its last answer are open: it acts, waits for a person or for its client, or
// thinks again. This is the only definition of "waits for a person", "waits for its client" and "is held".

/** The progress of a call. An `OpenCall` has this shape. */
export interface CallProgress {
  /** The state of the approval; `null` if the call did not ask for one. */
  readonly approval: string | null
  /** The content of the result; `null` until there is one. */
  readonly result: string | null
  /** Whether the call has begun. Default: it has. */
  readonly started?: boolean
  /** Whether the call has asked a person something that nobody has answered. Default: it has not. */
  readonly asking?: boolean
  /** Whether the call waits for the client, which has not answered. Default: it does not. */
  readonly atClient?: boolean
}

/**
 * Whether a person was asked about the call, or by the call, and has not answered.
 *
 * @example
 * callWaits({ approval: 'requested', result: null }) // => true
 * callWaits({ approval: 'granted', result: null }) // => false
 */
export const callWaits = (call: CallProgress): boolean => callNeedsApproval(call) || callAsks(call)

/**
 * Whether a person was asked whether the call may begin, and has not decided.
 *
 * @example
 * callNeedsApproval({ approval: 'requested', result: null }) // => true
 */
export const callNeedsApproval = ({ approval, result }: CallProgress): boolean =>
  result === null && approval === 'requested'

/**
 * Whether the call asked a person something, and nobody has answered.
 *
 * @example
 * callAsks({ approval: null, result: null, asking: true }) // => true
 */
export const callAsks = ({ asking = false, result }: CallProgress): boolean => result === null && asking

/**
 * Whether the call is one of the client's tools, and the client has not answered.
 *
 * @example
 * callAtClient({ approval: null, result: null, atClient: true }) // => true
 */
export const callAtClient = ({ atClient = false, result }: CallProgress): boolean =>
  result === null && atClient

/**
 * The call that holds a call which has not begun: the last one before it that waits for a person or for the
 * client (D-66).
 * `null`: none holds it.
 *
 * @param calls of one answer, in their order
 * @example
 * const asked = { approval: 'requested', result: null }
 * const held = { approval: null, result: null, started: false }
 * heldBy(held, [asked, held]) === asked // => true
 * heldBy(held, [held, asked]) // => null
 */
export function heldBy<Call extends CallProgress>(call: Call, calls: readonly Call[]): Call | null {
  if (call.result !== null || call.approval !== null || call.started !== false) return null
  return calls.slice(0, calls.indexOf(call)).findLast((each) => callWaits(each) || callAtClient(each)) ?? null
}

/**
 * What a run with these calls does.
 *
 * @returns `thinking` if every call has a result. If each call without a result waits:
 *   `waiting_for_approval` if one of them needs an approval, else `waiting_for_answer` if one asks a person,
 *   else `waiting_for_client`
 * @example
 * statusOfCalls([]) // => 'thinking'
 * statusOfCalls([{ approval: 'requested', result: null }]) // => 'waiting_for_approval'
 * statusOfCalls([{ approval: 'requested', result: null }, { approval: null, result: null }]) // => 'acting'
 */
export function statusOfCalls(
  calls: Iterable<CallProgress>,
): 'thinking' | 'acting' | 'waiting_for_approval' | 'waiting_for_answer' | 'waiting_for_client' {
  let [open, waiting, undecided, atClient] = [0, 0, 0, 0]
  for (const call of calls) {
    if (call.result === null) open++
    if (callWaits(call)) waiting++
    if (callNeedsApproval(call)) undecided++
    if (callAtClient(call)) atClient++
  }
  if (open === 0) return 'thinking'
  if (waiting + atClient < open) return 'acting'
  if (undecided > 0) return 'waiting_for_approval'
  return waiting > 0 ? 'waiting_for_answer' : 'waiting_for_client'
}

/**
 * What screens say of a run with these calls. A held call does nothing, so here the run waits for the person.
 * The machine of a loop needs no such difference: it gets the events of an entry one by one, and a call may
 * begin behind one that asks.
 *
 * @param calls of one answer, in their order
 * @example
 * const asked = { approval: 'requested', result: null }
 * shownStatusOfCalls([asked, { approval: null, result: null, started: false }]) // => 'waiting_for_approval'
 * shownStatusOfCalls([asked, { approval: null, result: null, started: true }]) // => 'acting'
 */
export function shownStatusOfCalls(calls: readonly CallProgress[]): ReturnType<typeof statusOfCalls> {
  return statusOfCalls(calls.filter((call) => heldBy(call, calls) === null))
}
