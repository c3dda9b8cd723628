// The data types of CT-10 and D-15: the schema of each in a tool, the values that it accepts, and how it
// reads a text.
import type { JsonObject, JsonValue } from '@beaver/core'
import { jsonOf, valueText } from './text.ts'

interface DataType {
  /** The schema in a tool. */
  readonly schema: JsonObject
  /** For a message: "a text", "a whole number". */
  readonly called: string
  readonly takes: (value: JsonValue) => boolean
}

const isObject = (value: JsonValue): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const anything: DataType = { schema: {}, called: 'a value', takes: () => true }

export const dataTypes: ReadonlyMap<string, DataType> = new Map<string, DataType>([
  ['STRING', { schema: { type: 'string' }, called: 'a text', takes: (value) => typeof value === 'string' }],
  [
    'INTEGER',
    { schema: { type: 'integer' }, called: 'a whole number', takes: (value) => Number.isSafeInteger(value) },
  ],
  ['FLOAT', { schema: { type: 'number' }, called: 'a number', takes: (value) => Number.isFinite(value) }],
  [
    'BOOLEAN',
    { schema: { type: 'boolean' }, called: 'true or false', takes: (value) => typeof value === 'boolean' },
  ],
  ['OBJECT', { schema: { type: 'object' }, called: 'an object', takes: isObject }],
  ['ARRAY', { schema: { type: 'array' }, called: 'an array', takes: Array.isArray }],
  ['WILDCARD', anything],
  ['CONVERTIBLE_ANY', anything],
  [
    'BINARY',
    {
      schema: { type: 'string', contentEncoding: 'base64' },
      called: 'base64 text',
      takes: (value) => typeof value === 'string' && isBase64(value),
    },
  ],
])

const isBase64 = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)

/** The declared type of a value. */
export interface Declared {
  readonly dataFlowType: string
  /** Whether the value is a list of the type. */
  readonly multi?: boolean | undefined
  /** Whether its text is collected (D-16). */
  readonly isStream?: boolean | undefined
}

const typeOf = ({ dataFlowType }: Declared): DataType => dataTypes.get(dataFlowType) ?? anything

export function takes(declared: Declared, value: JsonValue): boolean {
  const { takes: one } = typeOf(declared)
  return declared.multi === true
    ? Array.isArray(value) && (value as readonly JsonValue[]).every(one)
    : one(value)
}

export const called = (declared: Declared): string =>
  declared.multi === true ? `an array, each of it ${typeOf(declared).called}` : typeOf(declared).called

export const isText = ({ dataFlowType, multi }: Declared): boolean =>
  multi !== true && (dataFlowType === 'STRING' || dataFlowType === 'BINARY')

/** The schema of a value. If only `values` are allowed, the schema lists them. */
export function schemaOf(declared: Declared, values: readonly JsonValue[]): JsonObject {
  const one = { ...typeOf(declared).schema, ...(values.length === 0 ? {} : { enum: [...values] }) }
  return declared.multi === true ? { type: 'array', items: one } : one
}

/**
 * Converts a computed value to its declared type: to a text if a text is declared, otherwise to the value of
 * a JSON text.
 */
export function asDeclared(
  declared: Declared,
  value: JsonValue,
): { readonly value: JsonValue } | { readonly fault: string } {
  if (declared.isStream === true) return { value: value === null ? '' : valueText(value) }
  if (value === null || takes(declared, value)) return { value }
  if (isText(declared) && declared.dataFlowType === 'STRING') return { value: valueText(value) }
  const read = typeof value === 'string' ? jsonOf(value) : undefined
  return read !== undefined && takes(declared, read)
    ? { value: read }
    : { fault: `must be ${called(declared)}` }
}
