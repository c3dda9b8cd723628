// The input schema of a tool in the form that model providers take. It allows the same arguments.
// O1. An object has `properties` and a list has `items`, because OpenAI and Gemini refuse a whole request with a schema that leaves them out.

type Schema = Readonly<Record<string, unknown>>

const maps: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
const lists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const ones: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'not', 'contains'])

/** @param schema one without a defect (schema-defect.ts) */
export const offeredSchema = (schema: Schema): Record<string, unknown> => ({ ...('properties' in schema ? {} : { properties: {} }), ...completed(schema) })

function completed(schema: Schema): Record<string, unknown> {
  const { type } = schema
  const isList = type === 'array' || (Array.isArray(type) && type.includes('array'))
  const kept = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, completedValue(key, value)]))
  return isList && !('items' in schema) && !('prefixItems' in schema) ? { ...kept, items: {} } : kept
}

function completedValue(key: string, value: unknown): unknown {
  if (maps.has(key) && isSchema(value)) return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, completedOne(each)]))
  if (lists.has(key) && Array.isArray(value)) return value.map(completedOne)
  return ones.has(key) ? completedOne(value) : value
}

const completedOne = (value: unknown): unknown => (isSchema(value) ? completed(value) : value)
const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value)
