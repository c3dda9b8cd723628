// A ChatProvider on any endpoint that speaks OpenAI's chat completions. How a call goes is in model-call.ts.
// What the server sends is checked before it is used (chat-completion.ts, chat-stream.ts). On the wire, in
// the schemas and in the history, tools have their encoded names. Everywhere else they have their own (D-13).
// What a provider sent with the messages of its model goes back to it, and to nobody else.
import type { ChatProvider } from '@beaver/agent'
import { isMarked } from './cache-markers.ts'
import { cacheHeaders, cacheWays } from './cache-ways.ts'
import { readChatCompletion } from './chat-completion.ts'
import { chatStream } from './chat-stream.ts'
import { type WireExchange, type ModelCallOptions, modelCalls, whenAsked } from './model-call.ts'
import { type AnswerForm, hasStateOf, requestBody } from './request-body.ts'
import { type SentFields, ServerHabits } from './server-habits.ts'

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
