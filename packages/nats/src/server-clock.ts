// The journal's clock: it tells the server's time, and whether the server answers at all. All daemons share
// one clock: a daemon whose own clock is wrong has the same time as the others. Between two looks the time
// follows this process's steady clock, which does not jump when the wall clock does. A look is also the pulse
// of the journal: a stream that does not answer is noticed even if nobody writes. A leader that is cut off
// from the other servers goes on to answer questions, and can store nothing: such an answer does not count.
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { lineOf } from './line.ts'
import { hearsMost } from './other-server.ts'
import type { Subjects } from './subjects.ts'

export interface ServerClock {
  /** Milliseconds since 1970. */
  now(): number
  /** The time for which looks have had no answer, in milliseconds; 0 if the last look was answered. */
  readonly silentMs: number
  close(): void
}

const lookEveryMs = 1_000
const answerMsMax = 2_000

/** Asks once before it resolves. @throws {Error} if the stream does not answer */
export async function serverClock(
  nc: NatsConnection,
  { stream }: Pick<Subjects, 'stream'>,
): Promise<ServerClock> {
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: answerMsMax })
  let offsetMs = 0
  let closed = false
  let timer: NodeJS.Timeout | undefined
  /** The time since which there is no answer. */
  let silentSince: number | null = null

  async function look(): Promise<void> {
    const sent = performance.now()
    silentSince ??= sent
    const { ts, cluster } = await lineOf(nc).unlessCut(() => jsm.streams.info(stream))
    const received = performance.now()
    if (!hearsMost(cluster)) throw new Error('the leader of the stream does not hear the other servers')
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
