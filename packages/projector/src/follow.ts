// Follows the journal into the read model. The loop does not give up before the connection is closed for good, and reports its state.
// F1. A fault is one line in the log. It stays in `state` until messages are applied again, or until it is clear that none wait.
// F2. The loop starts again from the read model's own position, so no message is applied twice and none is lost.
// F3. It is a fault too if the stream is not the one from which the read model was built. The rows stay as they are and are still served.
import { type Backoff, BeaverError, type Clock, type Logger, messageOf, pause, pauseBefore, type Replacements, systemClock, systemFacts } from '@beaver/core'
import { type connectNats, followJournal, type StreamLook, streamPulse, type Subjects } from '@beaver/nats'
import type { Following, ReadModel } from '@beaver/projection'
import { setImmediate } from 'node:timers/promises'

export interface FollowedJournal {
  /** Resolves when the loop has stopped. Rejects if the connection is closed for good, because the loop cannot go on. */
  readonly over: Promise<void>
  /** Reports the state of the loop. It asks for the end of the stream. */
  state(): Promise<Following>
}

type NatsConnection = Awaited<ReturnType<typeof connectNats>>

interface Fault {
  readonly code: string
  readonly message: string
  readonly sinceMs: number
}

/** The pause after a failed try. It is short again as soon as a try applies a message. */
const backoff: Backoff = { pauseMsMin: 250, pauseMsMax: 15_000, jitter: false }

export interface FollowedBy {
  readonly subjects: Subjects
  readonly model: ReadModel
  readonly identity: string
  /** Called after each batch. */
  applied(batch: { readonly events: number; readonly caughtUp: boolean }): void
  readonly signal: AbortSignal
  /** What is read in place of redacted texts. Default: nothing was redacted. */
  readonly replacements?: Replacements
}

export interface FollowPorts {
  readonly logger: Logger
  readonly clock?: Clock
}

/** Begins at once; ends when `signal` aborts. */
export function followIntoModel(nc: NatsConnection, into: FollowedBy, ports: FollowPorts): FollowedJournal {
  const follower = new Follower(nc, into, ports)
  return { over: follower.follow(), state: () => follower.state() }
}

class Follower {
  readonly #nc: NatsConnection
  readonly #into: FollowedBy
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #pulse: ReturnType<typeof streamPulse>
  /** The last message that was applied. */
  #applied: number
  #movedAtMs: number | null = null
  #caughtUpAtMs: number
  #fault: Fault | null = null
  #indexing = false

  constructor(nc: NatsConnection, into: FollowedBy, { logger, clock = systemClock }: FollowPorts) {
    this.#nc = nc
    this.#into = into
    this.#logger = logger
    this.#clock = clock
    this.#pulse = streamPulse(nc, into.subjects.stream)
    this.#applied = into.model.position()
    this.#caughtUpAtMs = clock.now()
  }

  /** Applies the journal until `signal` aborts, and begins again after each fault. */
  async follow(): Promise<void> {
    const { signal } = this.#into
    for (let failures = 1; !signal.aborted; failures++) {
      const before = this.#applied
      try {
        await this.#followOnce()
        continue // The read model begins again.
      } catch (error) {
        this.#stalls(error)
        if (this.#nc.isClosed() && !signal.aborted) throw error
        if (this.#applied > before) failures = 1
        await pause(this.#clock, pauseBefore(failures, backoff), signal)
      }
    }
  }

  async state(): Promise<Following> {
    const look = await this.#pulse.look()
    const end = look.kind === 'there' ? look.lastSequence : null
    const behind = end !== null && end > this.#applied
    return {
      streamSequence: end,
      movedAt: timeOf(this.#movedAtMs),
      behindSince: behind ? timeOf(Math.max(this.#caughtUpAtMs, this.#movedAtMs ?? 0)) : null,
      fault: this.#told() ?? faultOf(look, this.#clock),
    }
  }

  /** @throws when the journal cannot be read or applied any more */
  async #followOnce(): Promise<void> {
    const { subjects, model, identity, signal } = this.#into
    for await (const { messages: entries, strays, system, stored, to, caughtUp } of followJournal(this.#nc, subjects, {
      from: model.position() + 1,
      identity,
      signal,
    })) {
      const messages =
        strays.length === 0 ? entries : [...entries, ...strays.map((stray) => ({ ...stray, log: null }))].toSorted((x, y) => x.sequence - y.sequence)
      let events = 0
      if (to > this.#applied) {
        ;({ sequence: this.#applied, events } = await model.apply(messages, { system, stored, to }))
        this.#movedAtMs = this.#clock.now()
        if (system.some(({ name }) => name === 'redactions') && (await this.#forgets())) return
      }
      if (caughtUp) {
        this.#caughtUpAtMs = this.#clock.now()
        void this.#indexWhenIdle()
      }
      this.#into.applied({ events, caughtUp })
      this.#goesOn()
    }
    if (!signal.aborted) throw new BeaverError('unreachable', 'The connection to NATS is closed.')
  }

  /** Forgets what was redacted: the read model begins again. Returns whether there was something to forget. */
  async #forgets(): Promise<boolean> {
    const { model, replacements } = this.#into
    await replacements?.refresh()
    if (!model.remembersRedacted()) return false
    model.forget()
    this.#applied = model.position()
    return true
  }

  /** Indexes texts in slices, so that queries and batches can run in between. */
  async #indexWhenIdle(): Promise<void> {
    if (this.#indexing) return
    const { model, signal } = this.#into
    this.#indexing = true
    try {
      while (!signal.aborted && model.indexTexts()) await setImmediate()
    } catch (error) {
      this.#stalls(error) // The next batch that catches up starts it again.
    } finally {
      this.#indexing = false
    }
  }

  #stalls(error: unknown): void {
    const code = error instanceof BeaverError ? error.code : 'internal'
    const message = messageOf(error)
    if (this.#fault?.code === code && this.#fault.message === message) return
    const last = this.#pulse.seen.kind === 'there' ? this.#pulse.seen.lastSequence : null
    systemFacts.projectorStalled(this.#logger, { applied: this.#applied, last, reason: message })
    this.#fault = { code, message, sinceMs: this.#fault?.sinceMs ?? this.#clock.now() }
  }

  #goesOn(): void {
    if (this.#fault === null) return
    systemFacts.projectorResumed(this.#logger, { applied: this.#applied, stalledMs: this.#clock.now() - this.#fault.sinceMs })
    this.#fault = null
  }

  #told(): Following['fault'] {
    if (this.#fault === null) return null
    const { code, message, sinceMs } = this.#fault
    return { code, message, since: timeOf(sinceMs) ?? '' }
  }
}

const timeOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

/** The fault that the look shows, if the loop has not met it yet. */
function faultOf(look: StreamLook, clock: Clock): Following['fault'] {
  if (look.kind === 'there') return null
  const since = new Date(clock.now()).toISOString()
  if (look.kind === 'missing') return { code: 'stream_missing', message: 'The journal stream does not exist.', since }
  return { code: 'unreachable', message: `The journal stream does not answer: ${look.reason}.`, since }
}
