// A ChatProvider on any endpoint that speaks OpenAI's Responses API. How a call goes is in model-call.ts. The
// conversation is the journal's: each request has all of it. A server keeps nothing, or at most what its
// model thought (`stores`). What the server sends is checked before it is used (responses-answer.ts,
// responses-stream.ts). What a model thought goes back to the provider that sent it, with the calls that
// followed, and to nobody else.
import type { ChatProvider } from '@beaver/agent'
import { isMarked } from './cache-markers.ts'
import { cacheHeaders, cacheWays } from './cache-ways.ts'
import { type WireExchange, type ModelCallOptions, modelCalls, whenAsked } from './model-call.ts'
import { hasStateOf } from './request-body.ts'
import { readWireResponse } from './responses-answer.ts'
import { responsesBody } from './responses-body.ts'
import { callHabits, type SentParts, unknownHabits } from './responses-habits.ts'
import { responsesStream } from './responses-stream.ts'

export interface OpenAiResponsesOptions extends ModelCallOptions {
  /**
   * Whether the server keeps its answers, so that a thought goes back by its id. Default: it keeps nothing,
   * and a thought goes back encrypted or in plain text.
   */
  readonly stores?: boolean
}

/**
 * @example
 * const provider = openAiResponsesProvider({ name: 'openai', apiKey, model: 'gpt-5', timeoutMs: 120_000 })
 *
 * @throws {BeaverError} `invalid_configuration` if `baseURL` is not an http URL or the key is empty
 */
export function openAiResponsesProvider(options: OpenAiResponsesOptions): ChatProvider {
  const { name, model, stores = false, structuredOutput = whenAsked(options) } = options
  const ways = cacheWays(options, 'responses')
  const habits = unknownHabits(options.images)
  return modelCalls(options, {
    path: '/responses',
    readWhole: readWireResponse,
    readStream: responsesStream,
    exchange(request, settings): WireExchange {
      const call = callHabits(habits)
      const sent = (): SentParts => ({
        ...{ thoughts: habits.thoughts && !stores, store: habits.store },
        images: habits.images.sent(request),
        state: call.sendsState() && hasStateOf(name, request.messages),
        form: habits.form.sentFor(request, structuredOutput),
        cacheKey: habits.cache.key && ways.key === 'field' && request.cache !== undefined,
        marks: ways.markers && isMarked(request) ? habits.cache.marks : null,
      })
      let last = sent()
      return {
        body() {
          last = sent()
          const shown = habits.images.shown(request)
          const asked = {
            ...request,
            ...(shown === null || request.images === undefined ? {} : { images: shown }),
          }
          const to = {
            model,
            settings,
            stores,
            stateOf: last.state ? name : null,
            saysStore: last.store,
            wantsThoughts: last.thoughts,
            images: shown !== null,
          }
          const cached = { cacheKey: last.cacheKey, marks: last.marks !== null }
          return responsesBody(
            {
              ...to,
              ...cached,
              formLevel: last.form?.level ?? 'none',
              streams: request.onText !== undefined,
            },
            asked,
          )
        },
        headers: cacheHeaders(ways, request),
        taken: () => call.taken(last),
        learns: (refusal) => call.learns(refusal, last),
      }
    },
  })
}
