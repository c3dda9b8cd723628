// Follows the journal into the read model. The loop does not give up before the connection is closed for good, and reports its state.
// F1. A fault is one line in the log. It stays in `state` until messages are applied again, or until it is clear that none wait.
// F2. The loop starts again from the read model's own position, so no message is applied twice and none is lost.
// F3. It is a fault too if the stream is not the one from which the read model was built. The rows stay as they are and are still served.
import { BeaverError, type Clock, type Logger, messageOf, pause, systemClock, systemFacts } from '@beaver/core'
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

const retryMsMin = 250
const retryMsMax = 15_000

/** Begins at once; ends when `signal` aborts. */
export function followIntoModel(
  nc: NatsConnection,
  { subjects, model, identity, signal }: { subjects: Subjects; model: ReadModel; identity: string; signal: AbortSignal },
  { logger, clock = systemClock }: { logger: Logger; clock?: Clock },
): FollowedJournal {
  const pulse = streamPulse(nc, subjects.stream)
  let applied = model.position()
  let movedAtMs: number | null = null
  let caughtUpAtMs = clock.now()
  let fault: Fault | null = null
  let indexing = false

  function goesOn(): void {
    if (fault === null) return
    systemFacts.projectorResumed(logger, { applied, stalledMs: clock.now() - fault.sinceMs })
    fault = null
  }

  function stalls(error: unknown): void {
    const code = error instanceof BeaverError ? error.code : 'internal'
    const message = messageOf(error)
    if (fault?.code === code && fault.message === message) return
    const last = pulse.seen.kind === 'there' ? pulse.seen.lastSequence : null
    systemFacts.projectorStalled(logger, { applied, last, reason: message })
    fault = { code, message, sinceMs: fault?.sinceMs ?? clock.now() }
  }

  async function once(): Promise<void> {
    for await (const { messages, caughtUp } of followJournal(nc, subjects, { from: model.position() + 1, identity, signal })) {
      if (messages.length > 0) {
        ;({ sequence: applied } = await model.apply(messages))
        movedAtMs = clock.now()
      }
      if (caughtUp) {
        caughtUpAtMs = clock.now()
        void indexWhenIdle()
      }
      goesOn()
    }
    if (!signal.aborted) throw new BeaverError('unreachable', 'The connection to NATS is closed.')
  }

  /** Indexes texts in slices, so that queries and batches can run in between. */
  async function indexWhenIdle(): Promise<void> {
    if (indexing) return
    indexing = true
    try {
      while (!signal.aborted && model.indexTexts()) await setImmediate()
    } catch (error) {
      stalls(error) // The next batch that catches up starts it again.
    } finally {
      indexing = false
    }
  }

  async function loop(): Promise<void> {
    for (let tries = 0; !signal.aborted; tries++) {
      const before = applied
      try {
        await once()
      } catch (error) {
        stalls(error)
        if (nc.isClosed() && !signal.aborted) throw error
        if (applied > before) tries = 0
        await pause(clock, Math.min(retryMsMax, retryMsMin * 2 ** Math.min(tries, 10)), signal)
      }
    }
  }

  return {
    over: loop(),
    async state() {
      const look = await pulse.look()
      const end = look.kind === 'there' ? look.lastSequence : null
      const behind = end !== null && end > applied
      return {
        streamSequence: end,
        movedAt: timeOf(movedAtMs),
        behindSince: behind ? timeOf(Math.max(caughtUpAtMs, movedAtMs ?? 0)) : null,
        fault: fault === null ? faultOf(look, clock) : { code: fault.code, message: fault.message, since: timeOf(fault.sinceMs) ?? '' },
      }
    },
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
