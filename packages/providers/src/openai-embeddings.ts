// An EmbeddingProvider on any endpoint that speaks OpenAI's embeddings. A request has at most `textsMax`
// texts. The requests follow one another. If the server takes fewer, it gets half as many from then on. The
// answer is checked: it has as many vectors as texts, in their order, all of one length and with finite
// numbers. The failure classes are those of chat.
import { type EmbeddingProvider, ProviderError } from '@beaver/agent'
import { maskSecrets } from '@beaver/core'
import { watchCall } from './call-watch.ts'
import { malformed } from './chat-completion.ts'
import { openAiEndpoint, type OpenAiEndpointOptions } from './openai-endpoint.ts'
import { type AnsweringPlace, errorInAnswer, providerErrorOf } from './provider-failure.ts'
import { bodyText } from './response-body.ts'
import { saysSmallerBatch } from './server-words.ts'

/**
 * The bound of one request. With 3072 numbers for each text, the answer stays well below the bound of a body.
 */
const textsMax = 64

/** @throws {BeaverError} `invalid_configuration` if `baseURL` is not an http URL or the key is empty */
export function openAiEmbeddings(options: OpenAiEndpointOptions): EmbeddingProvider {
  const { name, model, timeoutMs } = options
  const { post, place } = openAiEndpoint(options)

  async function embedBatch(
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly (readonly number[])[]> {
    signal.throwIfAborted()
    const watch = watchCall(signal, { timeoutMs, idleMs: timeoutMs })
    try {
      // Some servers do not know base64, the client's own default. Some refuse an empty text.
      const body = { model, input: texts.map((text) => maskSecrets(text) || ' '), encoding_format: 'float' }
      const answer = await post('/embeddings', { body: JSON.stringify(body) }, watch.controller.signal)
      return readEmbeddings(await bodyText(answer, place.host), texts.length, place)
    } catch (error) {
      signal.throwIfAborted()
      throw providerErrorOf(error, { ...place, timeoutMs, idleMs: timeoutMs, gaveUp: watch.gaveUp() })
    } finally {
      watch.close()
    }
  }

  let batch = textsMax

  async function embed(
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly (readonly number[])[]> {
    const vectors: (readonly number[])[] = []
    while (vectors.length < texts.length) {
      const size = Math.min(batch, texts.length - vectors.length)
      try {
        vectors.push(...(await embedBatch(texts.slice(vectors.length, vectors.length + size), signal)))
      } catch (error) {
        if (size === 1 || !(error instanceof ProviderError) || !saysSmallerBatch(error)) throw error
        batch = Math.ceil(size / 2)
      }
    }
    return oneLength(vectors, place)
  }

  return { name, model, embed }
}

/** @throws {ProviderError} */
export function readEmbeddings(
  body: string,
  count: number,
  place: AnsweringPlace,
): readonly (readonly number[])[] {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    throw malformed(place, `not JSON. It begins: ${body.slice(0, 4000)}`)
  }
  const data = fieldOf(value, 'data')
  if (!Array.isArray(data))
    throw errorInAnswer(value, place) ?? malformed(place, 'not a list of embeddings: data is no list')
  if (data.length !== count)
    throw malformed(place, `not a list of embeddings: ${data.length} for ${count} texts`)
  const vectors: (readonly number[] | undefined)[] = Array.from({ length: count })
  for (const [position, item] of (data as unknown[]).entries()) {
    const index = fieldOf(item, 'index') ?? position
    const vector = fieldOf(item, 'embedding')
    if (!isVector(vector))
      throw malformed(place, `not a list of embeddings: data.${position}.embedding is not a list of numbers`)
    if (typeof index !== 'number' || !(index in vectors) || vectors[index] !== undefined)
      throw malformed(place, `not a list of embeddings: data.${position}.index is wrong`)
    vectors[index] = vector
  }
  return oneLength(vectors as readonly (readonly number[])[], place)
}

/** Checks that all vectors have one length, because others cannot be compared. @throws {ProviderError} */
function oneLength(
  vectors: readonly (readonly number[])[],
  place: AnsweringPlace,
): readonly (readonly number[])[] {
  const length = vectors[0]?.length
  if (vectors.some((vector) => vector.length !== length))
    throw malformed(place, 'not a list of embeddings: they differ in length')
  return vectors
}

const isVector = (value: unknown): value is readonly number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((each) => typeof each === 'number' && Number.isFinite(each))

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
