// A ChatProvider on any endpoint that speaks OpenAI's chat completions. model-call.ts makes the call. Only on
// the wire do tools have their encoded names (D-13). A provider's state goes back to this provider only.
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

// What one server takes in a request, learned from its refusals. Each refusal teaches one thing, so that a
// request is repeated only a few times.

/** What a request had that a server may refuse. Several may be refused at once, each for its own content. */
interface SentFields extends SentForCache {
  readonly usage: boolean
  readonly state: boolean
  /** The field with the answer's token limit; `null` if there was no limit. */
  readonly outputTokens: OutputTokensField | null
  /** `null`: the request did not ask for a form. */
  readonly form: SentForm | null
  /** The images with content, the newest first, repeated as in the request. */
  readonly images: readonly string[]
  readonly filled: FilledState
  readonly conversation: ConversationForm
  readonly describesCalls: boolean
}

class ServerHabits {
  usage = true
  /** Whether it takes back its own state of earlier messages. */
  state = true
  /** What it misses in messages of other models. */
  filled: FilledState = { thoughts: false, signatures: false }
  conversation: ConversationForm = plainForm
  /** Whether it takes earlier calls only with a description of their tools. */
  describesCalls = false
  /** Whether its template opens the thoughts, so that an answer begins in the middle of them. */
  opensThoughts = false
  outputTokensField: OutputTokensField
  readonly form = new FormHabits()
  readonly cache = new CacheHabits()
  readonly images: ImageHabits
  /** The server refused the other name, or has taken this one. */
  #fieldIsKnown = false

  /** @param images what the operator says; absent: nothing */
  constructor(outputTokensField: OutputTokensField, images?: boolean) {
    this.outputTokensField = outputTokensField
    this.images = new ImageHabits(images)
  }

  taken({ outputTokens, images }: SentFields): void {
    this.images.taken(images)
    this.#fieldIsKnown ||= outputTokens === this.outputTokensField
  }

  /** Whether a refusal tells what the server does not take, so that it is asked again. */
  learns(refusal: unknown, sent: SentFields): boolean {
    const serverError = refusalIn(refusal)
    if (serverError === null) return false
    return (
      this.cache.learns(serverError, sent) ||
      this.#learnsField(serverError, sent) ||
      this.#learnsConversation(serverError, sent) ||
      this.images.learnsBad(serverError, sent.images)
    )
  }

  #learnsField(serverError: ServerError, sent: SentFields): boolean {
    if (this.images.learns(serverError, sent.images)) return true
    if (sent.usage && saysNoStreamOptions(serverError)) {
      this.usage = false
      return true
    }
    if (!sent.filled.thoughts && saysThoughtsMissing(serverError)) {
      this.filled = { ...this.filled, thoughts: true }
      return true
    }
    if (!sent.filled.signatures && saysSignatureMissing(serverError)) {
      this.filled = { ...this.filled, signatures: true }
      return true
    }
    if (sent.form !== null && this.form.learns(refusedForm(serverError), sent.form)) return true
    if (sent.state && saysNoState(serverError)) {
      this.state = false
      return true
    }
    return this.#learnsOutputTokens(serverError, sent)
  }

  #learnsOutputTokens(serverError: ServerError, { outputTokens: sent }: SentFields): boolean {
    if (sent === null || !saysOtherTokensField(serverError)) return false
    if (sent !== this.outputTokensField) return true
    if (this.#fieldIsKnown) return false
    this.#fieldIsKnown = true
    this.outputTokensField = sent === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
    return true
  }

  #learnsConversation(serverError: ServerError, sent: SentFields): boolean {
    const learned = conversationAfter(sent.conversation, serverError)
    if (learned !== null) this.conversation = { ...this.conversation, ...learned }
    if (learned !== null || sent.describesCalls || !saysToolsUndescribed(serverError)) return learned !== null
    return (this.describesCalls = true)
  }
}

function conversationAfter(
  form: ConversationForm,
  serverError: ServerError,
): Partial<ConversationForm> | null {
  if (!form.shortIds && saysIdForm(serverError)) return { shortIds: true }
  if (!form.noSystem && saysNoSystemRole(serverError)) return { noSystem: true }
  if (!form.oneCall && saysOneCall(serverError)) return { oneCall: true }
  if (!form.alternates && saysRolesAlternate(serverError)) return { alternates: true }
  // A template without a role for the system or for results may complain only that the roles must alternate.
  if (!form.noSystem && saysRolesAlternate(serverError)) return { noSystem: true }
  if (!form.noTools && (saysRolesAlternate(serverError) || saysNoSystemRole(serverError)))
    return { noTools: true }
  if (form.emptyContent === '(empty)' || !saysEmptyContent(serverError)) return null
  return { emptyContent: form.emptyContent === null ? '' : '(empty)' }
}
