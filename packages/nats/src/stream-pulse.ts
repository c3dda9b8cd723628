// What is known about a stream while somebody follows it: whether it exists, whether it is still the same
// one, and where it ends. All followers over one connection share each look, because a look costs the server
// one request. No timer runs without followers. If a followed stream does not answer at this server, the
// connection goes to another one (other-server.ts).
import { messageOf, steadyClock } from '@beaver/core'
import type { ClusterInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { noStream } from './api-refusal.ts'
import type { JournalLook } from './journal-judge.ts'
import { lineOf } from './line.ts'
import { elsewhereMs, hearsMost, leaveServer } from './other-server.ts'
import { identityOf } from './stream-identity.ts'

export type StreamLook =
  | ({ readonly kind: 'there' } & JournalLook)
  | { readonly kind: 'missing' }
  /** The server did not answer, answered with an error, or is cut off from the others. */
  | { readonly kind: 'unknown'; readonly reason: string }

export interface StreamPulse {
  /** The newest look. It is `unknown` before the first look. */
  readonly seen: StreamLook
  /** Looks now, or waits for the look that is under way. */
  look(): Promise<StreamLook>
  /** Calls `wake` after each look, until the returned function is called. */
  follow(wake: () => void): () => void
}

const pulseMs = 1_000
const answerMsMax = 5_000
const pulses = new WeakMap<NatsConnection, Map<string, StreamPulse>>()

export function streamPulse(nc: NatsConnection, stream: string): StreamPulse {
  let known = pulses.get(nc)
  if (known === undefined) pulses.set(nc, (known = new Map<string, StreamPulse>()))
  let pulse = known.get(stream)
  if (pulse === undefined) known.set(stream, (pulse = newPulse(nc, stream)))
  return pulse
}

function newPulse(nc: NatsConnection, stream: string): StreamPulse {
  const wakes = new Set<() => void>()
  let seen: StreamLook = { kind: 'unknown', reason: 'nobody has looked yet' }
  let looking: Promise<StreamLook> | null = null
  let timer: NodeJS.Timeout | null = null
  let forget = (): void => {}
  /** The time of the first look since the last answer. */
  let askedAtMs: number | null = null

  /** Not after one look, which may be late because this process is busy. */
  const goElsewhere = (): void => {
    const now = steadyClock.now()
    if (seen.kind !== 'unknown') askedAtMs = null
    else if (askedAtMs === null) askedAtMs = now
    else if (timer !== null && now - askedAtMs >= elsewhereMs) void leaveServer(nc, stream)
  }
  const look = (): Promise<StreamLook> => {
    looking ??= lookAt(nc, stream).then((found) => {
      seen = found
      looking = null
      goElsewhere()
      for (const wake of [...wakes]) wake()
      return found
    })
    return looking
  }
  return {
    get seen() {
      return seen
    },
    look,
    follow(wake) {
      wakes.add(wake)
      if (timer === null) {
        timer = setInterval(() => void look(), pulseMs)
        forget = lineOf(nc).onUp(() => void look())
      }
      return () => {
        wakes.delete(wake)
        if (wakes.size > 0 || timer === null) return
        clearInterval(timer)
        timer = null
        forget()
      }
    },
  }
}

const info = z.union([
  z.object({ error: z.object({ err_code: z.number().optional(), description: z.string().optional() }) }),
  z.object({
    created: z.string(),
    cluster: z.custom<ClusterInfo>().optional(),
    config: z.looseObject({ metadata: z.record(z.string(), z.string()).optional() }),
    state: z.object({
      last_seq: z.number(),
      messages: z.number(),
      deleted: z.array(z.number()).nullish(),
      lost: z.object({ msgs: z.array(z.number()).nullish(), bytes: z.number() }).optional(),
    }),
  }),
])

export const lookAt = async (nc: NatsConnection, stream: string): Promise<StreamLook> =>
  (await lookInto(nc, stream, empty)).look

/** The same, with the sequence of each missing message, which takes about seven bytes in the answer. */
export const lookAtDeleted = (
  nc: NatsConnection,
  stream: string,
): Promise<{ readonly look: StreamLook; readonly deleted: readonly number[] }> =>
  lookInto(nc, stream, Buffer.from(JSON.stringify({ deleted_details: true })))

async function lookInto(
  nc: NatsConnection,
  stream: string,
  wanted: Uint8Array,
): Promise<{ readonly look: StreamLook; readonly deleted: readonly number[] }> {
  const only = (look: StreamLook) => ({ look, deleted: [] })
  try {
    const answer = info.parse(
      (await lineOf(nc).request(`$JS.API.STREAM.INFO.${stream}`, wanted, { timeout: answerMsMax })).json(),
    )
    if (!('error' in answer)) {
      if (!hearsMost(answer.cluster))
        return only({ kind: 'unknown', reason: 'its leader does not hear the other servers' })
      const { last_seq: lastSequence, messages, lost, deleted } = answer.state
      const gone = lost === undefined ? null : { messages: lost.msgs?.length ?? 0, bytes: lost.bytes }
      const look: StreamLook = {
        kind: 'there',
        identity: identityOf(stream, answer),
        lastSequence,
        messages,
        lost: gone,
        config: answer.config,
      }
      return { look, deleted: deleted ?? [] }
    }
    if (answer.error.err_code === noStream) return only({ kind: 'missing' })
    return only({ kind: 'unknown', reason: answer.error.description ?? 'the server answered with an error' })
  } catch (error) {
    return only({ kind: 'unknown', reason: messageOf(error) })
  }
}

const empty = new Uint8Array()
