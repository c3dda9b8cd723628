// A ChatProvider on any endpoint that speaks OpenAI's Responses API. model-call.ts makes the call. Each
// request has the whole conversation from the journal: a server keeps at most its model's thoughts
// (`stores`). Thoughts go back only to the provider that sent them, with the calls that followed.
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
  /** Whether the server keeps its thoughts by id. Default: no; they go back encrypted or in plain text. */
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

// What one server takes in a request, learned from its refusals. A thought that the server lost is left out
// of this call only: it says nothing about other conversations. The server counts as never taking thoughts
// back only after it took the same request without them.

/** Learned in all calls. */
interface ResponsesHabits {
  /** Whether it takes thoughts back. */
  state: boolean
  /** Whether it gives its thoughts in a form that can go back. */
  thoughts: boolean
  /** Whether it takes the field `store`. */
  store: boolean
  readonly images: ImageHabits
  readonly form: FormHabits
  readonly cache: CacheHabits
}

/** @param images what the operator says; absent: nothing */
const unknownHabits = (images?: boolean): ResponsesHabits => ({
  ...{ state: true, thoughts: true, store: true },
  ...{ images: new ImageHabits(images), form: new FormHabits(), cache: new CacheHabits() },
})

/** What a request had that a server may refuse. */
interface SentParts extends SentForCache {
  /** Thoughts of earlier answers. */
  readonly state: boolean
  readonly thoughts: boolean
  readonly store: boolean
  /** The images with their content, the newest first. */
  readonly images: readonly string[]
  /** `null`: the request did not ask for a form. */
  readonly form: SentForm | null
}

interface CallHabits {
  /** Whether this call may have thoughts of earlier answers. */
  readonly sendsState: () => boolean
  taken(sent: SentParts): void
  /** Whether a refusal tells what the server does not take, so that it is asked again. */
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
      const serverError = refusalIn(refusal)
      if (serverError === null) return false
      if (habits.cache.learns(serverError, sent)) return true
      if (habits.images.learns(serverError, sent.images)) return true
      if (sent.form !== null && habits.form.learns(refusedForm(serverError), sent.form)) return true
      if (sent.store && saysNoStore(serverError) && !saysItemLost(serverError)) {
        habits.store = false
        return true
      }
      // The server names the item that contains the image.
      if (habits.images.learnsBad(serverError, sent.images)) return true
      const items = sent.state ? refusedItems(serverError) : null
      if (items !== 'lost' && sent.thoughts && saysNoEncryptedThoughts(serverError)) {
        habits.thoughts = false
        return true
      }
      refused = items
      return items !== null
    },
  }
}

/** Whether the server refuses its own thoughts: `unknown` it never takes them, `lost` not this one. */
function refusedItems(serverError: ServerError): 'unknown' | 'lost' | null {
  if (saysOverflow(serverError)) return null
  if (saysItemLost(serverError)) return 'lost'
  return saysNoItem(serverError) ? 'unknown' : null
}
