// The state of one endpoint, in memory that all worker threads of a daemon share: its limits and pauses
// (call-slots.ts), its circuit, and its last failure. Nothing here waits; gated.ts does. Every change is one
// atomic step, so a thread that dies leaves no lock behind (gate-words.ts).
import { invariant } from '@beaver/core'
import { CallSlots, type Reservation } from './call-slots.ts'
import { at, wordBytesOfGate, wordsOfGate } from './gate-words.ts'
import { type Nanoseconds, type Rate, rateOf } from './gcra.ts'

// The text of an endpoint's last failure, in shared memory, so that a call that is not made can give the
// reason. There is no text while one is written, or if its writer died, so that texts never mix.

export const failureTextBytes = 448

export class FailureText {
  readonly #words: BigInt64Array
  readonly #bytes: Uint8Array

  /** @param bytes `failureTextBytes` of shared memory. The first two are the length of the text. */
  constructor(words: BigInt64Array, bytes: Uint8Array) {
    this.#words = words
    this.#bytes = bytes
  }

  /** Cuts a text that is too long. If another thread is writing, its text stays. */
  write(text: string): void {
    const version = Atomics.load(this.#words, at.textVersion)
    if (
      isWriting(version) ||
      Atomics.compareExchange(this.#words, at.textVersion, version, version + 1n) !== version
    )
      return
    const encoded = new Uint8Array(failureTextBytes - 2)
    const { written } = new TextEncoder().encodeInto(text, encoded)
    this.#bytes.set([written >> 8, written & 0xff])
    this.#bytes.set(encoded, 2)
    Atomics.store(this.#words, at.textVersion, version + 2n)
  }

  /** `null`: there is none, or it is being written. */
  read(): string | null {
    const version = Atomics.load(this.#words, at.textVersion)
    if (version === 0n || isWriting(version)) return null
    const [high = 0, low = 0, ...text] = this.#bytes.slice()
    if (Atomics.load(this.#words, at.textVersion) !== version) return null
    return new TextDecoder().decode(Uint8Array.from(text).subarray(0, high * 256 + low))
  }
}

/** An odd version means that a thread is writing. */
const isWriting = (version: bigint): boolean => version % 2n === 1n

export interface GateLimits {
  /** `null` means no bound. */
  readonly requestsPerMinuteMax: number | null
  readonly tokensPerMinuteMax: number | null
  readonly circuitFailuresMax: number
  readonly circuitOpenMs: number
  /** A call that waits outside of its thread gets a turn that is at most this far away. */
  readonly turnMsMax: number
}

export interface EndpointGateOptions {
  /** The name of the endpoint in messages. */
  readonly endpoint: string
  readonly limits: GateLimits
  /** The longest time that a call may take. */
  readonly tryMsMax: number
}

export interface EndpointGate {
  readonly endpoint: string
  readonly limits: GateLimits
  /** Takes the slot of a call. Returns `null` and takes nothing if the slot would begin after `latest`. */
  reserve(tokens: number, now: Nanoseconds, latest: Nanoseconds): Reservation | null
  /** Gives back the slot of a call that was not made. */
  giveBack(reservation: Reservation): void
  /** Corrects the tokens to the number that the call really used. */
  settle(reservation: Reservation, tokens: number): void
  /** Makes all calls wait until this time. */
  hold(until: Nanoseconds): void
  heldUntil(): Nanoseconds
  /** How long a call that came now would wait for its turn. */
  waitNs(now: Nanoseconds): Nanoseconds
  /** Counts a call that waited for its turn. */
  waited(ns: Nanoseconds): void
  /** How many calls waited for their turn since the start, and how long together. */
  waits(): { readonly calls: number; readonly ns: Nanoseconds }
  /** How long the circuit stays open. 0: a call may be made, or may try. */
  openForNs(now: Nanoseconds): Nanoseconds
  /** Call this right before a call. Returns `null` if the circuit is open. */
  admit(now: Nanoseconds): Ticket | null
  succeeded(ticket: Ticket): void
  /** @param reason why the call failed, in whole sentences */
  failed(ticket: Ticket, now: Nanoseconds, reason?: string): void
  /** Why a call failed last, in any thread. `null`: unknown. */
  lastFailure(): string | null
  /** The call ended in a way that says nothing about the endpoint. */
  released(ticket: Ticket, now: Nanoseconds): void
}

const nsOfMs = 1_000_000n
const gateBytes = wordBytesOfGate + failureTextBytes

/** Makes the memory for this many endpoints. It is plain data for worker threads. */
export const gateBuffer = (endpoints: number): SharedArrayBuffer =>
  new SharedArrayBuffer(endpoints * gateBytes)

/** The gate of an endpoint by its `index`. Each thread needs its own, which keeps slots that it gave back. */
export function endpointGate(
  buffer: SharedArrayBuffer,
  index: number,
  { endpoint, limits, tryMsMax }: EndpointGateOptions,
): EndpointGate {
  invariant((index + 1) * gateBytes <= buffer.byteLength, `There is no gate ${index}`)
  const words = new BigInt64Array(buffer, index * gateBytes, wordsOfGate)
  const failure = new FailureText(
    words,
    new Uint8Array(buffer, index * gateBytes + wordBytesOfGate, failureTextBytes),
  )
  const rate = (perMinute: number | null): Rate | null => (perMinute === null ? null : rateOf(perMinute))
  const slots = new CallSlots(words, {
    requests: rate(limits.requestsPerMinuteMax),
    tokens: rate(limits.tokensPerMinuteMax),
  })
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
    waitNs: (now) => slots.waitNs(now),
    waited(ns) {
      Atomics.add(words, at.waits, 1n)
      Atomics.add(words, at.waitedNs, ns)
    },
    waits: () => ({
      calls: Number(Atomics.load(words, at.waits)),
      ns: Atomics.load(words, at.waitedNs),
    }),
    openForNs: (now) => circuit.openForNs(now),
    admit: (now) => circuit.admit(now),
    succeeded: (ticket) => circuit.succeeded(ticket),
    failed(ticket, now, reason) {
      if (reason !== undefined) failure.write(reason)
      circuit.failed(ticket, now)
    },
    lastFailure: () => failure.read(),
    released: (ticket, now) => circuit.released(ticket, now),
  }
}

// Circuit: whether an endpoint is asked at all. It opens after `failuresMax` failures in a row. After
// `openNs`, exactly one call tries the endpoint, and its outcome decides for all threads. If the thread of
// this call dies, another call may try after `tryNs`.

/** With its ticket, an admitted call reports how it ended. */
export interface Ticket {
  /** Not `null`: the call tries for all calls whether the endpoint is back. */
  readonly trial: Nanoseconds | null
}

interface CircuitLimits {
  readonly failuresMax: number
  readonly openNs: Nanoseconds
  readonly tryNs: Nanoseconds
}

class Circuit {
  readonly #words: BigInt64Array
  readonly #limits: CircuitLimits

  constructor(words: BigInt64Array, limits: CircuitLimits) {
    this.#words = words
    this.#limits = limits
  }

  openForNs(now: Nanoseconds): Nanoseconds {
    const { openNs } = this.#limits
    const left = Atomics.load(this.#words, at.openUntil) - now
    return left <= 0n ? 0n : left < openNs ? left : openNs
  }

  admit(now: Nanoseconds): Ticket | null {
    for (;;) {
      const until = Atomics.load(this.#words, at.openUntil)
      if (until === 0n) return { trial: null }
      if (until > now) return null
      const trial = now + this.#limits.tryNs
      if (this.#exchange(until, trial)) return { trial }
    }
  }

  succeeded({ trial }: Ticket): void {
    if (trial !== null) {
      Atomics.store(this.#words, at.failures, 0n)
      this.#exchange(trial, 0n)
    } else if (
      Atomics.load(this.#words, at.failures) !== 0n &&
      Atomics.load(this.#words, at.openUntil) === 0n
    )
      Atomics.store(this.#words, at.failures, 0n)
  }

  failed({ trial }: Ticket, now: Nanoseconds): void {
    const { failuresMax, openNs } = this.#limits
    if (trial !== null) this.#exchange(trial, now + openNs)
    else if (
      Atomics.load(this.#words, at.openUntil) === 0n &&
      Atomics.add(this.#words, at.failures, 1n) + 1n >= BigInt(failuresMax)
    )
      this.#exchange(0n, now + openNs)
  }

  released({ trial }: Ticket, now: Nanoseconds): void {
    if (trial !== null) this.#exchange(trial, now)
  }

  /** Returns false if another call has changed the end of the open time. */
  #exchange(from: Nanoseconds, until: Nanoseconds): boolean {
    return Atomics.compareExchange(this.#words, at.openUntil, from, until) === from
  }
}
