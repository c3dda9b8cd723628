// Finds what is plainly wrong in the input schema of a tool. A model provider refuses a whole request because of one such schema.
// D1. Only what no draft of JSON Schema allows is a defect. What one provider does not take, only that provider tells.
const typeNames: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const maps = ['properties', 'patternProperties', '$defs', 'definitions']
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const ones = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else']

/**
 * A clause for a person, or `null`. The schema is not nested too deep for a recursion.
 *
 * @example schemaDefect({ type: 'object', properties: { a: { type: 'text' } } }) // 'its inputSchema has the unknown type "text" at properties.a'
 */
export function schemaDefect(inputSchema: unknown): string | null {
  const defect = defectAt(inputSchema, [])
  return defect === null ? null : `its inputSchema ${defect}`
}

function defectAt(schema: unknown, path: readonly string[]): string | null {
  if (typeof schema === 'boolean') return null
  if (!isRecord(schema)) return `has something that is no schema${at(path)}`
  const { type, required, enum: values } = schema
  const types: readonly unknown[] = Array.isArray(type) ? type : type === undefined ? [] : [type]
  const unknown = types.find((each) => !typeNames.has(each))
  if (unknown !== undefined) return `has the unknown type ${JSON.stringify(unknown)}${at(path)}`
  if (required !== undefined && typeof required !== 'boolean' && !(Array.isArray(required) && required.every((each) => typeof each === 'string')))
    return `has a "required" that is no list of names${at(path)}`
  if (values !== undefined && !Array.isArray(values)) return `has an "enum" that is no list${at(path)}`
  for (const [below, each] of schemasIn(schema)) {
    const defect = defectAt(each, [...path, ...below])
    if (defect !== null) return defect
  }
  return null
}

function* schemasIn(schema: Readonly<Record<string, unknown>>): Generator<[readonly string[], unknown]> {
  for (const key of maps) {
    const map = schema[key]
    if (map === undefined) continue
    if (!isRecord(map)) yield [[key], map]
    else for (const [name, each] of Object.entries(map)) yield [[key, name], each]
  }
  for (const key of lists) {
    const list = schema[key]
    if (list !== undefined) yield* Array.isArray(list) ? list.map((each, i): [string[], unknown] => [[key, String(i)], each]) : [[[key], null] as const]
  }
  for (const key of ones) {
    const one = schema[key]
    // Before the draft of 2020, `items` may be a list.
    if (one !== undefined)
      yield* Array.isArray(one) && key === 'items' ? one.map((each, i): [string[], unknown] => [[key, String(i)], each]) : [[[key], one] as const]
  }
}

const at = (path: readonly string[]): string => (path.length === 0 ? '' : ` at ${path.join('.').slice(0, 200)}`)
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !Array.isArray(value)
