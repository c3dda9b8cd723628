// Following the journal into the read model, whatever happens on the way: the loop that never gives up, and what it says of itself.
// F1. A fault is told once, by one line, and stands in `state` until messages are applied again, or it is seen that none wait.
// F2. The loop begins again from the read model's own position: what was applied is not applied again, what was not is not lost.
// F3. A stream that is not the one the read model was built from is a fault, too: the rows stay as they are and are served.
import { BeaverError, type Clock, type Logger, messageOf, pause, systemClock, systemFacts } from '@beaver/core'
import { type connectNats, followJournal, type StreamLook, streamPulse, type Subjects } from '@beaver/nats'
import type { Following, ReadModel } from '@beaver/projection'
import { setImmediate } from 'node:timers/promises'

export interface FollowedJournal {
  /** Resolves when the loop has stopped. Rejects when the connection is closed for good: then nothing goes on here. */
  readonly over: Promise<void>
  /** What the loop says of itself; asks the stream where it ends. */
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

  /** Slice by slice; queries and batches come in between. */
  async function indexWhenIdle(): Promise<void> {
    if (indexing) return
    indexing = true
    try {
      while (!signal.aborted && model.indexTexts()) await setImmediate()
    } catch (error) {
      stalls(error) // the next batch that is applied begins again
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

/** What the look itself says, before the loop has met it. */
function faultOf(look: StreamLook, clock: Clock): Following['fault'] {
  if (look.kind === 'there') return null
  const since = new Date(clock.now()).toISOString()
  if (look.kind === 'missing') return { code: 'stream_missing', message: 'The journal stream does not exist.', since }
  return { code: 'unreachable', message: `The journal stream cannot be asked: ${look.reason}.`, since }
}
