// The journal's clock: what time it is at the server, and whether the server answers at all.
// C1. One clock for all daemons: a daemon whose own clock is wrong tells the same time. C2. Between two looks time passes by this
//     process's steady clock, which no jump of the wall clock moves. C3. The look is also the pulse of the journal: a stream that does
//     not answer is noticed although nobody writes.
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import type { Subjects } from './subjects.ts'

export interface ServerClock {
  /** Milliseconds since 1970. */
  now(): number
  /** For how long a look has had no answer, in milliseconds; 0 when the last one was answered. */
  readonly silentMs: number
  close(): void
}

const lookEveryMs = 1_000
const answerMsMax = 2_000

/** Asks once before it resolves. @throws when the stream does not answer */
export async function serverClock(nc: NatsConnection, { stream }: Pick<Subjects, 'stream'>): Promise<ServerClock> {
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: answerMsMax })
  let offsetMs = 0
  let closed = false
  let timer: NodeJS.Timeout | undefined
  /** Since when nobody has answered. */
  let silentSince: number | null = null

  async function look(): Promise<void> {
    const sent = performance.now()
    silentSince ??= sent
    const { ts } = await jsm.streams.info(stream)
    const received = performance.now()
    silentSince = null
    if (ts !== undefined) offsetMs = Date.parse(ts) - (sent + received) / 2
  }

  function again(): void {
    if (closed || nc.isClosed()) return
    timer = setTimeout(() => void look().then(again, again), lookEveryMs)
    timer.unref()
  }

  await look()
  again()
  return {
    now: () => Math.round(performance.now() + offsetMs),
    get silentMs() {
      return silentSince === null ? 0 : performance.now() - silentSince
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
