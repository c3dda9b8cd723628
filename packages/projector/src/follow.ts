// Follows the journal into the read model until the connection is closed for good. After each fault, the loop
// starts again from the read model's own position, so no message is applied twice and none is lost. If the
// journal is not the one of the read model, or has lost its end, the rows stay and are served until somebody
// accepts the journal; then they are built again. Unreadable messages are findings and do not stop the loop.
import {
  BeaverError,
  type Clock,
  type Logger,
  messageOf,
  pause,
  systemClock,
  systemFacts,
} from '@beaver/core'
import type { Replacements } from '@beaver/core/journal'
import { type Backoff, pauseBefore } from '@beaver/core/supervision'
import {
  type connectNats,
  damageIn,
  followJournal,
  type JournalWatch,
  journalRefusal,
  type StreamLook,
  streamPulse,
  type Subjects,
} from '@beaver/nats'
import type { Following, ReadModel } from '@beaver/projection'
import type { AppliedPart } from './change-teller.ts'
import type { KnownArchives } from './known-archives.ts'
import { setImmediate } from 'node:timers/promises'

export interface FollowedJournal {
  /** Resolves when the loop has stopped. Rejects if the connection is closed for good. */
  readonly over: Promise<void>
  /** Reports the state of the loop; asks for the end of the stream. */
  state(): Promise<Following>
  /** Rebuilds the read model from the journal that the watch has now. */
  buildAgain(): void
}

type NatsConnection = Awaited<ReturnType<typeof connectNats>>

interface Fault {
  readonly code: string
  readonly message: string
  readonly sinceMs: number
}

/** The pause after a failed try; short again after a try that applies a message. */
const backoff: Backoff = { pauseMsMin: 250, pauseMsMax: 15_000, jitter: false }

export interface FollowedBy {
  readonly subjects: Subjects
  readonly model: ReadModel
  readonly watch: JournalWatch
  /** Reads the new part of the nats-server's log. Empty if the log is not here. */
  readonly serverLog: () => string
  /** Called when the following begins or begins again, with the last message that is applied. */
  begun(sequence: number): void
  /** Called after each batch, with the number of its events that are no checkpoints. */
  applied(batch: AppliedPart & { readonly news: number }): void
  readonly signal: AbortSignal
  /** The replacements of redacted texts. Default: nothing was redacted. */
  readonly replacements?: Replacements
  /** Which messages are in an archive. Default: none. */
  readonly archives?: KnownArchives
}

export interface FollowPorts {
  readonly logger: Logger
  readonly clock?: Clock
}

/** Begins at once; ends when `signal` aborts. */
export function followIntoModel(nc: NatsConnection, into: FollowedBy, ports: FollowPorts): FollowedJournal {
  const follower = new Follower(nc, into, ports)
  return { over: follower.follow(), state: () => follower.state(), buildAgain: () => follower.buildAgain() }
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
  /** Ends one turn of the loop. */
  #turn = new AbortController()
  #mustClear = false

  constructor(nc: NatsConnection, into: FollowedBy, { logger, clock = systemClock }: FollowPorts) {
    this.#nc = nc
    this.#into = into
    this.#logger = logger
    this.#clock = clock
    this.#pulse = streamPulse(nc, into.subjects.stream)
    this.#applied = into.model.bound()?.sequence ?? 0
    this.#caughtUpAtMs = clock.now()
  }

  /** Applies the journal until `signal` aborts; begins again after each fault. */
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
        await pause(this.#clock, pauseBefore(failures, backoff), AbortSignal.any([signal, this.#turn.signal]))
      }
    }
  }

  async state(): Promise<Following> {
    const journal = await this.#journal()
    const stream = await this.#pulse.look()
    const end = stream.kind === 'there' ? stream.lastSequence : null
    const behind = end !== null && end > this.#applied
    return {
      streamSequence: end,
      movedAt: timeOf(this.#movedAtMs),
      behindSince: behind ? timeOf(Math.max(this.#caughtUpAtMs, this.#movedAtMs ?? 0)) : null,
      fault: this.#harm() ?? this.#told() ?? faultOf(stream, this.#clock),
      journal,
    }
  }

  buildAgain(): void {
    this.#mustClear = true
    this.#turn.abort()
  }

  /** @throws when the journal cannot be read or applied any more */
  async #followOnce(): Promise<void> {
    const { subjects, model, watch } = this.#into
    this.#turn = new AbortController()
    const signal = AbortSignal.any([this.#into.signal, this.#turn.signal])
    await watch.untilChecked()
    this.#refuseAnother()
    if (this.#mustClear) model.clear()
    this.#mustClear = false
    this.#applied = model.begin(watch.identity)
    this.#into.begun(this.#applied)
    model.changedByOthers() // What happened before is not a change.
    const onGap = (gap: { from: number; to: number }): void => void watch.unreadable(gap).catch(() => {}) // The next reading finds it again.
    for await (const { messages: entries, strays, system, stored, to, caughtUp } of followJournal(
      this.#nc,
      subjects,
      {
        from: this.#applied + 1,
        identity: watch.identity,
        onGap,
        signal,
      },
    )) {
      this.#refuseAnother()
      const messages =
        strays.length === 0
          ? entries
          : [...entries, ...strays.map((stray) => ({ ...stray, log: null }))].toSorted(
              (x, y) => x.sequence - y.sequence,
            )
      let [news, tasks]: [number, AppliedPart['tasks']] = [0, []]
      if (to > this.#applied) {
        // Before a message is deleted, an event names it.
        if (
          hasGap(stored, this.#applied) &&
          (await this.#into.archives?.refresh()) === true &&
          this.#forgets()
        )
          return
        const batch = await model.apply(messages, { system, stored, to })
        this.#applied = batch.sequence
        ;[news, tasks] = [batch.news, batch.changed]
        this.#movedAtMs = this.#clock.now()
        const newest = stored.at(-1)
        if (newest !== undefined) watch.acknowledged(newest)
        if (system.some(({ name }) => name === 'redactions') && (await this.#forgetsRemoved())) return
      }
      if (caughtUp) {
        this.#caughtUpAtMs = this.#clock.now()
        void this.#indexWhenIdle()
      }
      this.#into.applied({ sequence: this.#applied, news, tasks, caughtUp })
      this.#goesOn()
    }
    if (!signal.aborted) throw new BeaverError('unreachable', 'The connection to NATS is closed.')
  }

  async #forgetsRemoved(): Promise<boolean> {
    await this.#into.replacements?.refresh()
    await this.#into.archives?.refresh()
    return this.#forgets()
  }

  /**
   * Empties the read model if texts were redacted or messages archived. @returns whether there was something
   * to forget
   */
  #forgets(): boolean {
    const { model } = this.#into
    if (!model.remembersRemoved()) return false
    model.forget()
    this.#applied = model.position()
    return true
  }

  /** @throws {BeaverError} if the journal is not the one of the read model, or has lost its end */
  #refuseAnother(): void {
    const { harm } = this.#into.watch
    const code = harm === null ? undefined : refusedAs[harm.kind]
    if (harm !== null && code !== undefined) throw new BeaverError(code, journalRefusal(harm))
  }

  /** Compares the journal with the read model now. */
  async #journal(): Promise<Following['journal']> {
    const { model, watch, serverLog, subjects } = this.#into
    for (const line of damageIn(serverLog(), subjects.stream))
      watch.report({
        kind: 'server_log',
        message: `The log of the nats-server tells of damage: ${line}`,
        harmful: false,
      })
    if (model.changedByOthers())
      watch.report({
        kind: 'read_model_changed',
        message: 'Another program changed the read model. "beaver audit" compares it with the journal.',
        harmful: false,
      })
    return (await watch.now()).map(({ kind, message, harmful }) => ({ kind, message, harmful }))
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
    if (this.#fault?.code === code) return
    const last = this.#pulse.seen.kind === 'there' ? this.#pulse.seen.lastSequence : null
    systemFacts.projectorStalled(this.#logger, { applied: this.#applied, last, reason: message })
    this.#fault = { code, message, sinceMs: this.#fault?.sinceMs ?? this.#clock.now() }
  }

  #goesOn(): void {
    if (this.#fault === null) return
    systemFacts.projectorResumed(this.#logger, {
      applied: this.#applied,
      stalledMs: this.#clock.now() - this.#fault.sinceMs,
    })
    this.#fault = null
  }

  /** The fault of the journal as it is now: the one that stopped the loop may have been another one. */
  #harm(): Following['fault'] {
    const { harm } = this.#into.watch
    const code = harm === null ? undefined : refusedAs[harm.kind]
    if (harm === null || code === undefined) return null
    return {
      code,
      message: journalRefusal(harm),
      since: timeOf(this.#fault?.sinceMs ?? this.#clock.now()) ?? '',
    }
  }

  #told(): Following['fault'] {
    if (this.#fault === null) return null
    const { code, message, sinceMs } = this.#fault
    return { code, message, since: timeOf(sinceMs) ?? '' }
  }
}

/** Whether a message is missing between the applied ones and the last one of these. */
const hasGap = (stored: readonly { readonly sequence: number }[], applied: number): boolean =>
  stored.length > 0 && (stored.at(-1)?.sequence ?? 0) - applied !== stored.length

/** Findings that stop the loop, because later messages would not follow the applied ones. */
const refusedAs: Partial<Record<string, 'stream_missing' | 'stream_recreated' | 'journal_changed'>> = {
  missing_stream: 'stream_missing',
  recreated: 'stream_recreated',
  rolled_back: 'journal_changed',
  replaced: 'journal_changed',
}

const timeOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

/** The fault that the look shows, if the loop has not met it yet. */
function faultOf(stream: StreamLook, clock: Clock): Following['fault'] {
  if (stream.kind === 'there') return null
  const since = new Date(clock.now()).toISOString()
  if (stream.kind === 'missing')
    return { code: 'stream_missing', message: 'The journal stream does not exist.', since }
  return { code: 'unreachable', message: `The journal stream does not answer: ${stream.reason}.`, since }
}
