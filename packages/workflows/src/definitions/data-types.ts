// The data types of S1 §2.3 and D-15: what each is in a tool's schema, which values it takes, how a text becomes one.
import type { JsonObject, JsonValue } from '@beaver/core'
import { jsonOf, valueText } from './text.ts'

interface DataType {
  /** As a tool's schema says it. */
  readonly schema: JsonObject
  /** For a message: "a text", "a whole number". */
  readonly called: string
  readonly takes: (value: JsonValue) => boolean
}

const isObject = (value: JsonValue): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
const anything: DataType = { schema: {}, called: 'a value', takes: () => true }

export const dataTypes: ReadonlyMap<string, DataType> = new Map<string, DataType>([
  ['STRING', { schema: { type: 'string' }, called: 'a text', takes: (value) => typeof value === 'string' }],
  ['INTEGER', { schema: { type: 'integer' }, called: 'a whole number', takes: (value) => Number.isSafeInteger(value) }],
  ['FLOAT', { schema: { type: 'number' }, called: 'a number', takes: (value) => Number.isFinite(value) }],
  ['BOOLEAN', { schema: { type: 'boolean' }, called: 'true or false', takes: (value) => typeof value === 'boolean' }],
  ['OBJECT', { schema: { type: 'object' }, called: 'an object', takes: isObject }],
  ['ARRAY', { schema: { type: 'array' }, called: 'an array', takes: Array.isArray }],
  ['WILDCARD', anything],
  ['CONVERTIBLE_ANY', anything],
  ['BINARY', { schema: { type: 'string', contentEncoding: 'base64' }, called: 'base64 text', takes: (value) => typeof value === 'string' && isBase64(value) }],
])

const isBase64 = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)

/** What a value is declared as. */
export interface Declared {
  readonly dataFlowType: string
  /** A list of values of the type. */
  readonly multi?: boolean | undefined
  /** Its text is collected (D-16). */
  readonly isStream?: boolean | undefined
}

const typeOf = ({ dataFlowType }: Declared): DataType => dataTypes.get(dataFlowType) ?? anything

export function takes(declared: Declared, value: JsonValue): boolean {
  const { takes: one } = typeOf(declared)
  return declared.multi === true ? Array.isArray(value) && (value as readonly JsonValue[]).every(one) : one(value)
}

export const called = (declared: Declared): string => (declared.multi === true ? `an array, each of it ${typeOf(declared).called}` : typeOf(declared).called)

export const isText = ({ dataFlowType, multi }: Declared): boolean => multi !== true && (dataFlowType === 'STRING' || dataFlowType === 'BINARY')

/** The schema of a value, around `values` when only those are allowed. */
export function schemaOf(declared: Declared, values: readonly JsonValue[]): JsonObject {
  const one = { ...typeOf(declared).schema, ...(values.length === 0 ? {} : { enum: [...values] }) }
  return declared.multi === true ? { type: 'array', items: one } : one
}

/** A computed value as what it is declared as: a text where one is wanted, the value of a text that is JSON elsewhere. */
export function asDeclared(declared: Declared, value: JsonValue): { readonly value: JsonValue } | { readonly fault: string } {
  if (declared.isStream === true) return { value: value === null ? '' : valueText(value) }
  if (value === null || takes(declared, value)) return { value }
  if (isText(declared) && declared.dataFlowType === 'STRING') return { value: valueText(value) }
  const read = typeof value === 'string' ? jsonOf(value) : undefined
  return read !== undefined && takes(declared, read) ? { value: read } : { fault: `must be ${called(declared)}` }
}
