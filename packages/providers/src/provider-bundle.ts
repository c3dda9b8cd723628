// Turns the choices of a daemon into the providers of its loops, each endpoint and each model of the program
// behind its gate. The choices are plain data. Worker threads share only the gate's memory.
import type { MessagePort } from 'node:worker_threads'
import {
  cancelledCall,
  type ChatProvider,
  type Embedded,
  type EmbeddingProvider,
  type ProviderBundle,
  ProviderError,
  textsTokensMax,
} from '@beaver/agent'
import { type Clock, type ModelSettings, systemClock, type Usage } from '@beaver/core'
import { maskSecrets } from '@beaver/core/secrets'
import type { CacheSetting } from './cache-ways.ts'
import { watchCall } from './call-watch.ts'
import { malformed } from './chat-completion.ts'
import { type EndpointGate, endpointGate, type GateLimits } from './gate/endpoint-gate.ts'
import { gatedChat, gatedEmbeddings } from './gate/gated.ts'
import { httpPost } from './http-post.ts'
import { type OpenAiChatOptions, openAiChatProvider } from './openai-chat.ts'
import type { ClientVariant } from './openai-client.ts'
import { openAiEndpoint, type OpenAiEndpointOptions } from './openai-endpoint.ts'
import { openAiResponsesProvider } from './openai-responses.ts'
import { OwnModelCalls, type OwnModelChoice, ownModelInWords } from './own-models/own-model-calls.ts'
import { type AnsweringPlace, EndpointRefusal, errorInAnswer, providerErrorOf } from './provider-failure.ts'
import { bodyText } from './response-body.ts'
import type { StructuredOutput } from './response-format.ts'
import { saysSmallerBatch } from './server-words.ts'
import { wireUsage } from './wire-shapes.ts'
import { usageOf } from './wire-usage.ts'

interface ChosenPlace {
  /** Its name in journals and reports. */
  readonly provider: string
  readonly model: string
  /** The context window of the model, in tokens. Default: unknown. */
  readonly contextTokens?: number
  readonly timeoutMs: number
  readonly idleMs: number
  /** Its place in the gate, which choices with the same endpoint and model share. */
  readonly gateIndex: number
  /** Its own limits. Default: those of all endpoints. */
  readonly limits?: GateLimits
}

/** A model that the program brings. */
export interface OwnChoice extends ChosenPlace, OwnModelChoice {}

/** An endpoint, or a model that the program brings. */
export type ChatChoice = EndpointChoice | OwnChoice

export interface EndpointChoice extends ChosenPlace {
  /** `null` means OpenAI's URL. */
  readonly baseURL: string | null
  readonly apiKey: string
  /** The variable with the key, for messages. */
  readonly keyName: string
  /** The API of the endpoint. Default: `chat_completions`. */
  readonly protocol?: 'chat_completions' | 'responses'
  /** Whether a server of the Responses API keeps its answers. Default: no. */
  readonly stores?: boolean
  /** Default: the server's own. */
  readonly settings?: ModelSettings
  /** Whether the model takes images. Default: its refusals tell. */
  readonly images?: boolean
  /** When to ask the endpoint itself for the form of an answer. Default: `native` for OpenAI, else `auto`. */
  readonly structuredOutput?: StructuredOutput
  /** Default: the way that the documentation of a known endpoint asks for. */
  readonly cache?: CacheSetting
  /** The header for the cache key. Default: the known header of the endpoint, or a field of the body. */
  readonly cacheKeyHeader?: string
  /** Further headers of each request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** The header with the key. Default: `Authorization`. */
  readonly keyHeader?: string
  /** The variant of the client if a key is not enough. Default: the plain one, with the key. */
  readonly variant?: ClientVariant
}

/** The main model and the others, as plain data for worker threads. */
export type ProviderChoices = ChatChoice & OtherChoices

interface OtherChoices {
  /** The endpoint to ask after the main one. */
  readonly fallback: EndpointChoice | null
  /** The named models to ask after the main one, in this order. Default: none. */
  readonly route?: readonly string[]
  readonly auxiliary: EndpointChoice | null
  readonly embeddings: EndpointChoice | null
  /** The models that agents may name, each with the names to ask after it. Default: none. */
  readonly models?: Readonly<
    Record<string, { readonly endpoint: ChatChoice; readonly route: readonly string[] }>
  >
  readonly gate: SharedArrayBuffer
  readonly limits: GateLimits
}

const askedAs = ({
  settings,
  contextTokens,
  images,
  structuredOutput,
  cache,
  cacheKeyHeader,
}: EndpointChoice) => ({
  ...(cache === undefined ? {} : { cache }),
  ...(cacheKeyHeader === undefined ? {} : { cacheKeyHeader }),
  ...(structuredOutput === undefined ? {} : { structuredOutput }),
  ...(images === undefined ? {} : { images }),
  ...(settings === undefined ? {} : { settings }),
  ...(contextTokens === undefined ? {} : { contextTokens }),
})

const placeOf = ({
  provider,
  baseURL,
  apiKey,
  keyName,
  model,
  headers = {},
  keyHeader,
  variant,
  timeoutMs,
}: EndpointChoice): OpenAiEndpointOptions => ({
  ...{ name: provider, apiKey, keyName, model, headers, timeoutMs },
  ...(baseURL === null ? {} : { baseURL }),
  ...(keyHeader === undefined ? {} : { keyHeader }),
  ...(variant === undefined ? {} : { variant }),
})

/** The answer of an endpoint to a request without a prompt. */
export interface AnswerWithoutPrompt {
  readonly status: number
  /** `null`: its server refused the request, as it should. */
  readonly text: string | null
}

/**
 * Asks an endpoint without a prompt, so that no model works and nothing is paid. It throws the errors of the
 * connection, and an error if there is no token.
 *
 * @param path below the base URL, such as `/chat/completions`
 */
export async function askWithoutPrompt(
  choice: EndpointChoice,
  path: string,
  signal: AbortSignal,
): Promise<AnswerWithoutPrompt> {
  const { post, place } = openAiEndpoint(placeOf(choice))
  try {
    const answer = await post(path, { body: JSON.stringify({ model: choice.model }) }, signal)
    return { status: answer.status, text: await bodyText(answer, place.host) }
  } catch (error) {
    if (error instanceof EndpointRefusal) return { status: error.status, text: null }
    throw error
  }
}

const spoken = ({ protocol, stores }: EndpointChoice, options: OpenAiChatOptions): ChatProvider =>
  protocol === 'responses'
    ? openAiResponsesProvider({ ...options, ...(stores === undefined ? {} : { stores }) })
    : openAiChatProvider(options)

/** The same time in every thread, without jumps when the system's clock is corrected. */
const sharedClock: Clock = {
  now: () => Number(process.hrtime.bigint() / 1_000n) / 1_000,
  after: systemClock.after,
}

/** What the gate of a choice does with its calls now. */
export interface GateState {
  readonly limits: GateLimits
  /** How long the circuit stays open, in milliseconds. 0: the endpoint is asked. */
  readonly openMs: number
  /** How long a call that came now would wait for its turn, in milliseconds. */
  readonly waitMs: number
  /** How many calls waited for their turn since the start, and how long together. */
  readonly waits: { readonly calls: number; readonly ms: number }
  /** Why the circuit is open. `null`: it is not, or the reason is not known. */
  readonly lastFailure: string | null
}

export function gateState(
  choices: ProviderChoices,
  { gateIndex, limits = choices.limits, timeoutMs }: ChatChoice,
): GateState {
  const gate = endpointGate(choices.gate, gateIndex, {
    endpoint: '',
    limits,
    tryMsMax: timeoutMs + tryMsMore,
  })
  const now = BigInt(Math.floor(sharedClock.now() * 1_000)) * 1_000n
  const openMs = Number(gate.openForNs(now) / 1_000_000n)
  return {
    limits,
    openMs,
    waitMs: Number(gate.waitNs(now) / 1_000_000n),
    waits: { calls: gate.waits().calls, ms: Number(gate.waits().ns / 1_000_000n) },
    lastFailure: openMs > 0 ? gate.lastFailure() : null,
  }
}

const tryMsMore = 5_000

interface BundleParts {
  /** Default: a clock that all threads share. */
  readonly clock?: Clock
  /** Where the models of the program are served. Default: `null`; then they cannot be asked. */
  readonly ownModels?: MessagePort | null
}

/** @throws {BeaverError} `invalid_configuration` */
export function providerBundle(
  choices: ProviderChoices,
  { clock = sharedClock, ownModels = null }: BundleParts = {},
): ProviderBundle {
  const gates = new Map<number, EndpointGate>()
  const http = httpPost()
  const own = new OwnModelCalls(ownModels)

  function gateOf(choice: ChatChoice): EndpointGate {
    const { gateIndex, model, timeoutMs, limits = choices.limits } = choice
    const known = gates.get(gateIndex)
    if (known !== undefined) return known
    const where =
      'own' in choice
        ? ownModelInWords(choice.own)
        : (URL.parse(choice.baseURL ?? '')?.host ?? 'api.openai.com')
    const gate = endpointGate(choices.gate, gateIndex, {
      endpoint: `${where} (model ${model})`,
      limits,
      tryMsMax: timeoutMs + tryMsMore,
    })
    gates.set(gateIndex, gate)
    return gate
  }

  const endpointOf = (choice: EndpointChoice): OpenAiEndpointOptions => ({ ...placeOf(choice), http })
  const asked = (choice: ChatChoice): ChatProvider =>
    'own' in choice
      ? own.provider(choice)
      : spoken(choice, { ...endpointOf(choice), idleMs: choice.idleMs, ...askedAs(choice) })
  const chat = (choice: ChatChoice): ChatProvider => gatedChat(asked(choice), gateOf(choice), clock)
  const embeddings = (choice: EndpointChoice): EmbeddingProvider =>
    gatedEmbeddings(openAiEmbeddings(endpointOf(choice)), gateOf(choice), clock)

  const main = chat(choices)
  const named = new Map(
    Object.entries(choices.models ?? {}).map(([name, { endpoint }]) => [name, chat(endpoint)]),
  )
  const routeOf = (names: readonly string[] = []): ChatProvider[] =>
    names.map((name) => named.get(name) ?? main)
  return {
    models: new Map(
      Object.entries(choices.models ?? {}).map(([name, { route }]) => [
        name,
        { main: named.get(name) ?? main, fallbacks: routeOf(route) },
      ]),
    ),
    main,
    fallbacks: [...(choices.fallback === null ? [] : [chat(choices.fallback)]), ...routeOf(choices.route)],
    auxiliary: choices.auxiliary === null ? null : chat(choices.auxiliary),
    embeddings: choices.embeddings === null ? null : embeddings(choices.embeddings),
  }
}

// An EmbeddingProvider on any endpoint that speaks OpenAI's embeddings. If the server takes fewer texts than
// `textsMax`, each request has half as many from then on. A refused request costs nothing.

/** The most texts of one request. With 3072 numbers for each, the answer fits well into a body. */
const embeddedAtOnce = 64

/** @throws {BeaverError} `invalid_configuration` if `baseURL` is not an http URL or the key is empty */
export function openAiEmbeddings(options: OpenAiEndpointOptions): EmbeddingProvider {
  const { name, model, timeoutMs } = options
  const { post, place } = openAiEndpoint(options)

  async function ask(texts: readonly string[], signal: AbortSignal): Promise<Embedded> {
    signal.throwIfAborted()
    const watch = watchCall(signal, { timeoutMs, idleMs: timeoutMs })
    try {
      // Some servers do not know base64, the client's default. Some refuse an empty text.
      const body = { model, input: texts.map((text) => maskSecrets(text) || ' '), encoding_format: 'float' }
      const answer = await post('/embeddings', { body: JSON.stringify(body) }, watch.controller.signal)
      const { vectors, usage } = readEmbeddings(await bodyText(answer, place.host), texts.length, place)
      const isCounted = usage.input_tokens > 0 && usage.unknown_calls === undefined
      return { vectors, usage: isCounted ? usage : sentUsage(texts) }
    } catch (error) {
      const paid = { usage: sentUsage(texts), model }
      if (signal.aborted) throw cancelledCall(paid, signal.reason)
      const gaveUp = watch.gaveUp()
      const failure = providerErrorOf(error, { ...place, timeoutMs, idleMs: timeoutMs, gaveUp })
      // The server has worked on it, or may have.
      if (gaveUp !== null || failure.class === 'malformed_output') failure.paid ??= paid
      throw failure
    } finally {
      watch.close()
    }
  }

  let textsMax = embeddedAtOnce

  async function embed(texts: readonly string[], signal: AbortSignal): Promise<Embedded> {
    let size = Math.min(textsMax, texts.length)
    for (;;)
      try {
        return await ask(texts.slice(0, size), signal)
      } catch (error) {
        if (size === 1 || !(error instanceof ProviderError) || !saysSmallerBatch(error)) throw error
        size = Math.ceil(size / 2)
        textsMax = size
      }
  }

  return {
    name,
    model,
    get textsMax() {
      return textsMax
    },
    embed,
  }
}

/** What a request has cost of which the server counted nothing: all that was sent. */
const sentUsage = (texts: readonly string[]): Usage => ({
  ...{ input_tokens: textsTokensMax(texts), output_tokens: 0, calls: 1, estimated_calls: 1 },
})

/** Checks that there are as many vectors as texts, in their order. @throws {ProviderError} */
export function readEmbeddings(body: string, count: number, place: AnsweringPlace): Embedded {
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
  const counts = wireUsage.parse(fieldOf(value, 'usage'))
  return {
    vectors: oneLength(vectors as readonly (readonly number[])[], place),
    // An answer of vectors has no tokens.
    usage: usageOf(counts ? { completion_tokens: 0, ...counts } : counts),
  }
}

/** Vectors of different lengths cannot be compared. @throws {ProviderError} */
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
