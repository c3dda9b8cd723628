// The JSON Schema that asks a model for a value of a zod type. What the schema allows, the type reads, except
// for what only a program can judge: refinements, and the protocol and the host of z.url(). What JSON Schema
// or Beaver's check of it cannot say is refused here, before the task is submitted, with what to write
// instead.
import { BeaverError, type JsonObject, messageOf } from '@beaver/core'
import { checkedFormats, checkedKeywords, schemaFault } from '@beaver/core/evidence'
import { z } from 'zod'

/**
 * The JSON Schema of what a zod type reads.
 *
 * @throws {BeaverError} `invalid_arguments` for a type that JSON Schema cannot describe, with the place in it
 */
export function outputSchemaOf(type: z.ZodType): JsonObject {
  const schema = described(type)
  const fault = schemaFault(schema)
  if (fault === null) return schema
  const instead = fault.path.at(-1) === 'pattern' ? `. ${judgedLater}` : ''
  throw refused(fault.path, `${fault.message}${instead}`)
}

const judgedLater =
  'Write it in another way, or check it with .refine(), which judges the answer when it is paid for'

function described(type: z.ZodType): JsonObject {
  try {
    return z.toJSONSchema(type, {
      io: 'input',
      unrepresentable: ({ zodSchema, path, message }) => {
        const { type: kind, coerce } = zodSchema._zod.def as {
          readonly type: string
          readonly coerce?: boolean
        }
        if (coerce === true && Object.hasOwn(coerced, kind)) return coerced[kind]
        throw refused(
          path.map(String),
          `cannot be described by a JSON Schema: ${message}. Use ${instead[kind] ?? inGeneral}`,
        )
      },
      override: ({ zodSchema, jsonSchema, path }) => {
        withoutMetadata(zodSchema, jsonSchema)
        withFlags(zodSchema, jsonSchema)
        mendText(zodSchema, jsonSchema, path.map(String))
        mendRest(jsonSchema)
      },
    }) as JsonObject
  } catch (error) {
    if (error instanceof BeaverError) throw error
    throw refused([], `cannot be described by a JSON Schema: ${messageOf(error)}. Use ${inGeneral}`)
  }
}

function refused(path: readonly string[], message: string): BeaverError {
  const at = ['output', ...path].join('.')
  return new BeaverError(
    'invalid_arguments',
    `The type of the output cannot be asked of a model. ${at}: ${message}.`,
    { problems: [{ path: at, message }] },
  )
}

/** How a model writes what the type then makes. */
const coerced: Readonly<Record<string, JsonSchema>> = {
  date: { type: 'string', format: 'date-time' },
  bigint: { type: 'string', pattern: '^-?[0-9]+$' },
}

const inGeneral = 'a type that JSON has, with .transform() behind it'
const instead: Readonly<Record<string, string>> = {
  date: 'z.coerce.date()',
  bigint: 'z.coerce.bigint()',
  set: 'z.array(…).transform((items) => new Set(items))',
  map: 'z.record(…).transform((fields) => new Map(Object.entries(fields)))',
  undefined: '.optional() for the field',
  void: '.optional() for the field',
  nan: 'z.number()',
  custom: 'a type that JSON has, with .refine() behind it',
  catch: '.catch() with a value in place of a function',
}

/** Metadata of a program, such as a hint for its forms, says nothing about the answer. */
function withoutMetadata(type: ZodType, schema: JsonSchema): void {
  const own: Readonly<Record<string, unknown>> = z.globalRegistry.get(type) ?? {}
  for (const key of Object.keys(own)) if (key !== 'id' && !checkedKeywords.has(key)) delete schema[key]
}

/** JSON Schema has no flags of a regular expression: the flags i, m and s go into the pattern. */
function withFlags(type: ZodType, schema: JsonSchema): void {
  const flags = new Map(
    patternsOf(type).map(({ source, flags: all }) => [source, all.replaceAll(/[^ims]/g, '')]),
  )
  for (const each of [schema, ...(schema.allOf ?? [])]) {
    const set = each.pattern === undefined ? undefined : flags.get(each.pattern)
    if (set) each.pattern = `(?${set}:${each.pattern})`
  }
}

/**
 * Only some formats are checked, and a type may be narrower or wider than its format. Its pattern decides
 * then. A pattern that says the same as the format is left out: not every model server reads it.
 */
function mendText(type: ZodType, schema: JsonSchema, path: readonly string[]): void {
  const formats = checksOf(type).filter(({ check }) => check === 'string_format')
  const unsaid =
    type._zod.def.type === 'file'
      ? 'file'
      : formats.find(({ pattern, format }) => pattern === undefined && format !== 'url')?.['format']
  if (unsaid !== undefined)
    throw refused(
      path,
      `has the format ${unsaid as string}, for which JSON Schema has no word. Use z.string().refine(), which judges the answer when it is paid for`,
    )
  if (!checkedFormats.has(schema.format ?? '')) {
    delete schema.format
    delete schema.contentEncoding
    if (formats.some(({ format }) => format === 'url')) schema.format = 'uri'
  } else if (schema.pattern === patternOf(schema.format ?? '')) delete schema.pattern
  else if (formats.some(({ format }) => format === 'guid' || format === 'email')) delete schema.format
  else if (schema.pattern === utc.pattern) schema.pattern = '^.*Z$'
}

/** zod has keywords that Beaver's check does not read, and each has a twin that it does. */
function mendRest(schema: JsonSchema): void {
  const { type, required, properties, additionalProperties } = schema
  if (typeof type === 'string' && schema.allOf !== undefined)
    schema.allOf = schema.allOf.map((each) =>
      'pattern' in each || 'multipleOf' in each ? { type, ...each } : each,
    )
  for (const [key, each] of Object.entries(properties ?? {}))
    if (typeof each === 'object' && each.not !== undefined)
      schema.properties = { ...schema.properties, [key]: false }
  if (
    type !== 'object' ||
    required === undefined ||
    properties !== undefined ||
    additionalProperties === undefined
  )
    return
  // A record with known keys is an object.
  schema.properties = Object.fromEntries(required.map((key) => [key, additionalProperties]))
  schema.additionalProperties = false
  delete schema.propertyNames
}

const patternsOf = (type: ZodType): readonly RegExp[] =>
  checksOf(type).flatMap(({ pattern }) => (pattern instanceof RegExp ? [pattern] : []))

/** A format is a type with its check in it, or one of the checks of a text. */
function checksOf(type: ZodType): readonly Readonly<Record<string, unknown>>[] {
  const { def } = type._zod
  return [{ ...def }, ...(def.checks ?? []).map((check) => ({ ...check._zod.def }))]
}

/** A format allows any time zone, and the type only UTC. */
const utc = z.toJSONSchema(z.iso.datetime())

const patterns = new Map<string, string | undefined>()

/** The pattern of what Beaver's check takes for a format. */
function patternOf(format: string): string | undefined {
  if (!patterns.has(format))
    patterns.set(format, z.toJSONSchema(z.fromJSONSchema({ type: 'string', format })).pattern)
  return patterns.get(format)
}

type ZodType = z.core.$ZodTypes
type JsonSchema = z.core.JSONSchema.BaseSchema
