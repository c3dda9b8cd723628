// How to write what a model wrote in a wrong form: the shapes models really produce, each with the right spelling.
import type { JsonObject } from '@beaver/core'
import { quote } from './wording.ts'

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value a text is the JSON of; `undefined` when it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** How to write `value`, where `expected` is wanted; `null` when no better advice is known than the field's description. */
export function spelling(expected: string, value: unknown, schema: JsonObject): string | null {
  if (typeof value === 'string') return ofText(expected, value, schema)
  if (expected === 'array' && isRecord(value)) {
    const [first] = Object.keys(value)
    return first === undefined || !wantsAgents(schema) ? null : `Write an array with one object per agent: [${agentText(first)}, …].`
  }
  return expected === 'string' && value !== null ? 'Write one text in quotes.' : null
}

function ofText(expected: string, text: string, schema: JsonObject): string | null {
  const parsed = parsedJson(text)
  if ((expected === 'array' && Array.isArray(parsed)) || (expected === 'object' && isRecord(parsed))) {
    return `It is JSON text inside a string: write the ${expected} itself, without quotes around it.`
  }
  if (expected === 'boolean' && typeof parsed === 'boolean') return `Write ${text.trim()} without quotes.`
  if (expected === 'object') return `Write an object: ${agentText(text)}.`
  if (expected !== 'array') return null
  if (wantsAgents(schema)) return 'Write an array with one object per agent: [{"name": "…", "instruction": "…"}].'
  const names = text.split(/[,，、]/u).map((name) => name.trim())
  return `Write an array: ${quote(wantsNames(schema) ? names.filter((name) => name !== '') : [text])}.`
}

const agentText = (name: string): string => `{"name": ${quote(name)}, "instruction": "…"}`

/** Of an array, or of one that may be null: what its items are. */
function itemsOf(schema: JsonObject): JsonObject {
  const array = [schema, ...((schema['anyOf'] ?? []) as JsonObject[])].find((each) => each['items'] !== undefined)
  return (array?.['items'] ?? {}) as JsonObject
}

const wantsAgents = (schema: JsonObject): boolean => itemsOf(schema)['type'] === 'object'
const wantsNames = (schema: JsonObject): boolean => itemsOf(schema)['type'] === 'string'
