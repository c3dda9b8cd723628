// From what a daemon chose to what its loops ask: each endpoint as a provider behind its gate.
// U1. The choices are plain data, the same for every worker thread; the gate's memory is the one thing they share.
import type { ChatProvider, EmbeddingProvider, ProviderBundle } from '@beaver/agent'
import { type Clock, systemClock } from '@beaver/core'
import { type EndpointGate, endpointGate, type GateLimits } from './gate/endpoint-gate.ts'
import { gatedChat, gatedEmbeddings } from './gate/gated.ts'
import { httpPost } from './http-post.ts'
import { openAiChatProvider } from './openai-chat.ts'
import { openAiEmbeddings } from './openai-embeddings.ts'
import type { OpenAiEndpointOptions } from './openai-endpoint.ts'

/** An endpoint and the model asked there. */
export interface EndpointChoice {
  /** As journals and reports name it. */
  readonly provider: string
  /** `null`: OpenAI's. */
  readonly baseURL: string | null
  readonly apiKey: string
  /** The variable the key comes from, for messages. */
  readonly keyName: string
  readonly model: string
  readonly timeoutMs: number
  readonly idleMs: number
  /** Its place in the gate: the same endpoint and model, the same place. */
  readonly gateIndex: number
}

/** The main endpoint, and those beside it. Plain data: it goes to every worker thread. */
export interface ProviderChoices extends EndpointChoice {
  readonly fallback: EndpointChoice | null
  readonly auxiliary: EndpointChoice | null
  readonly embeddings: EndpointChoice | null
  readonly gate: SharedArrayBuffer
  readonly limits: GateLimits
}

/** The same time in every thread, which no correction of the system's clock moves. */
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

  const endpointOf = ({ provider, baseURL, apiKey, keyName, model, timeoutMs }: EndpointChoice): OpenAiEndpointOptions => ({
    ...{ name: provider, apiKey, keyName, model, timeoutMs, http },
    ...(baseURL === null ? {} : { baseURL }),
  })
  const chat = (choice: EndpointChoice): ChatProvider => gatedChat(openAiChatProvider({ ...endpointOf(choice), idleMs: choice.idleMs }), gateOf(choice), clock)
  const embeddings = (choice: EndpointChoice): EmbeddingProvider => gatedEmbeddings(openAiEmbeddings(endpointOf(choice)), gateOf(choice), clock)

  return {
    main: chat(choices),
    fallback: choices.fallback === null ? null : chat(choices.fallback),
    auxiliary: choices.auxiliary === null ? null : chat(choices.auxiliary),
    embeddings: choices.embeddings === null ? null : embeddings(choices.embeddings),
  }
}
