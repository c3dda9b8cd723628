// Server-sent events (the HTML standard) as the body of an answer. The next message is asked for when the
// reader has taken the one before, so that a slow reader holds nothing but its own connection. A comment is
// sent in every pause of `heartbeatMs`, so that a reader and everything between notices when the line is
// dead. When the reader goes away, the messages are not asked for any more. Nothing is cancelled. A stream
// that cannot go on, or whose reader may not read it any more, ends with the message `error`, whose data is a
// problem.
import { type ProblemDetails, problemOf } from './problem.ts'

/** One message. */
export interface ServerSentEvent {
  /**
   * What the reader sends as `Last-Event-ID` when it comes again. Absent: the reader cannot go on from here.
   */
  readonly id?: string
  /** Absent: the reader is told the data alone. */
  readonly event?: string
  readonly data: unknown
}

export interface StreamOptions {
  /** The longest pause, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number
  /**
   * Throws if the reader may not read any more. It is asked before each message and in each pause. Default:
   * the reader may.
   */
  readonly mayRead?: () => void
  /** Gives the problem of a failure. Default: `problemOf`. */
  readonly failed?: (error: unknown) => ProblemDetails
  /** The data of the message `error`. Default: the problem. */
  readonly errorData?: (error: unknown, problem: ProblemDetails) => object
  /** Is called when the stream has ended, however it ended: nobody reads what `messages` still wait for. */
  readonly ended?: () => void
  readonly headers?: Readonly<Record<string, string>>
}

const heartbeatMsUsual = 15_000

/**
 * @param messages ends the answer when it ends. A text is the data of a message; bytes are whole messages.
 * `return` is called when the reader goes
 *   away, or may not read any more
 */
export function eventStream(
  messages: AsyncIterator<ServerSentEvent | string | Uint8Array>,
  options: StreamOptions = {},
): Response {
  const { heartbeatMs = heartbeatMsUsual, mayRead = () => {}, ended = () => {}, headers = {} } = options
  const { failed = (error: unknown) => problemOf(error).details, errorData = (_, problem) => problem } =
    options
  const encoder = new TextEncoder()
  let next: ReturnType<typeof messages.next> | null = null
  let left = false
  const following = async (): Promise<string | Uint8Array | null> => {
    next ??= messages.next()
    const told = await withinMs(next, heartbeatMs)
    mayRead()
    if (told === null) return ': still here\n\n'
    next = null
    if (told.done === true) return null
    return told.value instanceof Uint8Array ? told.value : sseText(told.value)
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const text = await following()
          if (left) return
          if (text !== null) return controller.enqueue(typeof text === 'string' ? encoder.encode(text) : text)
        } catch (error) {
          if (left) return
          controller.enqueue(
            encoder.encode(sseText({ event: 'error', data: errorData(error, failed(error)) })),
          )
          messages.return?.(undefined).catch(() => {}) // What fails now concerns no reader.
        }
        ended()
        controller.close()
      },
      async cancel() {
        left = true
        ended()
        await messages.return?.(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  const usual = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  }
  return new Response(body, { headers: { ...usual, ...headers } })
}

/**
 * The message as it is sent. JSON has no line break outside of texts, and in texts it is escaped: the data is
 * one line.
 */
export function sseText(message: ServerSentEvent | string): string {
  if (typeof message === 'string') return `data: ${message}\n\n`
  const { id, event, data } = message
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
}

async function withinMs<Value>(promise: Promise<Value>, ms: number): Promise<Value | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
