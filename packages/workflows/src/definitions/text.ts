// How a value stands in a text, and how a text is read as a value.
import { canonicalJson, type JsonValue, withoutFence } from '@beaver/core'
import { parsedJson } from '../arguments/json-text.ts'

/** Within a text: a text as it is, nothing for null, anything else as its JSON. */
export const textOf = (value: JsonValue): string => (value === null ? '' : valueText(value))

/** As an output: a text as it is, anything else as its JSON. */
export const valueText = (value: JsonValue): string => (typeof value === 'string' ? value : canonicalJson(value))

/** The value of a text that is JSON, or one fenced block of it, as models write it; `undefined` for any other text. */
export const jsonOf = (text: string): JsonValue | undefined => parsedJson(withoutFence(text)) as JsonValue | undefined

const depthMax = 100

/** What comes from code or from a file may be anything; what it becomes is journaled. */
export function isJson(value: unknown, depth = 0): value is JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth > depthMax) return false
  if (Array.isArray(value)) return value.every((each) => isJson(each, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && Object.values(value).every((each) => isJson(each, depth + 1))
}
