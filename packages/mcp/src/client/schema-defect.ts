// Finds what is plainly wrong in the input schema of a tool. A model provider refuses a whole request because
// of one such schema. Only what no draft of JSON Schema allows is a defect, and a reference that leads
// nowhere. What one provider does not take, only that provider tells.
import { schemaKeywords } from './offered-schema.ts'

const typeNames: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
])
const { maps, lists, ones } = schemaKeywords

/**
 * A clause for a person, or `null`. The schema is not nested too deep for a recursion.
 *
 * @example schemaDefect({ type: 'object', properties: { a: { type: 'text' } } }) // 'its inputSchema has the unknown type "text" at properties.a'
 */
export function schemaDefect(inputSchema: unknown): string | null {
  const defect = defectAt(inputSchema, []) ?? lostReference(inputSchema)
  return defect === null ? null : `its inputSchema ${defect}`
}

function defectAt(schema: unknown, path: readonly string[]): string | null {
  if (typeof schema === 'boolean') return null
  if (!isRecord(schema)) return `has something that is no schema${at(path)}`
  const { type, required, enum: values } = schema
  const types: readonly unknown[] = Array.isArray(type) ? type : type === undefined ? [] : [type]
  const unknown = types.find((each) => !typeNames.has(each))
  if (unknown !== undefined) return `has the unknown type ${JSON.stringify(unknown)}${at(path)}`
  if (
    required !== undefined &&
    typeof required !== 'boolean' &&
    !(Array.isArray(required) && required.every((each) => typeof each === 'string'))
  )
    return `has a "required" that is no list of names${at(path)}`
  if (values !== undefined && !Array.isArray(values)) return `has an "enum" that is no list${at(path)}`
  for (const [below, each] of schemasIn(schema)) {
    const defect = defectAt(each, [...path, ...below])
    if (defect !== null) return defect
  }
  return null
}

/** A `$ref` within the schema that names nothing, or one to somewhere else, which no provider fetches. */
function lostReference(root: unknown): string | null {
  const anchors = new Set<string>()
  const references: string[] = []
  const look = (schema: unknown): void => {
    if (!isRecord(schema)) return
    const { $ref: reference, $anchor: anchor, $id: id, id: oldId } = schema
    if (typeof anchor === 'string') anchors.add(`#${anchor}`)
    for (const each of [id, oldId]) if (typeof each === 'string') anchors.add(each)
    if (typeof reference === 'string') references.push(reference)
    for (const [, each] of schemasIn(schema)) look(each)
  }
  look(root)
  const lost = references.find((each) => !anchors.has(each) && !leadsSomewhere(root, each))
  return lost === undefined ? null : `has a $ref that leads nowhere: ${lost.slice(0, 200)}`
}

function leadsSomewhere(root: unknown, reference: string): boolean {
  if (reference === '#') return true
  if (!reference.startsWith('#/')) return false
  let at: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return false
    at = (at as Readonly<Record<string, unknown>>)[name]
  }
  return true
}

/** Generators write `Record<string>` as `Record%3Cstring%3E`. */
function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
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
    if (list !== undefined)
      yield* Array.isArray(list)
        ? list.map((each, i): [string[], unknown] => [[key, String(i)], each])
        : [[[key], null] as const]
  }
  for (const key of ones) {
    const one = schema[key]
    // Before the draft of 2020, `items` may be a list.
    if (one !== undefined)
      yield* Array.isArray(one) && key === 'items'
        ? one.map((each, i): [string[], unknown] => [[key, String(i)], each])
        : [[[key], one] as const]
  }
}

const at = (path: readonly string[]): string =>
  path.length === 0 ? '' : ` at ${path.join('.').slice(0, 200)}`
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
