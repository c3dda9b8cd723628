// Converts a value to text, and a text to a value.
import { canonicalJson, type JsonValue } from '@beaver/core'
import { withoutFence } from '@beaver/core/evidence'
import { parsedJson } from '../arguments/json-text.ts'

/** In a text: a text is unchanged, null is empty, and any other value is its JSON. */
export const textOf = (value: JsonValue): string => (value === null ? '' : valueText(value))

/** As an output: a text is unchanged, and any other value is its JSON. */
export const valueText = (value: JsonValue): string =>
  typeof value === 'string' ? value : canonicalJson(value)

/**
 * The value of a text that is JSON or one fenced block of JSON, as models write it. `undefined` for any other
 * text.
 */
export const jsonOf = (text: string): JsonValue | undefined =>
  parsedJson(withoutFence(text)) as JsonValue | undefined

const depthMax = 100

/** A value from code or from a file may be anything, but only JSON can be journaled. */
export function isJson(value: unknown, depth = 0): value is JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth > depthMax) return false
  if (Array.isArray(value)) return value.every((each) => isJson(each, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  return (
    (prototype === Object.prototype || prototype === null) &&
    Object.values(value).every((each) => isJson(each, depth + 1))
  )
}
