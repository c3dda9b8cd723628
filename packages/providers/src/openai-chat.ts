// A ChatProvider on any endpoint that speaks OpenAI's chat completions. How a call goes is in model-call.ts.
// What the server sends is checked before it is used (chat-completion.ts, chat-stream.ts). On the wire, in
// the schemas and in the history, tools have their encoded names. Everywhere else they have their own (D-13).
// What a provider sent with the messages of its model goes back to it, and to nobody else.
import type { ChatProvider } from '@beaver/agent'
import { CacheHabits, type SentForCache } from './cache-habits.ts'
import { isMarked } from './cache-markers.ts'
import { cacheHeaders, cacheWays } from './cache-ways.ts'
import { readChatCompletion } from './chat-completion.ts'
import { chatStream } from './chat-stream.ts'
import { type ConversationForm, plainForm } from './conversation-form.ts'
import { FormHabits, type SentForm } from './form-habits.ts'
import { ImageHabits } from './image-habits.ts'
import { type ModelCallOptions, modelCalls, whenAsked, type WireExchange } from './model-call.ts'
import { refusalIn, refusedForm } from './provider-failure.ts'
import {
  type AnswerForm,
  type FilledState,
  hasStateOf,
  type OutputTokensField,
  requestBody,
} from './request-body.ts'
import type { ServerError } from './server-error.ts'
import {
  saysEmptyContent,
  saysIdForm,
  saysNoState,
  saysNoStreamOptions,
  saysNoSystemRole,
  saysOneCall,
  saysOtherTokensField,
  saysRolesAlternate,
  saysSignatureMissing,
  saysThoughtsMissing,
  saysToolsUndescribed,
} from './server-words.ts'

export type OpenAiChatOptions = ModelCallOptions

/**
 * @example
 * const provider = openAiChatProvider({ name: 'openai', apiKey, model: 'gpt-5', timeoutMs: 120_000 })
 *
 * @throws {BeaverError} `invalid_configuration` if `baseURL` is not an http URL or the key is empty
 */
export function openAiChatProvider(options: OpenAiChatOptions): ChatProvider {
  const { name, model, structuredOutput = whenAsked(options) } = options
  const ways = cacheWays(options, 'chat_completions')
  const habits = new ServerHabits(
    options.baseURL === undefined ? 'max_completion_tokens' : 'max_tokens',
    options.images,
  )
  return modelCalls(options, {
    path: '/chat/completions',
    readWhole: readChatCompletion,
    readStream(place) {
      const stream = chatStream(place, habits.opensThoughts)
      return {
        ...stream,
        end() {
          const ended = stream.end()
          habits.opensThoughts = stream.opensThoughts() ?? habits.opensThoughts
          return ended
        },
      }
    },
    exchange(request, settings): WireExchange {
      const streams = request.onText !== undefined
      const fields = (): SentFields => ({
        usage: streams && habits.usage,
        state: habits.state && hasStateOf(name, request.messages),
        outputTokens: settings.output_tokens_max === undefined ? null : habits.outputTokensField,
        form: habits.form.sentFor(request, structuredOutput),
        images: habits.images.sent(request),
        ...{
          filled: habits.filled,
          conversation: habits.conversation,
          describesCalls: habits.describesCalls,
        },
        cacheKey: habits.cache.key && ways.key === 'field' && request.cache !== undefined,
        marks: ways.markers && isMarked(request) ? habits.cache.marks : null,
      })
      let sent = fields()
      return {
        body() {
          sent = fields()
          const form: AnswerForm = {
            ...(streams ? { stream: true } : {}),
            ...(sent.usage ? { stream_options: { include_usage: true } } : {}),
          }
          const { filled, conversation, describesCalls, cacheKey, marks } = sent
          const shown = habits.images.shown(request)
          const to = {
            ...{
              model,
              stateOf: sent.state ? name : null,
              filled,
              conversation,
              describesCalls,
              cacheKey,
              marks,
              settings,
            },
            ...{
              images: shown !== null,
              outputTokensField: habits.outputTokensField,
              formLevel: sent.form?.level ?? ('none' as const),
            },
          }
          return requestBody(
            to,
            { ...request, ...(shown === null || request.images === undefined ? {} : { images: shown }) },
            form,
          )
        },
        headers: cacheHeaders(ways, request),
        taken: () => habits.taken(sent),
        learns: (refusal) => habits.learns(refusal, sent),
      }
    },
  })
}

// What one server takes in a request, learned from its refusals. Each refusal teaches one thing, so a request
// is repeated a few times at most.

/**
 * What a request had that a server may not know, or in which form it was. A refusal is judged by it, because
 * a server may refuse several requests at once.
 */
interface SentFields extends SentForCache {
  readonly usage: boolean
  readonly state: boolean
  /** The name that the most tokens of an answer had; `null` if they were not said. */
  readonly outputTokens: OutputTokensField | null
  /** The form of the answer; `null` if it was not asked for. */
  readonly form: SentForm | null
  /** The images with their content, the newest first, each as often as it is there. */
  readonly images: readonly string[]
  readonly filled: FilledState
  readonly conversation: ConversationForm
  readonly describesCalls: boolean
}

class ServerHabits {
  /** Whether it counts the tokens of a stream. */
  usage = true
  /** Whether it takes back what it sent with its messages. */
  state = true
  /** What it misses in messages of other models. */
  filled: FilledState = { thoughts: false, signatures: false }
  /** What it demands of the messages. */
  conversation: ConversationForm = plainForm
  /** Whether it takes calls only with a description of their tools. */
  describesCalls = false
  /**
   * Whether its template opens the thoughts for the model, so that an answer begins in the middle of them.
   */
  opensThoughts = false
  outputTokensField: OutputTokensField
  readonly form = new FormHabits()
  readonly cache = new CacheHabits()
  readonly images: ImageHabits
  /** It has the other name, or it has taken this one. */
  #fieldIsKnown = false

  /** @param images what the operator says about it; absent: nothing */
  constructor(outputTokensField: OutputTokensField, images?: boolean) {
    this.outputTokensField = outputTokensField
    this.images = new ImageHabits(images)
  }

  /** A request was not refused. */
  taken({ outputTokens, images }: SentFields): void {
    this.images.taken(images)
    this.#fieldIsKnown ||= outputTokens === this.outputTokensField
  }

  /** Returns whether a refusal says what the server does not take, so that it is asked again. */
  learns(refusal: unknown, sent: SentFields): boolean {
    const said = refusalIn(refusal)
    if (said === null) return false
    return (
      this.cache.learns(said, sent) ||
      this.#learnsField(said, sent) ||
      this.#learnsConversation(said, sent) ||
      this.images.learnsBad(said, sent.images)
    )
  }

  #learnsField(said: ServerError, sent: SentFields): boolean {
    if (this.images.learns(said, sent.images)) return true
    if (sent.usage && saysNoStreamOptions(said)) {
      this.usage = false
      return true
    }
    if (!sent.filled.thoughts && saysThoughtsMissing(said)) {
      this.filled = { ...this.filled, thoughts: true }
      return true
    }
    if (!sent.filled.signatures && saysSignatureMissing(said)) {
      this.filled = { ...this.filled, signatures: true }
      return true
    }
    if (sent.form !== null && this.form.learns(refusedForm(said), sent.form)) return true
    if (sent.state && saysNoState(said)) {
      this.state = false
      return true
    }
    return this.#learnsOutputTokens(said, sent)
  }

  #learnsOutputTokens(said: ServerError, { outputTokens: sent }: SentFields): boolean {
    if (sent === null || !saysOtherTokensField(said)) return false
    if (sent !== this.outputTokensField) return true
    if (this.#fieldIsKnown) return false
    this.#fieldIsKnown = true
    this.outputTokensField = sent === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
    return true
  }

  #learnsConversation(said: ServerError, sent: SentFields): boolean {
    const learned = conversationAfter(sent.conversation, said)
    if (learned !== null) this.conversation = { ...this.conversation, ...learned }
    if (learned !== null || sent.describesCalls || !saysToolsUndescribed(said)) return learned !== null
    return (this.describesCalls = true)
  }
}

function conversationAfter(form: ConversationForm, said: ServerError): Partial<ConversationForm> | null {
  if (!form.shortIds && saysIdForm(said)) return { shortIds: true }
  if (!form.noSystem && saysNoSystemRole(said)) return { noSystem: true }
  if (!form.oneCall && saysOneCall(said)) return { oneCall: true }
  if (!form.alternates && saysRolesAlternate(said)) return { alternates: true }
  // A template that has no role for the system or for results may say only that the roles must alternate.
  if (!form.noSystem && saysRolesAlternate(said)) return { noSystem: true }
  if (!form.noTools && (saysRolesAlternate(said) || saysNoSystemRole(said))) return { noTools: true }
  if (form.emptyContent === '(empty)' || !saysEmptyContent(said)) return null
  return { emptyContent: form.emptyContent === null ? '' : '(empty)' }
}
