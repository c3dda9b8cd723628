// What goes back to a Responses endpoint with an answer that called tools: its output items in their order. A
// thought is kept whole; of a message or a call only the ids and the phase, which the conversation lacks. An
// answer without thoughts has no state.
import type { ChatAnswer } from '@beaver/agent'
import type { JsonObject } from '@beaver/core'

/** The field of `provider_state` that has the items. */
export const stateField = 'response_output'

/** An output item. Call items have the order of the answer's calls. */
export type WireItem = Readonly<Record<string, unknown>>

/** @param items the reasoning, message and function_call items of an answer */
export function stateOfOutput(
  items: readonly WireItem[],
  { toolCalls }: Pick<ChatAnswer, 'toolCalls'>,
): JsonObject | null {
  if (
    toolCalls.length === 0 ||
    !items.some(({ type, phase }) => type === 'reasoning' || typeof phase === 'string')
  )
    return null
  let calls = 0
  const kept = items.map((item): JsonObject => {
    const { type, id, phase } = item
    switch (type) {
      case 'reasoning':
        return withoutEmpty(item)
      case 'function_call':
        return { type, ...textIn('id', id), call_id: toolCalls[calls++]?.id ?? '' }
      default:
        return { type: 'message', ...textIn('id', id), ...textIn('phase', phase) }
    }
  })
  return { [stateField]: kept }
}

/** The items of a state. Empty: it is the state of another protocol. */
export function stateItemsIn(fields: JsonObject): readonly JsonObject[] {
  const items = fields[stateField]
  return Array.isArray(items)
    ? items.filter(
        (item): item is JsonObject => typeof item === 'object' && item !== null && !Array.isArray(item),
      )
    : []
}

const textIn = (name: string, value: unknown): JsonObject =>
  typeof value === 'string' && value !== '' ? { [name]: value } : {}

/** A server takes back neither `null` nor the status of a thought. */
const withoutEmpty = (item: WireItem): JsonObject =>
  Object.fromEntries(
    Object.entries(item).filter(
      ([name, value]) => value !== null && value !== undefined && name !== 'status',
    ),
  ) as JsonObject
