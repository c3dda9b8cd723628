// Decides whether an output is JSON of a given shape (JSON Schema, the part that zod supports).
// J1. The output must be JSON, or one fenced block with JSON, and nothing else. A schema with anything that
// this check cannot check is a fault. So a verdict never claims more than was checked.
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { canonicalJson } from '../canonical-json.ts'
import { valueFaults } from './check-schema.ts'
import { withoutFence } from './output-text.ts'
import { compilePattern } from './pattern.ts'
import type { RequirementFault } from './requirement.ts'

/**
 * What does not match, in words; `null` if the output matches.
 *
 * @param output JSON text, or one fenced block of it
 * @example
 * schemaMismatch({ type: 'object', required: ['total'] }, '{"total": 3}') // => null
 */
export function schemaMismatch(schema: Schema, output: string): string | null {
  let value: unknown
  try {
    value = JSON.parse(withoutFence(output))
  } catch (error) {
    return `is not JSON (${messageOf(error)})`
  }
  try {
    const faults = valueFaults(schema, value)
    if (faults.length === 0) return null
    const shown = faults
      .slice(0, issuesShownMax)
      .map(({ path, message }) =>
        path === '' ? message : `${path.slice(1).replaceAll('/', '.')}: ${message}`,
      )
    const more = faults.length - shown.length
    return `does not fit its JSON Schema: ${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`
  } catch (error) {
    return `cannot be checked against its JSON Schema (${messageOf(error)})`
  }
}

/**
 * Why a schema cannot be checked, with the place in the schema; `null` if it can be checked.
 *
 * @example
 * schemaFault({ type: 'object' }) // => null
 */
export function schemaFault(schema: Schema): RequirementFault | null {
  if (isDeeper(schema, schemaDepthMax))
    return { path: [], message: `is nested deeper than ${schemaDepthMax} levels` }
  const chars = canonicalJson(schema).length
  if (chars > schemaCharsMax)
    return { path: [], message: `has ${chars} characters; at most ${schemaCharsMax} are checked` }
  const fault = faultAt(schema, [])
  if (fault !== null) return fault
  try {
    compiled(schema)
    return null
  } catch (error) {
    return { path: [], message: `cannot be checked: ${messageOf(error)}` }
  }
}

const issuesShownMax = 3
const schemaCharsMax = 20_000
const schemaDepthMax = 64
const patternCharsMax = 500

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1)))

function compiled(schema: Schema): z.ZodType {
  return z.fromJSONSchema(stripped(schema) as Parameters<typeof z.fromJSONSchema>[0], {
    registry: z.registry(),
  })
}

/** The schema without what does not matter for whether its references lead somewhere. */
function stripped(schema: unknown): unknown {
  if (!isSchema(schema)) return schema
  const { default: _, pattern: __, ...rest } = schema
  return Object.fromEntries(
    Object.entries(rest).map(([key, value]) => {
      if (namedSchemas.has(key) && isSchema(value))
        return [key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, stripped(each)]))]
      if (schemaLists.has(key) && Array.isArray(value)) return [key, value.map(stripped)]
      return [key, schemas.has(key) ? stripped(value) : value]
    }),
  )
}

const annotations = [
  '$schema',
  '$comment',
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
]
const anywhere = new Set([
  ...annotations,
  '$ref',
  '$defs',
  'definitions',
  'type',
  'enum',
  'const',
  'anyOf',
  'oneOf',
  'allOf',
])
const ofType: Readonly<Record<string, readonly string[]>> = {
  object: [
    'properties',
    'required',
    'additionalProperties',
    'propertyNames',
    'minProperties',
    'maxProperties',
  ],
  array: [
    'items',
    'prefixItems',
    'minItems',
    'maxItems',
    'uniqueItems',
    'contains',
    'minContains',
    'maxContains',
  ],
  string: ['minLength', 'maxLength', 'format', 'pattern'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
}
/** The words of JSON Schema that are checked, or that say nothing about the output. */
export const checkedKeywords: ReadonlySet<string> = new Set([...anywhere, ...Object.values(ofType).flat()])
const besideRef = new Set([...annotations, '$defs', 'definitions'])
/** The values of `format` that are checked. */
export const checkedFormats: ReadonlySet<string> = new Set([
  'email',
  'uri',
  'uuid',
  'date-time',
  'date',
  'time',
  'duration',
  'hostname',
  'ipv4',
  'ipv6',
])
const namedSchemas = new Set(['properties', '$defs', 'definitions'])
const schemaLists = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const schemas = new Set(['items', 'additionalProperties', 'propertyNames', 'contains'])

function faultAt(schema: unknown, path: readonly string[]): RequirementFault | null {
  if (typeof schema === 'boolean') return null
  if (!isSchema(schema)) return { path, message: 'is not a JSON Schema. Write an object, true or false' }
  for (const [key, value] of Object.entries(schema)) {
    const at = [...path, key]
    const fault = keywordFault(key, value, schema)
    if (fault !== null) return { path: at, message: fault }
    const inner = namedSchemas.has(key)
      ? firstFault(Object.entries(isSchema(value) ? value : {}), at)
      : schemaLists.has(key)
        ? firstFault(Object.entries(Array.isArray(value) ? value : {}), at)
        : schemas.has(key)
          ? faultAt(value, at)
          : null
    if (inner !== null) return inner
  }
  return null
}

/** Why a keyword cannot be checked: zod would ignore it silently, or its time has no bound. */
function keywordFault(key: string, value: unknown, schema: Schema): string | null {
  const types = typesOf(schema)
  const literal = schema['enum'] !== undefined || schema['const'] !== undefined
  const home = Object.keys(ofType).find((type) => ofType[type]?.includes(key))
  if (home === undefined && !anywhere.has(key)) return 'cannot be checked. Leave it out'
  if (schema['$ref'] !== undefined && key !== '$ref' && !besideRef.has(key))
    return 'is not checked beside $ref'
  if (home !== undefined && literal) return 'is not checked beside enum or const'
  if (home !== undefined && !types.includes(home)) return `is only checked beside "type": "${home}"`
  switch (key) {
    case 'type': {
      const odd = types.find((type) => !Object.hasOwn(ofType, type))
      return odd === undefined ? null : `names ${JSON.stringify(odd)}, which is not a type of JSON Schema`
    }
    case 'minLength':
    case 'minItems':
    case 'minProperties':
    case 'minContains':
    case 'minimum':
    case 'exclusiveMinimum': {
      const other = key.replace(/^min/, 'max').replace('Minimum', 'Maximum')
      const max = schema[other]
      return typeof value === 'number' &&
        typeof max === 'number' &&
        (value > max || (value === max && key === 'exclusiveMinimum'))
        ? `is ${value}, but ${other} is ${max}, so no output can pass`
        : null
    }
    case 'format':
      return checkedFormats.has(String(value))
        ? null
        : `is not checked: use one of ${[...checkedFormats].join(', ')}`
    case 'pattern': {
      const compiled =
        typeof value === 'string' && value.length <= patternCharsMax
          ? compilePattern(value)
          : { fault: `it is not a text of at most ${patternCharsMax} characters` }
      return 'test' in compiled
        ? null
        : `is not a regular expression that is bounded in time (RE2: no lookaround, no back reference): ${compiled.fault}`
    }
    case 'required': {
      const properties = isSchema(schema['properties']) ? schema['properties'] : {}
      const missing = [value].flat().find((name) => !Object.hasOwn(properties, String(name)))
      return missing === undefined
        ? null
        : `names ${JSON.stringify(missing)}, which "properties" does not contain. Add it there`
    }
    case 'const':
    case 'enum':
      return (key === 'const' ? [value] : [value].flat()).some(
        (each) => typeof each === 'object' && each !== null,
      )
        ? 'is only checked for texts, numbers, true, false and null'
        : null
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
      return types.length === 0 && !literal && combined(schema) > 1
        ? 'is not checked beside another of anyOf, oneOf, allOf: name a type beside them'
        : null
    default:
      return null
  }
}

const combined = (schema: Schema): number =>
  ['anyOf', 'oneOf', 'allOf'].filter((key) => schema[key] !== undefined).length

function firstFault(
  entries: readonly (readonly [string, unknown])[],
  path: readonly string[],
): RequirementFault | null {
  for (const [key, value] of entries) {
    const fault = faultAt(value, [...path, key])
    if (fault !== null) return fault
  }
  return null
}

function typesOf(schema: Schema): readonly string[] {
  const type = schema['type'] ?? []
  return [type]
    .flat()
    .map((each) => (each === 'integer' ? 'number' : typeof each === 'string' ? each : canonicalJson(each)))
}

type Schema = Readonly<Record<string, unknown>>

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
