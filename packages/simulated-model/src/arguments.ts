// Finds arguments for a tool without an example: what its schema requires, and choices of the schema that the
// task names. The values come from the messages and results so far.
import type { ToolSchema } from '@beaver/agent'
import { parseJson } from './conversation.ts'
import type { MadeCall, WorkOrder } from './habit.ts'

interface Property {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly minimum?: number
}

const callsMax = 5

/**
 * The arguments of each call. If the tool needs a URL or a file, there is one call for each known one, and no
 * call if none is known.
 */
export function argumentsFrom(
  tool: ToolSchema,
  order: WorkOrder,
  calls: readonly MadeCall[],
): Record<string, unknown>[] {
  const { required, properties } = tool.parameters as {
    required?: unknown
    properties?: Record<string, Property>
  }
  const args: Record<string, unknown> = {}
  let each: { readonly name: string; readonly values: readonly string[] } | null = null
  const needed = new Set(Array.isArray(required) ? required.map(String) : [])
  for (const name of new Set([...Object.keys(properties ?? {}), ...needed])) {
    const property = properties?.[name] ?? {}
    const named = property.enum?.find((value) => typeof value === 'string' && hasWord(order.task, value))
    if (named !== undefined) args[name] = named
    else if (!needed.has(name) || property.default !== undefined) continue
    else if (property.enum?.[0] !== undefined) args[name] = property.enum[0]
    else if (property.type === 'string' || property.type === undefined) {
      const places = placesFor(name, order, calls)
      if (places !== null) each = { name, values: places }
      args[name] = places?.[0] ?? (order.task || order.instruction)
    } else if (property.type === 'integer' || property.type === 'number') args[name] = property.minimum ?? 1
    else args[name] = property.type === 'array' ? [] : property.type === 'boolean' ? false : {}
  }
  return each === null
    ? [args]
    : each.values.slice(0, callsMax).map((value) => ({ ...args, [each.name]: value }))
}

const urls = /https?:\/\/[^\s<>"'`|)\]，。；、）]+[^\s<>"'`|)\]，。；、）.,;:!?]/g
const files = /(?<![\w./:-])(?:[\w-]{1,80}\/){0,20}[\p{L}\w-][\p{L}\w.-]{0,80}\.[a-z]{1,5}(?![\w/])/gu

/** The URLs or files that an argument of that name may mean. `null` for any other name. */
function placesFor(name: string, order: WorkOrder, calls: readonly MadeCall[]): readonly string[] | null {
  if (name === 'url')
    return firstFound([valuesOf('url', calls), ...textsOf(order).map((text) => text.match(urls) ?? [])])
  if (!/^(?:path|file|file_path|filename)$/.test(name)) return null
  const found = firstFound(textsOf(order).map((text) => text.replaceAll(urls, '').match(files) ?? []))
  return found.length === 0 ? ['.'] : found
}

const hasWord = (text: string, word: string): boolean =>
  ` ${text.replaceAll(/[^\p{L}\p{N}_-]+/gu, ' ')} `.includes(` ${word} `)

const textsOf = ({ dependencies, task, instruction }: WorkOrder): string[] => [
  instruction,
  dependencies.map(({ text }) => text).join('\n'),
  task,
]

const firstFound = (lists: readonly (readonly string[])[]): readonly string[] => [
  ...new Set(lists.find((list) => list.length > 0) ?? []),
]

/** The texts under a key anywhere in the tools' results. */
function valuesOf(key: string, calls: readonly MadeCall[]): string[] {
  const found: string[] = []
  const open: unknown[] = calls.map(({ result }) => (result === null ? null : parseJson(result))).toReversed()
  for (let next = open.pop(); open.length > 0 || next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const own = Object.entries(next)
    found.push(...own.flatMap(([name, value]) => (name === key && typeof value === 'string' ? [value] : [])))
    for (const [, value] of own.toReversed()) open.push(value)
  }
  return found
}
