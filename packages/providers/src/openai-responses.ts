// A ChatProvider on any endpoint that speaks OpenAI's Responses API. How a call goes is in model-call.ts. The
// conversation is the journal's: each request has all of it. A server keeps nothing, or at most what its
// model thought (`stores`). What the server sends is checked before it is used (responses-answer.ts,
// responses-stream.ts). What a model thought goes back to the provider that sent it, with the calls that
// followed, and to nobody else.
import type { ChatProvider } from '@beaver/agent'
import { CacheHabits, type SentForCache } from './cache-habits.ts'
import { isMarked } from './cache-markers.ts'
import { cacheHeaders, cacheWays } from './cache-ways.ts'
import { FormHabits, type SentForm } from './form-habits.ts'
import { ImageHabits } from './image-habits.ts'
import { type ModelCallOptions, modelCalls, whenAsked, type WireExchange } from './model-call.ts'
import { refusalIn, refusedForm } from './provider-failure.ts'
import { hasStateOf } from './request-body.ts'
import { readWireResponse } from './responses-answer.ts'
import { responsesBody } from './responses-body.ts'
import { responsesStream } from './responses-stream.ts'
import type { ServerError } from './server-error.ts'
import {
  saysItemLost,
  saysNoEncryptedThoughts,
  saysNoItem,
  saysNoStore,
  saysOverflow,
} from './server-words.ts'

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

// What one server of the Responses API takes in a request, learned from its refusals. A thought that the
// server does not have any more is left out of this call alone: it says nothing about the thoughts of other
// conversations. That a server never takes its thoughts back is believed once it has taken the same request
// without them.

/** What a server takes, learned in all calls. */
interface ResponsesHabits {
  /** Whether it takes back what it thought. */
  state: boolean
  /** Whether it gives its thoughts in a form that can go back. */
  thoughts: boolean
  /** Whether it can be told what to keep. */
  store: boolean
  /** Which images it is shown. */
  readonly images: ImageHabits
  /** In which form it writes an answer. */
  readonly form: FormHabits
  /** Which helps for its cache it takes. */
  readonly cache: CacheHabits
}

/** @param images what the operator says about images; absent: nothing */
const unknownHabits = (images?: boolean): ResponsesHabits => ({
  ...{ state: true, thoughts: true, store: true },
  ...{ images: new ImageHabits(images), form: new FormHabits(), cache: new CacheHabits() },
})

/** What a request had that a server may not know. */
interface SentParts extends SentForCache {
  /** Thoughts of earlier answers. */
  readonly state: boolean
  readonly thoughts: boolean
  readonly store: boolean
  /** The images with their content, the newest first. */
  readonly images: readonly string[]
  /** The form of the answer; `null` if it was not asked for. */
  readonly form: SentForm | null
}

/** What one call learns. */
interface CallHabits {
  /** Whether this call may have thoughts of earlier answers. */
  readonly sendsState: () => boolean
  taken(sent: SentParts): void
  /** Returns whether a refusal says what the server does not take, so that it is asked again. */
  learns(refusal: unknown, sent: SentParts): boolean
}

function callHabits(habits: ResponsesHabits): CallHabits {
  let refused: 'unknown' | 'lost' | null = null
  return {
    sendsState: () => habits.state && refused === null,
    taken(sent) {
      habits.images.taken(sent.images)
      if (refused === 'unknown') habits.state = false
    },
    learns(refusal, sent) {
      const said = refusalIn(refusal)
      if (said === null) return false
      if (habits.cache.learns(said, sent)) return true
      if (habits.images.learns(said, sent.images)) return true
      if (sent.form !== null && habits.form.learns(refusedForm(said), sent.form)) return true
      if (sent.store && saysNoStore(said) && !saysItemLost(said)) {
        habits.store = false
        return true
      }
      // A server names the item in which the image is.
      if (habits.images.learnsBad(said, sent.images)) return true
      const items = sent.state ? refusedItems(said) : null
      if (items !== 'lost' && sent.thoughts && saysNoEncryptedThoughts(said)) {
        habits.thoughts = false
        return true
      }
      refused = items
      return items !== null
    },
  }
}

/**
 * What came from the model and went back is refused: `unknown` the server never takes it, `lost` it does not
 * take this one.
 */
function refusedItems(said: ServerError): 'unknown' | 'lost' | null {
  if (saysOverflow(said)) return null
  if (saysItemLost(said)) return 'lost'
  return saysNoItem(said) ? 'unknown' : null
}
