// The body of a provider's response, as text or as the events of a stream.
// R1. Never more than `bodyBytesMax` is kept: above it the answer is malformed and its connection closed.
import { ProviderError } from '@beaver/agent'
import type OpenAI from 'openai'
import { Stream } from 'openai/core/streaming'
import type { HttpAnswer } from './http-post.ts'

/** Above this an answer is not read to its end. */
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
 * The JSON values of a stream of events, up to `[DONE]`. Ends without a word when `controller` aborts or the server just stops:
 * whoever reads decides whether that was the end. Leaving it early aborts `controller`.
 *
 * @throws {SyntaxError} for what is not JSON, an `APIError` for an error among the events
 */
export function eventsOf(answer: HttpAnswer, { client, host, controller, stir }: EventsOptions): AsyncIterable<unknown> {
  const body = ReadableStream.from(boundedBytes(answer, host, stir))
  return Stream.fromSSEResponse<unknown>(new Response(body, { headers: answer.headers() }), controller, client)
}

interface EventsOptions {
  readonly client: OpenAI
  readonly host: string
  readonly controller: AbortController
  /** Called for every piece that comes in. */
  readonly stir: () => void
}

async function* boundedBytes(answer: HttpAnswer, host: string, stir: () => void = () => undefined): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of answer.bytes) {
    stir()
    bytes += chunk.length
    // Leaving the loop closes the connection.
    if (bytes > bodyBytesMax) throw tooLarge(answer, host)
    yield chunk
  }
}

function tooLarge({ status }: HttpAnswer, host: string): ProviderError {
  return new ProviderError('malformed_output', `The endpoint ${host} sent an answer of more than ${bodyBytesMax} bytes.`, { status })
}
