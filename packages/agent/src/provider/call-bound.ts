// How many tokens the input of a model call has at most, without the tokenizer of any model. A budget reserves
// what a call may cost at most, so this must never be less than what the provider counts: each token stands
// for at least one byte of UTF-8, and what providers write around the texts has a fixed allowance. Images are
// counted by `imageTokens`. Nothing is counted twice: messages and tools never change, so their counts are
// kept. A call that was broken off is counted in the same way.
import type { ChatMessage, Usage } from '@beaver/core'
import { type ImagePart, imageText, imageTokens } from '@beaver/core/images'
import type { ChatRequest, ToolSchema } from './chat-provider.ts'

/** What a model reads as input. */
type Input = Pick<ChatRequest, 'messages' | 'tools' | 'output'>

/** A request that the same model answered, and the input tokens that its provider reported. */
export interface KnownInput extends Input {
  readonly tokens: number
}

/** What servers write around a conversation, such as a preamble of their own. */
const conversationTokens = 64
/** What servers write around a list of tools: how to call them, and the form of a call. */
const toolListTokens = 600
/** What servers write around a tool, a message and a call. */
const toolTokens = 32
const messageTokens = 16
const callTokens = 16
/** What servers write around a JSON Schema for the answer. */
const outputTokens = 64
/** What Beaver writes around an image: what it is, and why it is not shown. */
const imageWordsTokens = 256

/**
 * An upper bound of the input tokens of a request.
 *
 * @param known the last request of the conversation with a known count. If the messages of this request begin
 * with its messages (the same objects), only the rest is bounded by bytes. Default: nothing is known
 * @example
 * inputTokensMax({ messages: [{ role: 'user', content: 'Hello' }], tools: [] }) // => 85
 */
export function inputTokensMax({ messages, tools, output }: Input, known: KnownInput | null = null): number {
  const begins = known !== null && beginsWith(messages, known.messages)
  let tokens = begins ? known.tokens : 0
  for (let i = begins ? known.messages.length : 0; i < messages.length; i++)
    tokens += messageTokensMax(messages[i] as ChatMessage)
  const isSameForm = begins && output?.schema === known.output?.schema && isSameList(tools, known.tools)
  return tokens + conversationTokens + (isSameForm ? 0 : formTokensMax({ tools, output }))
}

/**
 * What a call used whose answer is not complete, so that its provider did not tell: all that was sent, and
 * each byte that was received.
 *
 * @param receivedBytes the bytes of texts, thoughts and calls
 * @example
 * brokenOffUsage({ messages: [{ role: 'user', content: 'Hello' }], tools: [] }, 12) // => { input_tokens: 85, output_tokens: 12, calls: 1, estimated_calls: 1 }
 */
export const brokenOffUsage = (request: Input, receivedBytes: number): Usage => ({
  ...{ input_tokens: inputTokensMax(request), output_tokens: receivedBytes },
  ...{ calls: 1, estimated_calls: 1 },
})

/**
 * An upper bound of the input tokens of a request for embeddings.
 *
 * @example
 * textsTokensMax(['rain']) // => 20
 */
export const textsTokensMax = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + messageTokens + bytesIn(text), 0)

const beginsWith = (messages: readonly ChatMessage[], first: readonly ChatMessage[]): boolean =>
  first.length <= messages.length && first.every((message, i) => message === messages[i])

const isSameList = (some: readonly ToolSchema[], others: readonly ToolSchema[]): boolean =>
  some === others || (some.length === others.length && some.every((tool, i) => tool === others[i]))

/** The bound of what is sent beside the messages. */
function formTokensMax({ tools, output }: Pick<Input, 'tools' | 'output'>): number {
  let tokens =
    output === undefined
      ? 0
      : outputTokens + kept(output.schema, () => bytesIn(output.name) + jsonBytes(output.schema))
  if (tools.length > 0) tokens += toolListTokens
  for (const tool of tools) tokens += kept(tool, () => toolTokens + jsonBytes(tool))
  return tokens
}

const messageTokensMax = (message: ChatMessage): number =>
  kept(message, () => {
    const tokens = messageTokens + bytesIn(message.content ?? '')
    switch (message.role) {
      case 'system':
        return tokens
      case 'user':
        return tokens + imagesTokensMax(message.images)
      case 'tool':
        return tokens + bytesIn(message.tool_call_id) + imagesTokensMax(message.images, message.tool_call_id)
      case 'assistant':
        return (
          tokens +
          jsonBytes(message.provider_state?.fields) +
          (message.tool_calls ?? []).reduce(
            (sum, { id, name, arguments: args, extra_content }) =>
              sum + callTokens + bytesIn(id) + bytesIn(name) + bytesIn(args) + jsonBytes(extra_content),
            0,
          )
        )
      default:
        return message satisfies never
    }
  })

/** @param call the call whose result has the images. A message that follows the results names it */
const imagesTokensMax = (images: readonly ImagePart[] = [], call = ''): number =>
  images.reduce(
    (sum, image) =>
      sum + imageTokens(image) + imageWordsTokens + 2 * bytesIn(imageText(image)) + bytesIn(call),
    0,
  )

const jsonBytes = (value: object | undefined): number =>
  value === undefined ? 0 : bytesIn(JSON.stringify(value))

/** A token stands for at least one byte, so a text has at most as many tokens as bytes. */
const bytesIn = (text: string): number => Buffer.byteLength(text)

const counts = new WeakMap<object, number>()

function kept(counted: object, count: () => number): number {
  const before = counts.get(counted)
  if (before !== undefined) return before
  const tokens = count()
  counts.set(counted, tokens)
  return tokens
}
