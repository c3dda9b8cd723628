// Server-sent events (the HTML standard) as the body of an answer. A message is requested only after the
// reader has taken the one before, so a slow reader uses no memory beyond its own connection. In every pause
// of `heartbeatMs` a comment is sent, so that a dead connection is noticed on both sides. When the reader
// disconnects, no more messages are requested, but no task is cancelled. If the messages fail, or the reader
// may no longer read, the stream ends with a message `error` whose data is a problem.
import { type ProblemDetails, problemOf } from './problem.ts'

/** One message. */
export interface ServerSentEvent {
  /**
   * The value of `Last-Event-ID` with which the reader resumes after this message. Absent: the reader cannot
   * resume here.
   */
  readonly id?: string
  /** The name of the event. Absent: the message has only data. */
  readonly event?: string
  readonly data: unknown
}

export interface StreamOptions {
  /** The longest pause before a comment is sent, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number
  /**
   * Throws if the reader may no longer read, for example because its token was revoked. It is called before
   * each message and in each pause. Default: the reader may always read.
   */
  readonly mayRead?: () => void
  /** Returns the problem for a failure. Default: `problemOf`. */
  readonly failed?: (error: unknown) => ProblemDetails
  /** The data of the message `error`. Default: the problem. */
  readonly errorData?: (error: unknown, problem: ProblemDetails) => object
  /** Called when the stream has ended for any reason. After that, nobody reads `messages`. */
  readonly ended?: () => void
  readonly headers?: Readonly<Record<string, string>>
}

const heartbeatMsUsual = 15_000

/**
 * Makes an answer that streams messages until they end.
 *
 * @param messages each item is a message, or a text that is the data of one, or bytes that hold whole
 * messages. `return` is called if the reader disconnects or may no longer read
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
    const message = await withinMs(next, heartbeatMs)
    mayRead()
    if (message === null) return ': still here\n\n'
    next = null
    if (message.done === true) return null
    return message.value instanceof Uint8Array ? message.value : sseText(message.value)
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
          messages.return?.(undefined).catch(() => {}) // The stream has ended, so nobody can read this error.
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

/** The message in the format of the standard. JSON escapes line breaks, so the data needs one line only. */
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
