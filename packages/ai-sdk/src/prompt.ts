// A conversation as the prompt of a model. Images of tool results follow in a user message, because not every
// provider takes them in a result. The model's state goes back in its order; a thought before a dropped call
// is dropped too.
import type {
  LanguageModelV4Content,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import { type ChatRequest, toolNameAtProvider } from '@beaver/agent'
import type { ChatMessage, JsonObject, JsonValue, ToolCall } from '@beaver/core'
import type { ImagePart } from '@beaver/core/images'
import { imageWords, objectText, type ShownImages, withResultImages } from '@beaver/providers'

export interface PromptReader {
  /** The name under which the model gets its state back. */
  readonly name: string
  /** The images that it is shown. */
  readonly shown: ShownImages
}

export function promptOf({ messages }: ChatRequest, reader: PromptReader): LanguageModelV4Prompt {
  const { shown } = reader
  const prompt: LanguageModelV4Prompt = []
  const names = new Map<string, string>()
  for (const message of withResultImages(messages)) {
    if (message.role === 'assistant')
      for (const { id, name } of message.tool_calls ?? []) names.set(id, toolNameAtProvider(name))
    const last = prompt.at(-1)
    if (message.role === 'tool' && last?.role === 'tool') last.content.push(resultPart(message, names))
    else prompt.push(promptMessage(message, { reader, names, shown }))
  }
  return prompt
}

interface Context {
  readonly reader: PromptReader
  /** The names of the tools by the ids of their calls. */
  readonly names: ReadonlyMap<string, string>
  readonly shown: ShownImages
}

function promptMessage(message: ChatMessage, { reader, names, shown }: Context): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content }
    case 'user':
      return {
        role: 'user',
        content: [
          { type: 'text', text: message.content },
          ...(message.images ?? []).flatMap((image) => imageParts(image, shown)),
        ],
      }
    case 'assistant':
      return { role: 'assistant', content: answerParts(message, reader.name) }
    case 'tool':
      return { role: 'tool', content: [resultPart(message, names)] }
    default:
      return message satisfies never
  }
}

function imageParts(
  image: ImagePart,
  shown: Context['shown'],
): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] {
  const data = shown?.get(image.sha256)
  const text: LanguageModelV4TextPart = { type: 'text', text: imageWords(image, shown) }
  return data === undefined || typeof data === 'string'
    ? [text]
    : [text, { type: 'file', mediaType: image.media_type, data: { type: 'data', data } }]
}

type ToolMessage = Extract<ChatMessage, { role: 'tool' }>

const resultPart = (
  { tool_call_id: id, content }: ToolMessage,
  names: Context['names'],
): LanguageModelV4ToolResultPart => ({
  type: 'tool-result',
  toolCallId: id,
  toolName: names.get(id) ?? 'unknown',
  output: { type: 'text', value: content },
})

type AnswerMessage = Extract<ChatMessage, { role: 'assistant' }>
type AnswerContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']

function answerParts(
  { content, tool_calls: calls = [], provider_state: state }: AnswerMessage,
  name: string,
): AnswerContent {
  const own = state?.provider === name ? keptParts(state.fields) : []
  const left = new Map(calls.map((call) => [call.id, call]))
  const parts: AnswerContent = []
  let said = content === null || content === ''
  let thoughts: AnswerContent = []
  const add = (part: AnswerContent[number]): void => {
    parts.push(...thoughts, part)
    thoughts = []
  }
  for (const kept of own) {
    const options = kept.providerOptions === undefined ? {} : { providerOptions: kept.providerOptions }
    if (kept.type === 'text') {
      if (!said) add({ type: 'text', text: content ?? '', ...options })
      said = true
    } else if (kept.type === 'tool-call') {
      const call = left.get(kept.toolCallId)
      if (call === undefined) thoughts = []
      else add({ ...callPart(call), ...options })
      left.delete(kept.toolCallId)
    } else thoughts.push({ ...thoughtPart(kept), ...options })
  }
  const rest = [...left.values()].map(callPart)
  if (!said || parts.length + rest.length === 0) parts.push({ type: 'text', text: content ?? '' })
  return [...parts, ...rest]
}

const callPart = ({ id, name, arguments: args }: ToolCall): AnswerContent[number] => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: toolNameAtProvider(name),
  input: JSON.parse(objectText(args)) as unknown,
})

function thoughtPart(kept: Exclude<KeptPart, { type: 'text' | 'tool-call' }>): AnswerContent[number] {
  switch (kept.type) {
    case 'reasoning':
      return { type: 'reasoning', text: kept.text }
    case 'custom':
      return { type: 'custom', kind: kept.kind }
    case 'reasoning-file':
      return { type: 'reasoning-file', mediaType: kept.mediaType, data: { type: 'data', data: kept.base64 } }
    default:
      return kept satisfies never
  }
}

// What goes back to a model with an answer that called tools: the parts of its content in their order. Texts
// and calls keep only the provider's options, because the message has the rest. An answer without provider
// options has no state.

/** The field of the state. */
const field = 'ai_sdk_content'

type KeptPart = { readonly providerOptions?: SharedV4ProviderOptions } & (
  | { readonly type: 'text' }
  | { readonly type: 'tool-call'; readonly toolCallId: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'custom'; readonly kind: `${string}.${string}` }
  | { readonly type: 'reasoning-file'; readonly mediaType: string; readonly base64: string }
)

export function keptContent(content: readonly LanguageModelV4Content[]): JsonObject | null {
  const parts = content.flatMap(keptPart)
  if (
    parts.every(
      (part) => (part.type === 'text' || part.type === 'tool-call') && part.providerOptions === undefined,
    )
  )
    return null
  // A provider may leave `undefined` in its options.
  return JSON.parse(JSON.stringify({ [field]: parts })) as JsonObject
}

/** The kept parts of a state. Empty: it is the state of another provider. */
function keptParts(fields: JsonObject): readonly KeptPart[] {
  const parts = fields[field]
  return Array.isArray(parts) ? parts.flatMap(readPart) : []
}

function readPart(value: JsonValue): KeptPart[] {
  if (!isObject(value)) return []
  const { type, toolCallId, text, kind, mediaType, base64, providerOptions: given } = value
  const options = isObject(given) ? { providerOptions: given as SharedV4ProviderOptions } : {}
  if (type === 'text') return [{ type, ...options }]
  if (type === 'tool-call' && typeof toolCallId === 'string') return [{ type, toolCallId, ...options }]
  if (type === 'reasoning' && typeof text === 'string') return [{ type, text, ...options }]
  if (type === 'custom' && typeof kind === 'string' && isKind(kind)) return [{ type, kind, ...options }]
  if (type === 'reasoning-file' && typeof mediaType === 'string' && typeof base64 === 'string')
    return [{ type, mediaType, base64, ...options }]
  return []
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isKind = (kind: string): kind is `${string}.${string}` => kind.includes('.')

function keptPart(part: LanguageModelV4Content): KeptPart[] {
  const options =
    part.type !== 'source' && part.providerMetadata !== undefined
      ? { providerOptions: part.providerMetadata }
      : {}
  switch (part.type) {
    case 'text':
      return [{ type: 'text', ...options }]
    case 'tool-call':
      // The provider ran its own tools.
      return part.providerExecuted === true
        ? []
        : [{ type: 'tool-call', toolCallId: part.toolCallId, ...options }]
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...options }]
    case 'custom':
      return [{ type: 'custom', kind: part.kind, ...options }]
    case 'reasoning-file': {
      const { data, mediaType } = part
      if (data.type === 'url') return []
      return [
        {
          type: 'reasoning-file',
          mediaType,
          base64: typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64'),
          ...options,
        },
      ]
    }
    default:
      return []
  }
}
