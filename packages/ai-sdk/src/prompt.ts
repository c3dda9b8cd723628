// A conversation as the prompt of a model. Names of tools are such as providers take, and arguments of calls
// are JSON objects. Images of tool results follow the results in a message of the user, because not every
// provider takes them in a result. What a model wants back with its answer goes back in its order. A thought
// before a call that was dropped goes with the call.
import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import { type ChatRequest, toolNameAtProvider } from '@beaver/agent'
import type { ChatMessage, ImagePart, ToolCall } from '@beaver/core'
import { imageWords, objectText, type ShownImages, withResultImages } from '@beaver/providers'
import { type KeptPart, keptParts } from './kept-content.ts'

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
