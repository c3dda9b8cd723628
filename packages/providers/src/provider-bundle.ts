// Turns the choices of a daemon into the providers of its loops: each endpoint becomes a provider behind its
// gate. The choices are plain data and the same for every worker thread. The threads share only the gate's
// memory. A model of the program is behind a gate as an endpoint is.
import type { MessagePort } from 'node:worker_threads'
import type { ChatProvider, EmbeddingProvider, ProviderBundle } from '@beaver/agent'
import { type Clock, type ModelSettings, systemClock } from '@beaver/core'
import type { CacheSetting } from './cache-ways.ts'
import { type EndpointGate, endpointGate, type GateLimits } from './gate/endpoint-gate.ts'
import { gatedChat, gatedEmbeddings } from './gate/gated.ts'
import { httpPost } from './http-post.ts'
import { type OpenAiChatOptions, openAiChatProvider } from './openai-chat.ts'
import { openAiEmbeddings } from './openai-embeddings.ts'
import { openAiEndpoint, type OpenAiEndpointOptions } from './openai-endpoint.ts'
import { openAiResponsesProvider } from './openai-responses.ts'
import type { ClientVariant } from './openai-client.ts'
import { OwnModelCalls, type OwnModelChoice, ownModelInWords } from './own-models/own-model-calls.ts'
import { EndpointRefusal } from './provider-failure.ts'
import { bodyText } from './response-body.ts'
import type { StructuredOutput } from './response-format.ts'

/** What is chosen for each model, wherever it is. */
interface ChosenPlace {
  /** Its name in journals and reports. */
  readonly provider: string
  readonly model: string
  /** The context window of the model, in tokens. Default: it is not known. */
  readonly contextTokens?: number
  readonly timeoutMs: number
  readonly idleMs: number
  /** Its place in the gate. Choices with the same endpoint and model have the same place. */
  readonly gateIndex: number
  /** Its own limits. Default: those of all endpoints. */
  readonly limits?: GateLimits
}

/** A model that the program brings. */
export interface OwnChoice extends ChosenPlace, OwnModelChoice {}

/** An endpoint, or a model that the program brings. */
export type ChatChoice = EndpointChoice | OwnChoice

/** An endpoint, and the model that is asked there. */
export interface EndpointChoice extends ChosenPlace {
  /** `null` means OpenAI's URL. */
  readonly baseURL: string | null
  readonly apiKey: string
  /** The variable that holds the key, for messages. */
  readonly keyName: string
  /** The interface of the endpoint. Default: `chat_completions`. */
  readonly protocol?: 'chat_completions' | 'responses'
  /** Whether a server of the Responses API keeps its answers. Default: no. */
  readonly stores?: boolean
  /** How the model is asked. Default: as the server decides. */
  readonly settings?: ModelSettings
  /** Whether the model takes images. Default: what its server says when it is asked. */
  readonly images?: boolean
  /**
   * When the endpoint itself is asked for the form of an answer. Default: `native` for OpenAI, otherwise
   * `auto`.
   */
  readonly structuredOutput?: StructuredOutput
  /** How the endpoint's cache is helped. Default: what its documentation asks for, if it is known. */
  readonly cache?: CacheSetting
  /**
   * The header that has the key for the cache. Default: a field of the body, or the header that is known of
   * the endpoint.
   */
  readonly cacheKeyHeader?: string
  /** Further headers of each request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** The header that has the key. Default: `Authorization`. */
  readonly keyHeader?: string
  /** The variant of the client, where a key is not enough. Default: the plain one, with the key. */
  readonly variant?: ClientVariant
}

/** The main model and the others. This is plain data, because it goes to every worker thread. */
export type ProviderChoices = ChatChoice & OtherChoices

interface OtherChoices {
  /** The endpoint that is asked after the main one. */
  readonly fallback: EndpointChoice | null
  /** The named models that are asked after the main one, in this order. Default: none. */
  readonly route?: readonly string[]
  readonly auxiliary: EndpointChoice | null
  readonly embeddings: EndpointChoice | null
  /** The models that agents may name, each with the names of those that are asked after it. Default: none. */
  readonly models?: Readonly<
    Record<string, { readonly endpoint: ChatChoice; readonly route: readonly string[] }>
  >
  readonly gate: SharedArrayBuffer
  readonly limits: GateLimits
}

/** How the model of an endpoint is asked. */
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

/** What an endpoint says to a request without a prompt. */
export interface AnswerWithoutPrompt {
  readonly status: number
  /** `null`: its server refused the request, as it should. */
  readonly text: string | null
}

/**
 * Asks an endpoint without a prompt, so that no model works and nothing is paid. Errors are those of the
 * connection, or say why there is no token.
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

/** A provider in the protocol of the endpoint. */
const spoken = ({ protocol, stores }: EndpointChoice, options: OpenAiChatOptions): ChatProvider =>
  protocol === 'responses'
    ? openAiResponsesProvider({ ...options, ...(stores === undefined ? {} : { stores }) })
    : openAiChatProvider(options)

/** Its time is the same in every thread, and does not jump when the system's clock is corrected. */
const sharedClock: Clock = {
  now: () => Number(process.hrtime.bigint() / 1_000n) / 1_000,
  after: systemClock.after,
}

/** For how long the circuit of a choice stays open, in milliseconds. 0: it is asked. */
export function circuitOpenMs(
  choices: ProviderChoices,
  { gateIndex, limits = choices.limits, timeoutMs }: ChatChoice,
): number {
  const gate = endpointGate(choices.gate, gateIndex, {
    endpoint: '',
    limits,
    tryMsMax: timeoutMs + tryMsMore,
  })
  return Number(gate.openForNs(BigInt(Math.floor(sharedClock.now() * 1_000)) * 1_000n) / 1_000_000n)
}

const tryMsMore = 5_000

/** What a bundle works with besides the choices. */
interface BundleParts {
  /** Default: a clock that all threads share. */
  readonly clock?: Clock
  /** Where the models of the program are served. Default: `null`, and they cannot be asked. */
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
