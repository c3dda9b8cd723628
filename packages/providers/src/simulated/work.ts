// A worker's habit: call the tools the instruction names, in the order it names them, each once; then write up what they said.
import type { ToolSchema } from '@beaver/agent'
import { parseJson } from './conversation.ts'
import { callTools, type Conversation, type Habit, say, type WorkOrder } from './habit.ts'
import { type Known, readKnown } from './known.ts'
import { tellingFiles } from './telling-files.ts'
import { writeUp } from './write-up.ts'

export const work: Habit = (conversation) => {
  const { order } = conversation
  if (order === null) return null
  const known = readKnown(order, conversation.calls)
  for (const { name, after } of namedTools(order)) {
    const tool = conversation.tools.find((offered) => offered.name === name)
    if (tool === undefined || conversation.calls.some((call) => call.name === name)) continue
    const calls = argumentsFor(tool, exampleArguments(after), { order, known, conversation }).map((args) => ({ name, args }))
    if (calls.length > 0) return callTools(conversation, calls)
  }
  return say(writeUp(order, conversation.calls, known))
}

/** The tools an instruction names in backticks, then those its evidence asks for; with the text that follows the name. */
function namedTools(order: WorkOrder): { name: string; after: string }[] {
  const found = new Map<string, string>()
  for (const match of order.instruction.matchAll(/`([\w-]{1,64})`/g)) {
    const name = match[1] ?? ''
    if (!found.has(name)) found.set(name, order.instruction.slice(match.index + match[0].length))
  }
  for (const [, name = ''] of order.evidence.matchAll(/^- The tool ([\w-]{1,64}) must be called/gm)) if (!found.has(name)) found.set(name, '')
  return [...found].map(([name, after]) => ({ name, after }))
}

/** The JSON object right after a tool's name: `list_files` with {"path": "."} */
export function exampleArguments(after: string): Record<string, unknown> | null {
  const start = /^[\s:,(]*(?:with|using|and)?[\s:(]*`?(?=\{)/.exec(after)
  if (start === null) return null
  for (let end = after.indexOf('}', start[0].length); end !== -1 && end < 4000; end = after.indexOf('}', end + 1)) {
    const value = parseJson(after.slice(start[0].length, end + 1))
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  }
  return null
}

interface Situation {
  readonly order: WorkOrder
  readonly known: Known
  readonly conversation: Conversation
}

/** The arguments of each call to make; none when there is nothing to call the tool for. */
function argumentsFor(tool: ToolSchema, example: Record<string, unknown> | null, { order, known }: Situation): Record<string, unknown>[] {
  const folder = known.stats?.path ?? known.folder?.path
  switch (tool.name) {
    case 'read_file':
      return example === null ? tellingFiles(known.list).map((path) => ({ path, bytes_max: 16_384 })) : [example]
    case 'file_stats':
      return [example ?? (folder === undefined ? {} : { path: folder })]
    case 'recount_files':
      return [{ ...(folder === undefined ? {} : { path: folder }), ...(known.stats === null ? {} : { expected: known.stats.totals }), ...example }]
    default:
      return [example ?? requiredArguments(tool, order)]
  }
}

/** A value for each argument a tool cannot do without, as well as its schema tells. */
function requiredArguments(tool: ToolSchema, order: WorkOrder): Record<string, unknown> {
  const { required, properties } = tool.parameters as {
    required?: unknown
    properties?: Record<string, { type?: unknown; enum?: unknown[]; minimum?: number }>
  }
  const args: Record<string, unknown> = {}
  for (const name of Array.isArray(required) ? required.map(String) : []) {
    const property = properties?.[name]
    if (property?.enum?.[0] !== undefined) args[name] = property.enum[0]
    else if (property?.type === 'string' || property?.type === undefined) args[name] = name === 'path' ? '.' : order.task || order.instruction
    else if (property.type === 'integer' || property.type === 'number') args[name] = property.minimum ?? 1
    else args[name] = property.type === 'array' ? [] : property.type === 'boolean' ? false : {}
  }
  return args
}
