// Finds plain contradictions between two JSON Schemas, in types, literals and the fields of objects. It does
// not look behind $ref, anyOf, oneOf and allOf, so "no clash" is no proof.
import { canonicalJson } from '../canonical-json.ts'
import type { JsonValue } from '../json.ts'

/**
 * A place where two schemas contradict each other. `path`: a JSON Pointer into the value; empty for the whole
 * value.
 */
export interface SchemaClash {
  readonly path: string
  readonly message: string
}

/**
 * The first place at which no value can fit both schemas; `null` if there is no plain contradiction.
 *
 * @example
 * const own = { type: 'object', properties: { total: { type: 'string' } }, required: ['total'] }
 * schemaClash(own, { type: 'object', properties: { total: { type: 'number' } } }) // => { path: '/total', message: 'one wants string, the other number' }
 * schemaClash(own, { type: 'object' }) // => null
 */
export function schemaClash(one: unknown, other: unknown): SchemaClash | null {
  return clashAt(one, other, '')
}

function clashAt(one: unknown, other: unknown, path: string): SchemaClash | null {
  if (one === false || other === false) return { path, message: 'one allows nothing here' }
  if (!isSchema(one) || !isSchema(other)) return null
  const literals = [literalsOf(one), literalsOf(other)] as const
  if (literals[0] !== null && literals[1] !== null && isDisjoint(literals[0], literals[1]))
    return { path, message: `one wants ${shown(literals[0])}, the other ${shown(literals[1])}` }
  const types = [typesOf(one), typesOf(other)] as const
  if (types[0].length > 0 && types[1].length > 0 && !types[0].some((type) => types[1].includes(type)))
    return { path, message: `one wants ${types[0].join(' or ')}, the other ${types[1].join(' or ')}` }
  return types.every((each) => each.length === 1 && each[0] === 'object')
    ? fieldsClash(one, other, path)
    : null
}

/** A field that one requires and the other forbids, or in which the two contradict each other. */
function fieldsClash(one: Schema, other: Schema, path: string): SchemaClash | null {
  for (const name of new Set([...requiredOf(one), ...requiredOf(other)])) {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const [first, second] = [fieldOf(one, name), fieldOf(other, name)]
    if (first === forbidden || second === forbidden)
      return { path: at, message: 'one requires it, the other does not allow it' }
    const clash = clashAt(first, second, at)
    if (clash !== null) return clash
  }
  return null
}

const isDisjoint = (one: readonly unknown[], other: readonly unknown[]): boolean => {
  const known = new Set(other.map((value) => canonicalJson(value as JsonValue)))
  return !one.some((value) => known.has(canonicalJson(value as JsonValue)))
}

const forbidden = Symbol()

function fieldOf({ properties, additionalProperties = true }: Schema, name: string): unknown {
  if (isSchema(properties) && Object.hasOwn(properties, name)) return properties[name]
  return additionalProperties === false ? forbidden : additionalProperties
}

const requiredOf = ({ required }: Schema): readonly string[] =>
  Array.isArray(required) ? required.map(String) : []

type Schema = Readonly<Record<string, unknown>>

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `null`: any value of its type. */
function literalsOf(schema: Schema): readonly unknown[] | null {
  if (schema['const'] !== undefined) return [schema['const']]
  return Array.isArray(schema['enum']) ? schema['enum'] : null
}

const typesOf = ({ type = [] }: Schema): readonly string[] =>
  [type].flat().map((each) => (each === 'integer' ? 'number' : String(each)))

const shown = (values: readonly unknown[]): string =>
  values
    .slice(0, 5)
    .map((value) => canonicalJson(value))
    .join(' or ')
