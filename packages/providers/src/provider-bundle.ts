// Turns the choices of a daemon into the providers of its loops: each endpoint becomes a provider behind its gate.
// U1. The choices are plain data and the same for every worker thread. The threads share only the gate's memory.
import type { ChatProvider, EmbeddingProvider, ProviderBundle } from '@beaver/agent'
import { type Clock, type ModelSettings, systemClock } from '@beaver/core'
import { type EndpointGate, endpointGate, type GateLimits } from './gate/endpoint-gate.ts'
import { gatedChat, gatedEmbeddings } from './gate/gated.ts'
import { httpPost } from './http-post.ts'
import { openAiChatProvider } from './openai-chat.ts'
import { openAiEmbeddings } from './openai-embeddings.ts'
import type { OpenAiEndpointOptions } from './openai-endpoint.ts'

/** An endpoint, and the model that is asked there. */
export interface EndpointChoice {
  /** Its name in journals and reports. */
  readonly provider: string
  /** `null` means OpenAI's URL. */
  readonly baseURL: string | null
  readonly apiKey: string
  /** The variable that holds the key, for messages. */
  readonly keyName: string
  readonly model: string
  /** How the model is asked. Default: as the server decides. */
  readonly settings?: ModelSettings
  /** The context window of the model, in tokens. Default: it is not known. */
  readonly contextTokens?: number
  /** Further headers of each request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** The header that has the key. Default: `Authorization`. */
  readonly keyHeader?: string
  readonly timeoutMs: number
  readonly idleMs: number
  /** Its place in the gate. Choices with the same endpoint and model have the same place. */
  readonly gateIndex: number
}

/** The main endpoint and the other endpoints. This is plain data, because it goes to every worker thread. */
export interface ProviderChoices extends EndpointChoice {
  readonly fallback: EndpointChoice | null
  readonly auxiliary: EndpointChoice | null
  readonly embeddings: EndpointChoice | null
  /** The models that agents may name, each with the name of its fallback. Default: none. */
  readonly models?: Readonly<Record<string, { readonly endpoint: EndpointChoice; readonly fallback: string | null }>>
  readonly gate: SharedArrayBuffer
  readonly limits: GateLimits
}

/** How the model of an endpoint is asked. */
const askedAs = ({ settings, contextTokens }: EndpointChoice) => ({
  ...(settings === undefined ? {} : { settings }),
  ...(contextTokens === undefined ? {} : { contextTokens }),
})

/** Its time is the same in every thread, and does not jump when the system's clock is corrected. */
const sharedClock: Clock = { now: () => Number(process.hrtime.bigint() / 1_000n) / 1_000, after: systemClock.after }

/** @throws {BeaverError} `invalid_configuration` */
export function providerBundle(choices: ProviderChoices, clock: Clock = sharedClock): ProviderBundle {
  const gates = new Map<number, EndpointGate>()
  const http = httpPost()

  function gateOf({ gateIndex, baseURL, model, timeoutMs }: EndpointChoice): EndpointGate {
    const known = gates.get(gateIndex)
    if (known !== undefined) return known
    const host = URL.parse(baseURL ?? '')?.host ?? 'api.openai.com'
    const gate = endpointGate(choices.gate, gateIndex, { endpoint: `${host} (model ${model})`, limits: choices.limits, tryMsMax: timeoutMs + 5_000 })
    gates.set(gateIndex, gate)
    return gate
  }

  const endpointOf = ({ provider, baseURL, apiKey, keyName, model, headers = {}, keyHeader, timeoutMs }: EndpointChoice): OpenAiEndpointOptions => ({
    ...{ name: provider, apiKey, keyName, model, headers, timeoutMs, http },
    ...(baseURL === null ? {} : { baseURL }),
    ...(keyHeader === undefined ? {} : { keyHeader }),
  })
  const chat = (choice: EndpointChoice): ChatProvider =>
    gatedChat(openAiChatProvider({ ...endpointOf(choice), idleMs: choice.idleMs, ...askedAs(choice) }), gateOf(choice), clock)
  const embeddings = (choice: EndpointChoice): EmbeddingProvider => gatedEmbeddings(openAiEmbeddings(endpointOf(choice)), gateOf(choice), clock)

  const main = chat(choices)
  const named = new Map(Object.entries(choices.models ?? {}).map(([name, { endpoint }]) => [name, chat(endpoint)]))
  const fallbackOf = (name: string | null): ChatProvider | null => (name === null ? null : (named.get(name) ?? main))
  return {
    models: new Map(
      Object.entries(choices.models ?? {}).map(([name, { fallback }]) => [name, { main: named.get(name) ?? main, fallback: fallbackOf(fallback) }]),
    ),
    main,
    fallback: choices.fallback === null ? null : chat(choices.fallback),
    auxiliary: choices.auxiliary === null ? null : chat(choices.auxiliary),
    embeddings: choices.embeddings === null ? null : embeddings(choices.embeddings),
  }
}
