// The body of a provider's response, as text or as the events of a stream.
// R1. Never more than `bodyBytesMax` is kept: above it the answer is malformed and its connection closed.
import { ProviderError } from '@beaver/agent'
import type OpenAI from 'openai'
import { Stream } from 'openai/core/streaming'
import { bodyBytesMax } from './http-fetch.ts'

/** @throws {ProviderError} `malformed_output` */
export async function bodyText(response: Response, host: string): Promise<string> {
  const length = Number(response.headers.get('content-length') ?? NaN)
  if (length <= bodyBytesMax) return await response.text()
  if (length > bodyBytesMax) {
    await response.body?.cancel().catch(() => undefined)
    throw tooLarge(response, host)
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of boundedBytes(response, host)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

export const isEventStream = (response: Response): boolean => /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')

/**
 * The JSON values of a stream of events, up to `[DONE]`. Ends without a word when `controller` aborts or the server just stops:
 * whoever reads decides whether that was the end. Leaving it early aborts `controller`.
 *
 * @throws {SyntaxError} for what is not JSON, an `APIError` for an error among the events
 */
export function eventsOf(response: Response, { client, host, controller, stir }: EventsOptions): AsyncIterable<unknown> {
  const body = ReadableStream.from(boundedBytes(response, host, stir))
  return Stream.fromSSEResponse<unknown>(new Response(body, { headers: response.headers }), controller, client)
}

interface EventsOptions {
  readonly client: OpenAI
  readonly host: string
  readonly controller: AbortController
  /** Called for every piece that comes in. */
  readonly stir: () => void
}

async function* boundedBytes(response: Response, host: string, stir: () => void = () => undefined): AsyncGenerator<Uint8Array> {
  if (response.body === null) return
  let bytes = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    stir()
    bytes += chunk.length
    // Leaving the loop cancels the body.
    if (bytes > bodyBytesMax) throw tooLarge(response, host)
    yield chunk
  }
}

function tooLarge(response: Response, host: string): ProviderError {
  return new ProviderError('malformed_output', `The endpoint ${host} sent an answer of more than ${bodyBytesMax} bytes.`, { status: response.status })
}
