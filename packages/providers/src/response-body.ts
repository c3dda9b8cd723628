// The body of a provider's response, as text or as the events of a stream. At most `bodyBytesMax` are kept,
// unpacked. Servers misname the kind of a body, so its beginning decides whether it is a stream of events. A
// body may be packed without a request for it.
import { Readable, type Transform } from 'node:stream'
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  constants,
} from 'node:zlib'
import { ProviderError } from '@beaver/agent'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { HttpAnswer } from './http-post.ts'

/** A larger answer is malformed, and its connection is closed. */
export const bodyBytesMax = 8 * 1024 * 1024

/** @throws {ProviderError} `malformed_output` */
export async function bodyText(answer: HttpAnswer, host: string): Promise<string> {
  const length = Number(answer.header('content-length') ?? NaN)
  if (length > bodyBytesMax) {
    answer.discard()
    throw tooLarge(answer, host)
  }
  if (length <= bodyBytesMax && answer.header('content-encoding') === null) return answer.text()
  return textOf(bytesOf(answer, host))
}

/** An event of a stream. `done`: the server marks the end. `error`: the server names the event an error. */
export type StreamEvent =
  | { readonly kind: 'data' | 'error'; readonly value: unknown }
  | { readonly kind: 'done' }

export const isEventText = (text: string): boolean => /^\s*(data|event|id|retry)?:/.test(text)

/** A text, or the events of a stream. A stream that was cut has no `done`. */
export type Body = { readonly text: string } | { readonly events: AsyncIterable<StreamEvent> }

/**
 * The body of an answer that may be a stream.
 *
 * @param stir called for every piece that comes in
 * @throws {ProviderError} `malformed_output`; the events throw a {SyntaxError} if an event is not JSON
 */
export async function bodyOf(answer: HttpAnswer, host: string, stir: () => void): Promise<Body> {
  const bytes = bytesOf(answer, host, stir)
  const decoder = new TextDecoder()
  let begun = ''
  for (;;) {
    const { value, done } = await bytes.next()
    begun += done === true ? decoder.decode() : decoder.decode(value, { stream: true })
    // Two characters of the field name are enough, but a piece may be one byte.
    if (done === true || begun.trimStart().length >= 6) {
      // An empty body is a stream that was cut at once.
      if (!isEventText(begun) && begun.trim() !== '')
        return { text: done === true ? begun : begun + (await textOf(bytes, decoder)) }
      return { events: eventsIn(piecesOf(begun, bytes, decoder)) }
    }
  }
}

export const eventsOfText = (text: string): AsyncIterable<StreamEvent> =>
  eventsIn(Readable.from([text]) as AsyncIterable<string>)

async function* piecesOf(
  begun: string,
  bytes: AsyncIterable<Uint8Array>,
  decoder: TextDecoder,
): AsyncGenerator<string> {
  yield begun
  for await (const piece of bytes) yield decoder.decode(piece, { stream: true })
}

async function* eventsIn(pieces: AsyncIterable<string>): AsyncGenerator<StreamEvent> {
  const read: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => void read.push(event) })
  for await (const piece of pieces) {
    parser.feed(piece)
    for (const event of read.splice(0)) if (event.data.trim() !== '') yield* eventsOf(event)
  }
  // Some servers leave out the last empty line. If the last event is incomplete, the stream was cut.
  parser.feed('\n\n')
  for (const event of read) {
    const whole = wholeEvent(event)
    if (whole !== null) yield whole
  }
}

const eventOf = ({ event, data }: EventSourceMessage): StreamEvent =>
  data.trimStart().startsWith('[DONE]')
    ? { kind: 'done' }
    : { kind: event === 'error' ? 'error' : 'data', value: JSON.parse(data) as unknown }

/** One event, or several if a proxy removed the empty lines: then each line of data is an event. */
function eventsOf(event: EventSourceMessage): readonly StreamEvent[] {
  try {
    return [eventOf(event)]
  } catch (error) {
    if (!event.data.includes('\n')) throw error
    return event.data.split('\n').flatMap((data) => (data.trim() === '' ? [] : [eventOf({ ...event, data })]))
  }
}

function wholeEvent(event: EventSourceMessage): StreamEvent | null {
  try {
    return eventOf(event)
  } catch {
    return null
  }
}

async function textOf(bytes: AsyncIterable<Uint8Array>, decoder = new TextDecoder()): Promise<string> {
  let text = ''
  for await (const piece of bytes) text += decoder.decode(piece, { stream: true })
  return text + decoder.decode()
}

async function* bytesOf(
  answer: HttpAnswer,
  host: string,
  stir: () => void = () => undefined,
): AsyncGenerator<Uint8Array, undefined> {
  let bytes = 0
  for await (const chunk of unpacked(answer, host)) {
    stir()
    bytes += chunk.length
    if (bytes > bodyBytesMax) throw tooLarge(answer, host)
    yield chunk
  }
  return undefined
}

/** Each piece is unpacked at once, and a body without its last bytes gives what it has. */
const asItComes = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
const unpackers: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(asItComes),
  'x-gzip': () => createGunzip(asItComes),
  deflate: () => createInflate(asItComes),
  br: () =>
    createBrotliDecompress({
      flush: constants.BROTLI_OPERATION_FLUSH,
      finishFlush: constants.BROTLI_OPERATION_FLUSH,
    }),
  zstd: () => createZstdDecompress(),
}

function unpacked(answer: HttpAnswer, host: string): AsyncIterable<Uint8Array> {
  const encoding = (answer.header('content-encoding') ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity' || encoding === '') return answer.bytes
  const unpacker = Object.hasOwn(unpackers, encoding) ? unpackers[encoding] : undefined
  if (unpacker !== undefined)
    return Readable.from(answer.bytes).compose(unpacker()) as AsyncIterable<Uint8Array>
  answer.discard()
  throw new ProviderError(
    'malformed_output',
    `The endpoint ${host} sent an answer in the encoding ${JSON.stringify(encoding)}, which Beaver cannot read.`,
  )
}

function tooLarge({ status }: HttpAnswer, host: string): ProviderError {
  return new ProviderError(
    'malformed_output',
    `The endpoint ${host} sent an answer of more than ${bodyBytesMax} bytes.`,
    { status },
  )
}
