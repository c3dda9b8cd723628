// Further tools: those beyond the `offeredMax` that are sent with each request, external ones first. The
// model finds them with `find_tools` and calls them through `use_tool`. The tools of a request stay the same
// in every turn, so that a provider can cache its beginning. Only the provider sees `use_tool`: in the
// journal and for every rule, the call is one of the tool itself.
import type { ChatMessage, JsonValue, ToolCall } from '@beaver/core'
import { teamOutputTool } from '@beaver/core/fold'
import { z } from 'zod'
import type { ToolSchema } from '../provider/chat-provider.ts'
import { teamSharedState } from './team-shared-state.ts'
import { defineTool, type Tool, ToolFailure } from './tool.ts'

/**
 * How many tools are sent with each request. With the two tools of this file and the workflows, no request
 * has 128, which some endpoints refuse.
 */
export const offeredMax = 40
const foundMax = 8
const namedMax = 5
const wordsMax = 20

export interface FurtherTools {
  /** Those that are sent, in the order of the inventory. */
  readonly offered: readonly ToolSchema[]
  /** The names of the others. */
  readonly further: ReadonlySet<string>
  /** `find_tools` and `use_tool`. Empty if everything is sent. */
  readonly helpers: readonly Tool[]
}

/**
 * @param isExternal whether the tool of this name lives in the daemon's process, as those of MCP servers do
 * @param describedBy whose text its description is, if it is a stranger's
 */
export function offerTools(
  schemas: readonly ToolSchema[],
  isExternal: (name: string) => boolean,
  describedBy: (name: string) => string | undefined = () => undefined,
): FurtherTools {
  if (schemas.length <= offeredMax) return { offered: schemas, further: new Set(), helpers: [] }
  const offered = schemas.filter(({ name }) => !isExternal(name)).slice(0, offeredMax)
  const left = schemas.filter((schema) => !offered.includes(schema))
  const helpers = [findTools(left, describedBy), useTool]
  return {
    offered: [...offered, ...helpers.map(briefTool)],
    further: new Set(left.map(({ name }) => name)),
    helpers,
  }
}

function findTools(further: readonly ToolSchema[], describedBy: (name: string) => string | undefined): Tool {
  const named = further.slice(0, namedMax).map(({ name }) => name)
  return defineTool({
    name: 'find_tools',
    description: `Finds further tools by words. There are ${further.length}, such as ${named.join(', ')}. Call what it finds with use_tool.`,
    input: z.strictObject({ query: z.string().max(1_000) }),
    pure: true,
    run({ query }, { reads }) {
      const found = bestFor(query, further)
      for (const { name } of found.length > 0 ? found : further) {
        const stranger = describedBy(name)
        if (stranger !== undefined) reads({ stranger })
      }
      return found.length > 0
        ? { tools: found }
        : { tools: [], names: further.slice(0, 100).map(({ name }) => name) }
    },
  })
}

/** A call of a further tool never gets here: it is a call of that tool. */
const useTool = defineTool({
  name: 'use_tool',
  description: 'Calls a tool that find_tools has found.',
  input: z.strictObject({ name: z.string(), arguments: z.record(z.string(), z.json()) }),
  pure: true,
  run({ name }) {
    throw new ToolFailure(
      'unknown_tool',
      `There is no further tool ${JSON.stringify(name)}. Find one with find_tools, or call a tool of yours directly.`,
    )
  },
})

/**
 * The names that no other tool may have, because Beaver adds tools with these names where they are needed.
 */
export const addedToolNames: ReadonlySet<string> = new Set([
  'find_tools',
  useTool.name,
  teamOutputTool,
  teamSharedState.name,
])

/** The tools that have the most of the words, in the name or in the description, best first. */
function bestFor(query: string, tools: readonly ToolSchema[]): ToolSchema[] {
  const words = [...new Set(query.toLowerCase().split(/[^\p{L}\p{N}]+/u))]
    .filter((word) => word !== '')
    .slice(0, wordsMax)
  const scored = tools.map((tool) => {
    const [name, description] = [tool.name.toLowerCase(), tool.description.toLowerCase()]
    return {
      tool,
      score: words.reduce(
        (sum, word) => sum + (name.includes(word) ? 3 : description.includes(word) ? 1 : 0),
        0,
      ),
    }
  })
  return scored
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, foundMax)
    .map(({ tool }) => tool)
}

/** The messages as the provider sees them: a call of a further tool is a call of `use_tool`. */
export function throughUseTool(
  messages: readonly ChatMessage[],
  further: ReadonlySet<string>,
): readonly ChatMessage[] {
  if (further.size === 0) return messages
  const through = (call: ToolCall): ToolCall =>
    further.has(call.name)
      ? {
          ...call,
          name: useTool.name,
          arguments: JSON.stringify({ name: call.name, arguments: parsed(call.arguments) }),
        }
      : call
  const known = rewritten.get(further) ?? new WeakMap<ChatMessage, ChatMessage>()
  rewritten.set(further, known)
  return messages.map((message) => {
    if (message.role !== 'assistant' || message.tool_calls?.some(({ name }) => further.has(name)) !== true)
      return message
    const shown = known.get(message) ?? { ...message, tool_calls: message.tool_calls.map(through) }
    known.set(message, shown)
    return shown
  })
}

/** Each turn asks again with the same messages, and what is known of a message is kept by its object. */
const rewritten = new WeakMap<ReadonlySet<string>, WeakMap<ChatMessage, ChatMessage>>()

/**
 * The call as it is meant: of the further tool that it names. A call that names none stays, and is refused
 * when it runs.
 */
export function meantCall(call: ToolCall, further: ReadonlySet<string>): ToolCall {
  if (call.name !== useTool.name || further.size === 0) return call
  const meant = parsed(call.arguments)
  if (typeof meant !== 'object' || meant === null || Array.isArray(meant)) return call
  const { name, arguments: args = {} } = meant as Readonly<Record<string, JsonValue>>
  if (typeof name !== 'string' || !further.has(name)) return call
  return { ...call, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) }
}

/** The JSON value, or the text itself if it is none. */
function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text
  }
}

// The brief form of a tool's schema, which a model gets with every request. It allows everything that the
// whole schema allows; the tool checks the rest (bounds, unknown fields) when it is called. Titles, defaults
// and fields with `brief: null`, which few calls need, are left out. The same schema gives the same text, so
// that requests begin with the same bytes.

type Schema = Readonly<Record<string, unknown>>

const leftOut: ReadonlySet<string> = new Set([
  ...['default', '$schema', '$id', '$comment', 'title', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength'],
])
const mapsOfSchemas: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
])
const listsOfSchemas: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const schemas: ReadonlySet<string> = new Set([
  'items',
  'additionalProperties',
  'not',
  'contains',
  'propertyNames',
  'if',
  'then',
  'else',
])

/** The tool as it is sent to a model. */
export function briefTool({ name, description, parameters }: ToolSchema): ToolSchema {
  return { name, description, parameters: brief(parameters) }
}

function brief(schema: Schema): Record<string, unknown> {
  const kept = Object.entries(schema).filter(
    ([key, value]) => !leftOut.has(key) && !(key === 'additionalProperties' && value === false),
  )
  return Object.fromEntries(kept.map(([key, value]) => [key, briefValue(key, value)]))
}

function briefValue(key: string, value: unknown): unknown {
  if (mapsOfSchemas.has(key) && isSchema(value))
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, each]) =>
        isSchema(each) && each['brief'] === null ? [] : [[name, briefOf(each)] as const],
      ),
    )
  if (listsOfSchemas.has(key) && Array.isArray(value)) return value.map(briefOf)
  return schemas.has(key) ? briefOf(value) : value
}

const briefOf = (value: unknown): unknown => (isSchema(value) ? brief(value) : value)

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
