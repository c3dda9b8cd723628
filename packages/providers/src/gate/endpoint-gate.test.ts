import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endpointGate, type EndpointGate, gateBuffer, type GateLimits, type Ticket } from './endpoint-gate.ts'
import { rateOf } from './gcra.ts'

const second = 1_000_000_000n
const never = 1n << 60n
const limits: GateLimits = {
  requestsPerMinuteMax: null,
  tokensPerMinuteMax: null,
  circuitFailuresMax: 3,
  circuitOpenMs: 10_000,
  turnMsMax: 3_600_000,
}
const gate = (over: Partial<GateLimits> = {}, buffer = gateBuffer(1)): EndpointGate =>
  endpointGate(buffer, 0, { endpoint: 'e', limits: { ...limits, ...over }, tryMsMax: 60_000 })

function admitted(of: EndpointGate, now: bigint): Ticket {
  const ticket = of.admit(now)
  if (ticket === null) throw new Error('not admitted')
  return ticket
}

describe('the limits of an endpoint', () => {
  it('give one object of the gate slots after those of another: the memory is shared', () => {
    const buffer = gateBuffer(1)
    const [one, other] = [
      gate({ requestsPerMinuteMax: 1 }, buffer),
      gate({ requestsPerMinuteMax: 1 }, buffer),
    ]
    expect([one, other, one].map((each) => each.reserve(0, second, never)?.start)).toEqual([
      second,
      61n * second,
      121n * second,
    ])
  })

  it('say how long a call would wait, and take nothing for it', () => {
    const tight = gate({ requestsPerMinuteMax: 1, tokensPerMinuteMax: 60 })
    expect(tight.waitNs(second)).toBe(0n)
    tight.reserve(60, second, never)
    expect([tight.waitNs(second), tight.waitNs(second)]).toEqual([60n * second, 60n * second])
    expect(tight.waitNs(61n * second)).toBe(0n)
    tight.hold(100n * second)
    expect(tight.waitNs(61n * second)).toBe(39n * second)
    const open = gate()
    expect(open.waitNs(second)).toBe(0n)
    open.hold(3n * second)
    expect(open.waitNs(second)).toBe(2n * second)
  })

  it('keep endpoints apart', () => {
    const buffer = gateBuffer(2)
    const at = (index: number): EndpointGate =>
      endpointGate(buffer, index, {
        endpoint: 'e',
        limits: { ...limits, requestsPerMinuteMax: 1 },
        tryMsMax: 1,
      })
    expect([0, 1].map((index) => at(index).reserve(0, second, never)?.start)).toEqual([second, second])
  })

  it('take nothing for a call that would begin too late', () => {
    const tight = gate({ requestsPerMinuteMax: 1, tokensPerMinuteMax: 60 })
    expect(tight.reserve(60, second, 61n * second)?.start).toBe(second)
    for (let i = 0; i < 5; i++) expect(tight.reserve(60, second, 50n * second)).toBeNull()
    expect(tight.reserve(60, second, 61n * second)?.start).toBe(61n * second)
  })

  it('give a slot that is given back to the next call, once', () => {
    const tight = gate({ requestsPerMinuteMax: 60, tokensPerMinuteMax: null })
    const taken = Array.from({ length: 10 }, () => tight.reserve(0, second, never))
    for (const at of [7, 6]) {
      const back = taken[at]
      if (back) tight.giveBack(back)
    }
    expect(Array.from({ length: 3 }, () => tight.reserve(0, second, never)?.start)).toEqual([
      taken[6]?.start,
      taken[7]?.start,
      6n * second,
    ])
  })

  it('never start more requests in a minute than allowed besides the burst, however calls come, wait and give back', () => {
    const step = fc.record({
      gap: fc.bigInt({ min: 0n, max: 3n * second }),
      tokens: fc.integer({ min: 0, max: 400 }),
      keep: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 120 }),
        fc.option(fc.integer({ min: 100, max: 20_000 })),
        fc.array(step, { maxLength: 300 }),
        (rpm, tpm, steps) => {
          const tight = gate({ requestsPerMinuteMax: rpm, tokensPerMinuteMax: tpm })
          let now = second
          const made: bigint[] = []
          for (const { gap, tokens, keep } of steps) {
            now += gap
            const reservation = tight.reserve(tokens, now, never)
            if (reservation === null || reservation.start < now) return false
            if (keep) made.push(reservation.start)
            else tight.giveBack(reservation)
          }
          made.sort((a, b) => (a < b ? -1 : 1))
          const most = rpm + rateOf(rpm).burst
          return made.every(
            (start, i) => made[i + most] === undefined || (made[i + most] as bigint) - start >= 60n * second,
          )
        },
      ),
      { numRuns: 500 },
    )
  })

  it('count the tokens a call took, not the estimate: over time no more than allowed', () => {
    const call = fc.record({
      estimate: fc.integer({ min: 0, max: 2_000 }),
      used: fc.integer({ min: 0, max: 2_000 }),
    })
    fc.assert(
      fc.property(
        fc.integer({ min: 600, max: 60_000 }),
        fc.array(call, { minLength: 1, maxLength: 200 }),
        (tpm, calls) => {
          const tight = gate({ tokensPerMinuteMax: tpm })
          let now = second
          let used = 0
          for (const each of calls) {
            const reservation = tight.reserve(each.estimate, now, never)
            if (reservation === null) return false
            now = reservation.start
            // What was allowed since the beginning, and the burst; the call that begins now is not counted
            // yet.
            const allowed =
              Number((BigInt(tpm) * (now - second)) / (60n * second)) + rateOf(tpm).burst + calls.length
            if (used > allowed) return false
            tight.settle(reservation, each.used)
            used += each.used
          }
          return true
        },
      ),
      { numRuns: 500 },
    )
  })

  it('of a call that a server counts with an absurd number do not hold up its endpoint for hours', () => {
    for (const absurd of [1e9, Number.MAX_SAFE_INTEGER]) {
      const tight = gate({ tokensPerMinuteMax: 200_000 })
      const first = tight.reserve(1_000, second, never)
      if (first === null) throw new Error('It has no slot.')
      tight.settle(first, absurd)
      expect(tight.reserve(1_000, second, second + 11n * 60n * second)).not.toBeNull()
    }
  })

  it('hold everybody for as long as the endpoint asked, then let them go one by one', () => {
    const held = gate()
    held.hold(5n * second)
    held.hold(3n * second)
    expect(Array.from({ length: 3 }, () => held.reserve(0, second, never)?.start)).toEqual([
      5_000_000_000n,
      5_020_000_000n,
      5_040_000_000n,
    ])
    expect(held.reserve(0, second, 4n * second)).toBeNull()
    expect(held.reserve(0, 6n * second, never)?.start).toBe(6n * second)
  })
})

describe('the circuit of an endpoint', () => {
  const fail = (of: EndpointGate, now: bigint): void => of.failed(admitted(of, now), now)

  it('opens after so many failures in a row, and not when one call succeeded among them', () => {
    const broken = gate()
    for (const works of [false, false, true, false, false]) {
      const ticket = admitted(broken, second)
      if (works) broken.succeeded(ticket)
      else broken.failed(ticket, second)
    }
    expect(broken.openForNs(second)).toBe(0n)
    fail(broken, second)
    expect(broken.openForNs(second)).toBe(10n * second)
    expect(broken.admit(10n * second)).toBeNull()
  })

  it('lets exactly one call try when its time is over; its success closes it for all', () => {
    const buffer = gateBuffer(1)
    const [one, other] = [gate({}, buffer), gate({}, buffer)]
    for (let i = 0; i < 3; i++) fail(one, second)
    const trial = admitted(other, 11n * second)
    expect([trial.trial === null, one.admit(11n * second), other.admit(11n * second)]).toEqual([
      false,
      null,
      null,
    ])
    other.succeeded(trial)
    expect([one.admit(11n * second), other.admit(11n * second)]).toEqual([{ trial: null }, { trial: null }])
    // And it counts anew.
    for (let i = 0; i < 2; i++) fail(one, 11n * second)
    expect(one.openForNs(11n * second)).toBe(0n)
  })

  it('opens again when the try fails', () => {
    const broken = gate()
    for (let i = 0; i < 3; i++) fail(broken, second)
    fail(broken, 11n * second)
    expect([
      broken.openForNs(11n * second),
      broken.admit(20n * second),
      broken.admit(21n * second),
    ]).toMatchObject([10n * second, null, {}])
  })

  it('lets another try at once when a try tells nothing, and after its time when its thread died', () => {
    const broken = gate()
    for (let i = 0; i < 3; i++) fail(broken, second)
    broken.released(admitted(broken, 11n * second), 12n * second)
    admitted(broken, 12n * second)
    expect([broken.admit(71n * second), broken.admit(72n * second)]).toMatchObject([null, {}])
  })

  it('is not decided by calls that began before it opened', () => {
    const broken = gate()
    const late = admitted(broken, second)
    for (let i = 0; i < 3; i++) fail(broken, second)
    broken.succeeded(late)
    expect(broken.openForNs(second)).toBe(10n * second)
    broken.failed(late, 10n * second)
    expect(broken.openForNs(10n * second)).toBe(1n * second)
  })

  it('lets one call try at a time, in whatever order calls begin and end', () => {
    const kinds = fc.constantFrom('begin', 'succeed', 'fail', 'release')
    fc.assert(
      fc.property(
        fc.array(fc.tuple(kinds, fc.nat(20), fc.bigInt({ min: 0n, max: 4n * second })), { maxLength: 200 }),
        (steps) => {
          const broken = gate()
          const running: Ticket[] = []
          let now = second
          for (const [kind, which, gap] of steps) {
            now += gap
            if (kind === 'begin') {
              const ticket = broken.admit(now)
              if (ticket !== null) running.push(ticket)
            } else {
              const [ticket] = running.splice(which % Math.max(1, running.length), 1)
              if (ticket === undefined) continue
              if (kind === 'succeed') broken.succeeded(ticket)
              else if (kind === 'fail') broken.failed(ticket, now)
              else broken.released(ticket, now)
            }
            // A try is given up on after tryMsMax.
            if (running.filter(({ trial }) => trial !== null && trial > now).length > 1) return false
          }
          return true
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('threads that share a gate', () => {
  /** Each takes `calls` slots of one limit, as fast as it can; the starts of all of them. */
  async function race(threads: number, calls: number): Promise<bigint[]> {
    const buffer = gateBuffer(1)
    const source = `
      import { parentPort, workerData } from 'node:worker_threads'
      const { endpointGate } = await import(workerData.module)
      const gate = endpointGate(workerData.buffer, 0, { endpoint: 'e', limits: workerData.limits, tryMsMax: 1 })
      const ready = new Int32Array(workerData.start)
      Atomics.add(ready, 0, 1)
      Atomics.notify(ready, 0)
      while (Atomics.load(ready, 0) < workerData.threads) Atomics.wait(ready, 0, Atomics.load(ready, 0), 5)
      const starts = []
      for (let i = 0; i < workerData.calls; i++) {
        const reservation = gate.reserve(10, 1_000_000_000n, 1n << 60n)
        starts.push(reservation.start)
        if (i % 5 === 4) {
          gate.giveBack(reservation)
          starts.pop()
          i++
        }
        gate.failed(gate.admit(1_000_000_000n), 1_000_000_000n)
      }
      parentPort.postMessage(starts)`
    const workerData = {
      buffer,
      start: new SharedArrayBuffer(4),
      threads,
      calls,
      module: new URL('endpoint-gate.ts', import.meta.url).href,
      limits: {
        ...limits,
        requestsPerMinuteMax: 600,
        tokensPerMinuteMax: 6_000_000,
        circuitFailuresMax: threads * calls + 1,
      },
    }
    const workers = Array.from(
      { length: threads },
      () => new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), { workerData }),
    )
    try {
      const answers = workers.map(
        (worker) =>
          new Promise<bigint[]>(
            (resolve, reject) => void worker.once('message', resolve).once('error', reject),
          ),
      )
      return (await Promise.all(answers)).flat()
    } finally {
      await Promise.all(workers.map((worker) => worker.terminate()))
    }
  }

  it('never get the same slot, and together no more than the limit', async () => {
    const made = (await race(2, 5_000)).toSorted((a, b) => (a < b ? -1 : 1))
    expect(made.length).toBeGreaterThan(6_000)
    const most = 600 + rateOf(600).burst
    const tooClose = made.filter(
      (start, i) => made[i + most] !== undefined && (made[i + most] as bigint) - start < 60n * second,
    )
    expect(tooClose).toEqual([])
    // After the burst every slot is taken by one call.
    const afterBurst = made.filter((start) => start > second)
    expect(new Set(afterBurst).size).toBe(afterBurst.length)
  })
})
