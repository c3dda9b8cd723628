// The body of a request to the Responses API: the whole conversation as items, because a server keeps at most
// its model's thoughts (docs/decisions/0092). Thoughts go back before the calls of their answer, and are left
// out if the conversation does not have these calls: a server refuses thoughts without a successor. A message
// has the form of the strictest server: the type, parts, and for an answer an id and a status.
import { createHash } from 'node:crypto'
import { type ChatRequest, type OutputForm, toolNameAtProvider, type ToolSchema } from '@beaver/agent'
import type { ChatMessage, JsonObject, ModelSettings } from '@beaver/core'
import { hasSecret, maskedData } from '@beaver/core/secrets'
import { isMarked, markedPlaces, textParts } from './cache-markers.ts'
import { objectText } from './request-body.ts'
import { fitsStrictMode, type FormLevel } from './response-format.ts'
import { stateItemsIn } from './responses-state.ts'
import { inputParts, mediaTypesOf, type ShownImages, withContents, withResultImages } from './wire-images.ts'

export interface ResponsesRecipient {
  readonly model: string
  /** The provider that gets its own state back. `null`: none does. */
  readonly stateOf: string | null
  readonly settings: ModelSettings
  /** Whether the server keeps thoughts, so that the id of a thought is enough. */
  readonly stores: boolean
  /** Whether to send the field `store`. */
  readonly saysStore: boolean
  /** Whether to ask for thoughts in a form that can go back. */
  readonly wantsThoughts: boolean
  readonly streams: boolean
  /** Whether the server takes images. If not, a text replaces each. */
  readonly images: boolean
  /** How to ask the server for the form of the answer, if the request has one. */
  readonly formLevel: FormLevel
  /** Whether the cache key is a field of the body. Default: no. */
  readonly cacheKey?: boolean
  /** Whether system and user texts are marked for a cache. The server marks the end itself. Default: no. */
  readonly marks?: boolean
}

const encrypted = 'reasoning.encrypted_content'

/** The body as JSON, in the order of request-body.ts and with secrets masked as there. */
export function responsesBody(
  to: ResponsesRecipient,
  {
    messages,
    tools,
    output,
    images,
    cache,
    mustCall,
  }: Pick<ChatRequest, 'messages' | 'tools' | 'output' | 'cache' | 'mustCall'> & {
    readonly images?: NonNullable<ShownImages> | undefined
  },
): string {
  const { include, ...extra } = wireSettings(to.settings)
  const included = [
    ...new Set([
      ...(Array.isArray(include) ? (include as unknown[]) : []),
      ...(to.wantsThoughts ? [encrypted] : []),
    ]),
  ]
  const shown: ShownImages = to.images ? (images ?? new Map()) : null
  const sentMessages = withResultImages(messages)
  const marked = new Set(
    to.marks === true && isMarked({ cache, tools })
      ? markedPlaces(sentMessages, ({ role }) => role !== 'tool')
      : [],
  )
  const sharedChars = cache?.sharedChars ?? 0
  const body = {
    // `extra_body` may override this field.
    ...(to.cacheKey === true && cache !== undefined ? { prompt_cache_key: cache.key } : {}),
    ...extra,
    ...(output === undefined || to.formLevel === 'none'
      ? {}
      : { text: { ...objectIn(extra['text']), format: formatOf(output, to.formLevel) } }),
    model: to.model,
    ...(to.streams ? { stream: true } : {}),
    ...(to.saysStore ? { store: to.stores } : {}),
    ...(included.length === 0 ? {} : { include: included }),
    ...(tools.length === 0 ? {} : { tools: wireTools(tools) }),
    ...(mustCall === true ? { tool_choice: 'required' } : {}),
    input: sentMessages.flatMap((message, index) =>
      itemsOf(message, index, {
        ...to,
        shown,
        marks: marked.has(index),
        sharedChars: index === 0 ? sharedChars : 0,
      }),
    ),
  }
  const text = JSON.stringify(body)
  const masked = hasSecret(text) ? JSON.stringify(maskedData(body)) : text
  return images === undefined ? masked : withContents(masked, shown, mediaTypesOf(messages))
}

function wireSettings({
  temperature,
  top_p,
  output_tokens_max: most,
  reasoning_effort: effort,
  extra_body: extra,
}: ModelSettings): Record<string, unknown> {
  const reasoning = effort === undefined ? {} : { reasoning: { ...objectIn(extra?.['reasoning']), effort } }
  return { ...extra, temperature, top_p, max_output_tokens: most, ...reasoning }
}

const objectIn = (value: unknown): object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}

/** The form of response-format.ts as Responses has it: the schema has no member of its own. */
const formatOf = ({ name, schema }: OutputForm, level: FormLevel): object =>
  level === 'json_schema' ? { type: level, name, schema, strict: fitsStrictMode(schema) } : { type: level }

/** Without `strict: false`, OpenAI makes fields required where it can. */
const wireTools = (tools: readonly ToolSchema[]): JsonObject[] =>
  tools.map(({ name, description, parameters }) => ({
    ...{ type: 'function', name: toolNameAtProvider(name), description },
    parameters: parameters as JsonObject,
    strict: false,
  }))

type Item = Readonly<Record<string, unknown>>

interface Writing extends ResponsesRecipient {
  readonly shown: ShownImages
  readonly marks: boolean
  readonly sharedChars: number
}

function itemsOf(message: ChatMessage, index: number, { shown, marks, sharedChars, ...to }: Writing): Item[] {
  switch (message.role) {
    case 'assistant':
      return answerItems(message, index, to)
    case 'tool':
      return [
        { type: 'function_call_output', call_id: wireCallId(message.tool_call_id), output: message.content },
      ]
    case 'user':
      return [
        {
          type: 'message',
          role: 'user',
          content: withBreakpoint(inputParts(message.content, message.images ?? [], shown), marks),
        },
      ]
    default:
      return [
        {
          type: 'message',
          role: message.role,
          content: systemParts(message.content, marks ? sharedChars : null),
        },
      ]
  }
}

const breakpoint = { prompt_cache_breakpoint: { mode: 'explicit' } } as const

/** Marks the first part, which is the text. The next mark covers the images after it. */
const withBreakpoint = (parts: readonly Item[], marks: boolean): readonly Item[] =>
  marks ? parts.map((part, i) => (i === 0 ? { ...part, ...breakpoint } : part)) : parts

/** @param sharedChars `null`: without marks */
const systemParts = (text: string, sharedChars: number | null): readonly Item[] =>
  textParts(text, sharedChars ?? 0).flatMap((part) =>
    withBreakpoint(inputParts(part, [], null), sharedChars !== null),
  )

type AnswerMessage = Extract<ChatMessage, { role: 'assistant' }>

function answerItems(message: AnswerMessage, index: number, { stateOf, stores }: ResponsesRecipient): Item[] {
  const { content, tool_calls: calls = [], provider_state: state } = message
  const own = state !== undefined && state.provider === stateOf ? stateItemsIn(state.fields) : []
  const left = new Map(calls.map((call) => [call.id, call]))
  const items: Item[] = []
  let isTextPlaced = content === null || content === ''
  let thoughts: Item[] = []
  const say = (fields: JsonObject = {}): void => {
    if (isTextPlaced) return
    isTextPlaced = true
    items.push(...thoughts, answerText(content ?? '', fields, { index, stores }))
    thoughts = []
  }
  for (const item of own) {
    if (item['type'] === 'reasoning') thoughts.push(...thoughtItems(item, stores))
    else if (item['type'] === 'message') say(item)
    else {
      const call = typeof item['call_id'] === 'string' ? left.get(item['call_id']) : undefined
      if (call !== undefined) {
        left.delete(call.id)
        items.push(...thoughts, callItem(call, stores ? item['id'] : undefined))
      }
      thoughts = []
    }
  }
  const rest = [...left.values()].map((call) => callItem(call))
  if (own.length > 0) say()
  else if (!isTextPlaced) items.push(answerText(content ?? '', {}, { index, stores }))
  return [...items, ...rest]
}

function answerText(
  text: string,
  { id, phase }: JsonObject,
  { index, stores }: { index: number; stores: boolean },
): Item {
  // A server that keeps messages would look for an id that it does not know.
  const known = typeof id === 'string' && id !== '' ? id : stores ? undefined : `msg_${index}`
  return {
    ...{ type: 'message', role: 'assistant' },
    ...(known === undefined ? {} : { id: known }),
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
    ...(typeof phase === 'string' ? { phase } : {}),
  }
}

function callItem(
  { id, name, arguments: args }: { id: string; name: string; arguments: string },
  itemId?: unknown,
): Item {
  return {
    type: 'function_call',
    ...(typeof itemId === 'string' ? { id: itemId } : {}),
    ...{ call_id: wireCallId(id), name: toolNameAtProvider(name), arguments: objectText(args) },
  }
}

/** A thought goes back by its id, encrypted, or in plain text, which OpenAI takes only without the others. */
function thoughtItems(
  { id, summary, content, encrypted_content: secret }: JsonObject,
  stores: boolean,
): Item[] {
  if (stores) return typeof id === 'string' ? [{ type: 'item_reference', id }] : []
  const shared = {
    type: 'reasoning',
    ...(typeof id === 'string' ? { id } : {}),
    summary: Array.isArray(summary) ? summary : [],
  }
  if (typeof secret === 'string' && secret !== '') return [{ ...shared, encrypted_content: secret }]
  if (Array.isArray(content) && content.length > 0) return [{ ...shared, content }]
  return shared.summary.length > 0 ? [shared] : []
}

const callIdCharsMax = 64

/** OpenAI refuses longer ids, and another model's call may have one. */
const wireCallId = (id: string): string =>
  id.length <= callIdCharsMax
    ? id
    : `call_${createHash('sha256')
        .update(id)
        .digest('hex')
        .slice(0, callIdCharsMax - 'call_'.length)}`
