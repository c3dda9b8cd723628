// Server-sent events (the HTML standard) as the body of an answer.
// E1. The next message is asked for when the reader has taken the one before, so that a slow reader holds nothing but its own connection.
// E2. A comment is sent in every pause of `heartbeatMs`, so that a reader and everything between notices when the line is dead.
// E3. When the reader goes away, the messages are not asked for any more. Nothing is cancelled.

/** One message. */
export interface ServerSentEvent {
  /** What the reader sends as `Last-Event-ID` when it comes again. Absent: the reader cannot go on from here. */
  readonly id?: string
  /** Absent: the reader is told the data alone. */
  readonly event?: string
  readonly data: unknown
}

const heartbeatMsUsual = 15_000

export interface StreamOptions {
  /** How long the stream may be silent, in milliseconds. Default: 15,000. */
  readonly heartbeatMs?: number
  /** Is called when the reader goes away before the end. */
  readonly onGone?: () => void
  readonly headers?: Readonly<Record<string, string>>
}

/** @param messages ends the answer when it ends; a text is sent as it is. `return` is called when the reader goes away. */
export function eventStream(
  messages: AsyncGenerator<ServerSentEvent | string>,
  { heartbeatMs = heartbeatMsUsual, onGone = () => {}, headers = {} }: StreamOptions = {},
): Response {
  const encoder = new TextEncoder()
  let next: Promise<IteratorResult<ServerSentEvent | string>> | null = null
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        next ??= messages.next()
        const told = await withinMs(next, heartbeatMs)
        if (told === null) return controller.enqueue(encoder.encode(': still here\n\n'))
        next = null
        if (told.done === true) return controller.close()
        controller.enqueue(encoder.encode(textOf(told.value)))
      },
      async cancel() {
        onGone()
        await messages.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  const usual = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
  return new Response(body, { headers: { ...usual, ...headers } })
}

/** JSON has no line break outside of texts, and in texts it is escaped: the data is one line. */
function textOf(message: ServerSentEvent | string): string {
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
