// Asking until there is an answer: a daemon may be away for a moment, or die while it works on what was asked.
// Q1. Only what no answer came to is asked again; a refusal stands. Q2. Nobody there is waited for `daemonMs`, in which a daemon is
//     started again; where one has been there, until the deadline. Q3. What may not be done twice is asked again only when nobody
//     was there to do it. Q4. What keeps daemons away for good is told at once.
import { BeaverError, type Clock, type ErrorCode, pause, systemClock } from '@beaver/core'
import { NotSent } from '@beaver/nats'
import { RequestError } from '@nats-io/nats-core'

export interface Asking {
  /** Whether asking twice does no harm. */
  readonly repeatable: boolean
  /** How long nobody may be there. */
  readonly daemonMs: number
  /** In all. */
  readonly withinMs: number
  /** Nobody can be asked any more: the connection is closed, or has been down for too long. */
  readonly closed: () => boolean
  /** Asked when nobody is there: what keeps those away who could answer, if it will not pass; `null`: it may pass. */
  readonly why?: () => Promise<BeaverError | null>
  readonly clock?: Clock
}

const pauseMsFirst = 100
/** A daemon that is too busy to answer is not to be asked ever more by those who wait. */
const pauseMsMax = 1_000
/** What is left for the last ask, at least. */
const lastAskMs = 100
const unanswered: ReadonlySet<ErrorCode> = new Set(['timeout', 'no_daemon', 'unreachable'])

/**
 * @param ask asks once; it is told how often somebody was asked before who gave no answer, and for how long one is still waited for
 * @throws {BeaverError} what was answered, or why no answer came
 */
export async function askAgain<T>(
  ask: (unanswered: number, leftMs: number) => Promise<T>,
  { repeatable, daemonMs, withinMs, closed, why, clock = systemClock }: Asking,
): Promise<T> {
  const until = clock.now() + withinMs
  let giveUpAt = clock.now() + Math.min(daemonMs, withinMs)
  let unansweredAsks = 0
  for (let pauseMs = pauseMsFirst; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    try {
      return await ask(unansweredAsks, until - clock.now())
    } catch (error) {
      if (!(error instanceof BeaverError && unanswered.has(error.code)) || closed()) throw error
      // A daemon that goes away says `no_daemon` without a cause.
      const nobodyThere = (error.code === 'no_daemon' && error.cause instanceof RequestError) || error.cause instanceof NotSent
      if (!nobodyThere && !repeatable) throw error
      const lasting = nobodyThere ? ((await why?.()) ?? null) : null
      if (lasting !== null) throw lasting
      if (!nobodyThere) {
        giveUpAt = until
        unansweredAsks++
      }
      if (giveUpAt - clock.now() <= lastAskMs) throw error
    }
    await pause(clock, Math.min(pauseMs, giveUpAt - clock.now() - lastAskMs), new AbortController().signal)
  }
}
