// What all loops of a daemon share about one endpoint, in memory that its worker threads share: its limits, how long it asked
// to be left alone (call-slots.ts), and its circuit (circuit.ts). Waiting belongs to gated.ts; nothing here takes time.
// T1. Every change is one atomic step: a thread that dies leaves no lock behind (gate-words.ts). T2. A gate has its own words of the
//     buffer, and changes no other.
import { invariant } from '@beaver/core'
import { CallSlots, type Reservation } from './call-slots.ts'
import { Circuit, type Ticket } from './circuit.ts'
import { gateBytes, wordsOfGate } from './gate-words.ts'
import { type Nanoseconds, type Rate, rateOf } from './gcra.ts'

export interface GateLimits {
  /** `null`: no bound. */
  readonly requestsPerMinuteMax: number | null
  readonly tokensPerMinuteMax: number | null
  readonly circuitFailuresMax: number
  readonly circuitOpenMs: number
  /** How far away the turn of a call may be that does not wait in its thread. */
  readonly turnMsMax: number
}

export interface EndpointGateOptions {
  /** For messages. */
  readonly endpoint: string
  readonly limits: GateLimits
  /** What a call may take at most. */
  readonly tryMsMax: number
}

export interface EndpointGate {
  readonly endpoint: string
  readonly limits: GateLimits
  /** The slot of a call; `null` when it would begin after `latest`, and nothing is taken then. */
  reserve(tokens: number, now: Nanoseconds, latest: Nanoseconds): Reservation | null
  /** The call was not made. */
  giveBack(reservation: Reservation): void
  /** What the call used in fact. */
  settle(reservation: Reservation, tokens: number): void
  /** Nobody calls before. */
  hold(until: Nanoseconds): void
  heldUntil(): Nanoseconds
  /** How long the circuit stays open; 0: a call may be made, or tried. */
  openForNs(now: Nanoseconds): Nanoseconds
  /** Right before a call; `null` when the circuit is open. */
  admit(now: Nanoseconds): Ticket | null
  succeeded(ticket: Ticket): void
  failed(ticket: Ticket, now: Nanoseconds): void
  /** It ended without telling anything about the endpoint. */
  released(ticket: Ticket, now: Nanoseconds): void
}

const nsOfMs = 1_000_000n

/** For so many endpoints; plain data for worker threads. */
export const gateBuffer = (endpoints: number): SharedArrayBuffer => new SharedArrayBuffer(endpoints * gateBytes)

/** The gate of the endpoint at `index` of a `gateBuffer`. One object for each thread: slots that are given back stay in it. */
export function endpointGate(buffer: SharedArrayBuffer, index: number, { endpoint, limits, tryMsMax }: EndpointGateOptions): EndpointGate {
  invariant((index + 1) * gateBytes <= buffer.byteLength, `There is no gate ${index}`)
  const words = new BigInt64Array(buffer, index * gateBytes, wordsOfGate)
  const rate = (perMinute: number | null): Rate | null => (perMinute === null ? null : rateOf(perMinute))
  const slots = new CallSlots(words, { requests: rate(limits.requestsPerMinuteMax), tokens: rate(limits.tokensPerMinuteMax) })
  const circuit = new Circuit(words, {
    failuresMax: limits.circuitFailuresMax,
    openNs: BigInt(limits.circuitOpenMs) * nsOfMs,
    tryNs: BigInt(tryMsMax) * nsOfMs,
  })
  return {
    endpoint,
    limits,
    reserve: (tokens, now, latest) => slots.reserve(tokens, now, latest),
    giveBack: (reservation) => slots.giveBack(reservation),
    settle: (reservation, tokens) => slots.settle(reservation, tokens),
    hold: (until) => slots.hold(until),
    heldUntil: () => slots.heldUntil,
    openForNs: (now) => circuit.openForNs(now),
    admit: (now) => circuit.admit(now),
    succeeded: (ticket) => circuit.succeeded(ticket),
    failed: (ticket, now) => circuit.failed(ticket, now),
    released: (ticket, now) => circuit.released(ticket, now),
  }
}
