// What goes back to a model with an answer that called tools: the parts of its content in their order. Of a
// text and a call only the provider's options are kept: the message has the rest. Thoughts and parts of a
// provider's own are kept whole. An answer in which a provider says nothing of its own has no state.
import type { LanguageModelV4Content, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { JsonObject, JsonValue } from '@beaver/core'

/** The field of the state. */
const field = 'ai_sdk_content'

/** A kept part. */
export type KeptPart = { readonly providerOptions?: SharedV4ProviderOptions } & (
  | { readonly type: 'text' }
  | { readonly type: 'tool-call'; readonly toolCallId: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'custom'; readonly kind: `${string}.${string}` }
  | { readonly type: 'reasoning-file'; readonly mediaType: string; readonly base64: string }
)

/** The state of an answer, or `null`. */
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

/** The kept parts in a state. Empty: it is the state of something else. */
export function keptParts(fields: JsonObject): readonly KeptPart[] {
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
      // Tools of the provider ran there already.
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
