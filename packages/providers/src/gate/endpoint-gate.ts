// What all loops of a daemon share about one endpoint, in memory that its worker threads share: its limits, how long it asked
// to be left alone, and its circuit. Who waits, waits elsewhere (gated.ts); nothing here takes time.
// T1. Every change is one atomic step: a thread that dies leaves no lock behind. T2. A slot is given to one call; one that is
//     not used goes to another call of the same thread. T3. After `circuitFailuresMax` failures in a row the circuit opens;
//     when `circuitOpenMs` are over, exactly one call tries, and decides for all. T4. A try that is never decided (its
//     thread died) counts until `tryMsMax`, then another may.
import { invariant } from '@beaver/core'
import { costNs, later, type Nanoseconds, nextSlot, type Rate, rateOf, toleranceNs } from './gcra.ts'

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

/** A call's place in the limits. */
export interface Reservation {
  readonly start: Nanoseconds
  /** Tokens taken for it. */
  readonly tokens: number
}

/** What a call that was let through owes the circuit: how it ended. */
export interface Ticket {
  /** Not `null`: it tries for all whether the endpoint is back. */
  readonly trial: Nanoseconds | null
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

// The words of an endpoint: a cache line.
const requestsDue = 0
const tokensDue = 1
const holdUntil = 2
const failures = 3
/** 0: closed. */
const openUntil = 4
const words = 8

/** After a hold, and without a limit of requests, calls go on one by one: all at once they would meet the next hold. */
const afterHoldNs = 20_000_000n
const freedMax = 10_000

/** For so many endpoints; plain data for worker threads. */
export const gateBuffer = (endpoints: number): SharedArrayBuffer => new SharedArrayBuffer(endpoints * words * BigInt64Array.BYTES_PER_ELEMENT)

/** The gate of the endpoint at `index` of a `gateBuffer`. One object for each thread: slots that are given back stay in it. */
export function endpointGate(buffer: SharedArrayBuffer, index: number, { endpoint, limits, tryMsMax }: EndpointGateOptions): EndpointGate {
  invariant((index + 1) * words * BigInt64Array.BYTES_PER_ELEMENT <= buffer.byteLength, `There is no gate ${index}`)
  const word = new BigInt64Array(buffer, index * words * BigInt64Array.BYTES_PER_ELEMENT, words)
  const requests = limits.requestsPerMinuteMax === null ? null : rateOf(limits.requestsPerMinuteMax)
  const tokenRate = limits.tokensPerMinuteMax === null ? null : rateOf(limits.tokensPerMinuteMax)
  const openNs = BigInt(limits.circuitOpenMs) * 1_000_000n
  const tryNs = BigInt(tryMsMax) * 1_000_000n
  /** Starts of slots that were given back, in order. */
  let freed: Nanoseconds[] = []

  /** Takes the next slot, unless it is too late. */
  function take(at: number, asked: Parameters<typeof nextSlot>[1], latest: Nanoseconds): Nanoseconds | null {
    for (;;) {
      const due = Atomics.load(word, at)
      const slot = nextSlot(due, asked)
      if (slot.start > latest) return null
      if (Atomics.compareExchange(word, at, due, slot.due) === due) return slot.start
    }
  }

  function raise(at: number, to: Nanoseconds): void {
    for (;;) {
      const is = Atomics.load(word, at)
      if (is >= to || Atomics.compareExchange(word, at, is, to) === is) return
    }
  }

  function takeRequest(earliest: Nanoseconds, now: Nanoseconds, latest: Nanoseconds): Nanoseconds | null {
    if (requests === null) {
      return earliest === now || Atomics.load(word, holdUntil) <= now ? earliest : take(requestsDue, { earliest, cost: afterHoldNs, tolerance: 0n }, latest)
    }
    freed = freed.filter((start) => start >= now)
    const reused = freed.findIndex((start) => start >= earliest && start <= latest)
    if (reused >= 0) return freed.splice(reused, 1)[0] ?? null
    return take(requestsDue, { earliest, cost: costNs(requests, 1), tolerance: toleranceNs(requests) }, latest)
  }

  const addTokens = (rate: Rate, tokens: number): void => {
    if (tokens !== 0) Atomics.add(word, tokensDue, tokens > 0 ? costNs(rate, tokens) : -costNs(rate, -tokens))
  }

  return {
    endpoint,
    limits,
    reserve(tokens, now, latest) {
      const earliest = later(now, Atomics.load(word, holdUntil))
      if (earliest > latest) return null
      const cost = tokenRate === null ? 0n : costNs(tokenRate, tokens)
      const due = tokenRate === null ? earliest : take(tokensDue, { earliest, cost, tolerance: toleranceNs(tokenRate) }, latest)
      if (due === null) return null
      const start = takeRequest(due, now, latest)
      if (start === null) {
        if (tokenRate !== null) addTokens(tokenRate, -tokens)
        return null
      }
      // Its tokens are used when it starts, not when they were due.
      if (tokenRate !== null && start > due) raise(tokensDue, start + cost)
      return { start, tokens }
    },
    giveBack({ start, tokens }) {
      if (tokenRate !== null) addTokens(tokenRate, -tokens)
      if (requests === null || freed.length >= freedMax) return
      const at = freed.findIndex((each) => each > start)
      freed.splice(at < 0 ? freed.length : at, 0, start)
    },
    settle(reservation, tokens) {
      if (tokenRate !== null) addTokens(tokenRate, tokens - reservation.tokens)
    },
    hold: (until) => raise(holdUntil, until),
    heldUntil: () => Atomics.load(word, holdUntil),
    openForNs(now) {
      const left = Atomics.load(word, openUntil) - now
      return left <= 0n ? 0n : left < openNs ? left : openNs
    },
    admit(now) {
      for (;;) {
        const until = Atomics.load(word, openUntil)
        if (until === 0n) return { trial: null }
        if (until > now) return null
        const trial = now + tryNs
        if (Atomics.compareExchange(word, openUntil, until, trial) === until) return { trial }
      }
    },
    succeeded({ trial }) {
      if (trial !== null) {
        Atomics.store(word, failures, 0n)
        Atomics.compareExchange(word, openUntil, trial, 0n)
      } else if (Atomics.load(word, failures) !== 0n && Atomics.load(word, openUntil) === 0n) Atomics.store(word, failures, 0n)
    },
    failed({ trial }, now) {
      if (trial !== null) Atomics.compareExchange(word, openUntil, trial, now + openNs)
      else if (Atomics.load(word, openUntil) === 0n && Atomics.add(word, failures, 1n) + 1n >= BigInt(limits.circuitFailuresMax))
        Atomics.compareExchange(word, openUntil, 0n, now + openNs)
    },
    released({ trial }, now) {
      if (trial !== null) Atomics.compareExchange(word, openUntil, trial, now)
    },
  }
}
