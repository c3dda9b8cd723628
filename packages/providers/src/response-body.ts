// The body of a provider's response, as text or as the events of a stream.
// R1. At most `bodyBytesMax` are kept. If a body is larger, the answer is malformed, and its connection is closed.
import { ProviderError } from '@beaver/agent'
import type OpenAI from 'openai'
import { Stream } from 'openai/core/streaming'
import type { HttpAnswer } from './http-post.ts'

/** A larger answer is not read to its end. */
export const bodyBytesMax = 8 * 1024 * 1024

/** @throws {ProviderError} `malformed_output` */
export async function bodyText(answer: HttpAnswer, host: string): Promise<string> {
  const length = Number(answer.header('content-length') ?? NaN)
  if (length <= bodyBytesMax) return answer.text()
  if (length > bodyBytesMax) {
    answer.discard()
    throw tooLarge(answer, host)
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of boundedBytes(answer, host)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

export const isEventStream = (answer: HttpAnswer): boolean => /^text\/event-stream\b/i.test(answer.header('content-type') ?? '')

/**
 * The JSON values of a stream of events, up to `[DONE]`. It ends without an error if `controller` aborts or if the server just stops. The
 * reader decides whether that was the end. If the reader leaves early, `controller` aborts.
 *
 * @throws {SyntaxError} if an event is not JSON; an `APIError` if an event is an error
 */
export function eventsOf(answer: HttpAnswer, { client, host, controller, stir }: EventsOptions): AsyncIterable<unknown> {
  const body = ReadableStream.from(boundedBytes(answer, host, stir))
  return Stream.fromSSEResponse<unknown>(new Response(body, { headers: answer.headers() }), controller, client)
}

interface EventsOptions {
  readonly client: OpenAI
  readonly host: string
  readonly controller: AbortController
  /** It is called for every piece that comes in. */
  readonly stir: () => void
}

async function* boundedBytes(answer: HttpAnswer, host: string, stir: () => void = () => undefined): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of answer.bytes) {
    stir()
    bytes += chunk.length
    // The error leaves the loop, and this closes the connection.
    if (bytes > bodyBytesMax) throw tooLarge(answer, host)
    yield chunk
  }
}

function tooLarge({ status }: HttpAnswer, host: string): ProviderError {
  return new ProviderError('malformed_output', `The endpoint ${host} sent an answer of more than ${bodyBytesMax} bytes.`, { status })
}
