// Repeats a request until there is an answer. A daemon may be away for a moment, or it may die while it works
// on the request.
// Q1. A request is repeated only if no answer came. A refusal is an answer.
// Q2. If no daemon is there, the request is repeated for `daemonMs`, the time in which a daemon is started
// again. If a daemon was there before, it is repeated until the deadline.
// Q3. A request that must not be done twice is repeated only if nobody was there to do it. If something keeps
// daemons away permanently, the caller gets that error at once. If daemons are there and only wait for the
// journal, the request is repeated for `journalMsMax`: the servers of a cluster may be electing a leader.
// Q5. If nobody is there for `elsewhereMs`, the server of this connection may be cut off from the daemons,
// and the caller looks for another one.
import { BeaverError, type Clock, type ErrorCode, pause, systemClock } from '@beaver/core'
import { NotSent } from '@beaver/nats'
import { RequestError } from '@nats-io/nats-core'

export interface Asking {
  /** Whether a repeated request is harmless. */
  readonly repeatable: boolean
  /** How long no daemon may be there. */
  readonly daemonMs: number
  /** The time for all attempts together. */
  readonly withinMs: number
  /** Whether the connection can no longer be used: it is closed, or it has been down for too long. */
  readonly closed: () => boolean
  /**
   * Is called when no daemon takes requests. It returns what keeps daemons away permanently, `waits` if they
   * wait for the journal, or `null`.
   */
  readonly why?: () => Promise<BeaverError | 'waits' | null>
  /** Looks for a better server of NATS. Default: there is none. */
  readonly elsewhere?: () => void
  readonly clock?: Clock
}

const pauseMsFirst = 100
/**
 * The longest pause between two attempts. The pause doubles up to it, so that waiting clients ask a busy
 * daemon less and less often.
 */
const pauseMsMax = 1_000
/** The least time that is left for the last attempt. */
const lastAskMs = 100
const journalMsMax = 20_000
const elsewhereMs = 1_000
const journalSilent =
  'The daemons are there, and the journal does not answer them, so they accept nothing now. "beaver status" names the log to read.'
const unanswered: ReadonlySet<ErrorCode> = new Set(['timeout', 'no_daemon', 'unreachable'])

/**
 * Repeats `ask` until there is an answer.
 *
 * @param ask makes one request; it gets the number of earlier requests that reached somebody and had no
 * answer, and the time that is left
 * @throws {BeaverError} the refusal, or the reason why no answer came
 */
export async function askAgain<T>(
  ask: (unanswered: number, leftMs: number) => Promise<T>,
  { repeatable, daemonMs, withinMs, closed, why, elsewhere, clock = systemClock }: Asking,
): Promise<T> {
  const begun = clock.now()
  const until = begun + withinMs
  let giveUpAt = begun + Math.min(daemonMs, withinMs)
  let unansweredAsks = 0
  for (let pauseMs = pauseMsFirst; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    try {
      return await ask(unansweredAsks, until - clock.now())
    } catch (error) {
      if (!(error instanceof BeaverError && unanswered.has(error.code)) || closed()) throw error
      // A daemon that is going away answers `no_daemon`, without a cause.
      const nobodyThere =
        (error.code === 'no_daemon' && error.cause instanceof RequestError) || error.cause instanceof NotSent
      if (!nobodyThere && !repeatable) throw error
      const lasting = nobodyThere ? ((await why?.()) ?? null) : null
      if (lasting instanceof BeaverError) throw lasting
      if (!nobodyThere) {
        giveUpAt = until
        unansweredAsks++
      } else if (lasting === 'waits') giveUpAt = Math.max(giveUpAt, Math.min(until, begun + journalMsMax))
      if (nobodyThere && clock.now() - begun >= elsewhereMs) elsewhere?.()
      if (giveUpAt - clock.now() <= lastAskMs)
        throw lasting === 'waits' ? new BeaverError('unreachable', journalSilent, { cause: error }) : error
    }
    await pause(clock, Math.min(pauseMs, giveUpAt - clock.now() - lastAskMs), new AbortController().signal)
  }
}
