// The JSON schema of a workflow's arguments in two forms: whole, for Beaver's own messages, and brief, for
// the model with every request. The brief schema allows everything that is accepted, except null for an
// absent field; the whole schema checks the rest. It has only `type`, `properties`, `items`, `required`,
// `enum`, `anyOf` of different types and `additionalProperties`, which every endpoint for tools accepts; some
// endpoints refuse `$ref`.
//
// Alternatives that are objects with one constant field become one open object, whose description names the
// kinds and what each needs. An object that the same request described before is repeated open, with its
// required fields and the place of its description; descriptions are not repeated either. A schema's `brief`
// replaces its description: empty for none, null to leave out a field or an alternative that few need.
import { canonicalJson, type JsonObject, type JsonValue } from '@beaver/core'
import { z } from 'zod'
import { isRecord } from './json-text.ts'

/**
 * The whole schema of a workflow's arguments, from zod.
 *
 * @example
 * Object.keys(wholeSchema(sequentialWorkflow.input)['properties'] ?? {}).includes('agents') // => true
 */
export function wholeSchema(input: z.ZodType): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' })
  return schema as JsonObject
}

/** What was described so far: objects, as canonical JSON, and texts, each with its place. */
export type Described = Map<string, string>

/** The schema of the tool of this name, alone. */
export function briefSchema(whole: JsonObject, name: string): JsonObject {
  return brief(whole, { described: new Map(), place: name, short: false })
}

/**
 * The schema that a provider gets for the tool of this name among others. Its descriptions are added to
 * `described`.
 */
export function shortSchema(whole: JsonObject, name: string, described: Described): JsonObject {
  return brief(whole, { described, place: name, short: true })
}

interface Telling {
  readonly described: Described
  readonly place: string
  readonly short: boolean
}

function brief(schema: JsonObject, telling: Telling): JsonObject {
  const alternatives = alternativesOf(schema)
  const objects = alternatives.filter(
    (each) => isRecord(each['properties']) && !(telling.short && each['brief'] === null),
  )
  const others = alternatives
    .filter((each) => !isRecord(each['properties']))
    .map((each) => briefOne(each, telling))
  const all = [
    ...others,
    ...(objects.length > 1 ? merge(objects, telling) : objects.map((each) => briefOne(each, telling))),
  ]
  const one = all.length === 1 ? all[0] : { anyOf: all }
  const describedText = textOf(
    telling.short ? (schema['brief'] ?? schema['description']) : schema['description'],
  )
  const own = describedText !== '' && isNews(describedText, telling) ? describedText : ''
  if (telling.short && own === '' && describedText !== '' && one?.['enum'] !== undefined)
    return { type: one['type'] ?? 'string' }
  const description = [own, textOf(one?.['description'])].filter((each) => each !== '').join(' ')
  return { ...one, ...(description === '' ? {} : { description }) }
}

/** The alternatives of a schema, including nested ones, without null. The schema itself if it has none. */
export function alternativesOf(schema: JsonObject): JsonObject[] {
  const types = Array.isArray(schema['type'])
    ? schema['type'].map((type: JsonValue) => ({ ...schema, type }))
    : []
  const nested = [...types, ...listOf(schema['anyOf']), ...listOf(schema['oneOf'])]
  return nested.length === 0
    ? [schema]
    : nested.flatMap(alternativesOf).filter((each) => each['type'] !== 'null')
}

function briefOne(schema: JsonObject, telling: Telling): JsonObject {
  const { type, properties, items, required, additionalProperties, const: constant } = schema
  const values = constant === undefined ? schema['enum'] : [constant]
  if (isRecord(properties)) {
    const place = describedAt(schema, telling)
    if (place !== null) return repeated(schema, place, telling)
  }
  return {
    ...(type === undefined ? {} : { type }),
    ...(values === undefined ? {} : { enum: values }),
    ...(isRecord(properties)
      ? {
          properties: Object.fromEntries(
            fieldsOf(properties, telling).map(([name, each]) => [
              name,
              brief(each as JsonObject, { ...telling, place: `${telling.place}.${name}` }),
            ]),
          ),
        }
      : {}),
    ...(isRecord(items) ? { items: briefItem(items as JsonObject, telling) } : {}),
    ...(schema['minItems'] !== undefined && schema['minItems'] === schema['maxItems'] && !telling.short
      ? { minItems: schema['minItems'], maxItems: schema['maxItems'] }
      : {}),
    ...(Array.isArray(required) && required.length > 0 ? { required } : {}),
    ...(additionalProperties === false && !telling.short ? { additionalProperties } : {}),
  }
}

const fieldsOf = (properties: JsonObject, { short }: Telling): [string, JsonValue][] =>
  Object.entries(properties).filter(([, each]) => !(short && isRecord(each) && each['brief'] === null))

/** The descriptions of the array and of the item's fields say what an item is. */
function briefItem(items: JsonObject, telling: Telling): JsonObject {
  const { description: _, brief: __, ...item } = items
  return brief(item, telling)
}

/**
 * One open object for objects that a constant field tells apart. Several objects if there is no such field.
 */
function merge(objects: readonly JsonObject[], telling: Telling): JsonObject[] {
  const fields = objects.map((each) => each['properties'] as Record<string, JsonObject>)
  const key = Object.keys(fields[0] ?? {}).find((name) =>
    fields.every((each) => each[name]?.['const'] !== undefined),
  )
  if (key === undefined) return objects.map((each) => briefOne(each, telling))
  const place = describedAt({ anyOf: objects }, telling)
  if (telling.short)
    return [
      {
        type: 'object',
        properties: {
          [key]: {
            type: 'string',
            ...(place === null
              ? { description: objects.map((each) => signature(each, key, true)).join(', ') }
              : {}),
          },
        },
      },
    ]
  const description =
    place === null ? objects.map((each) => signature(each, key)).join(', ') : `As in ${place}`
  return [
    {
      type: 'object',
      properties: { [key]: { type: 'string', description } },
      required: [key],
      additionalProperties: true,
    },
  ]
}

/** For example `tool_succeeded(tool, times_min?)`. */
function signature(object: JsonObject, key: string, short = false): string {
  const { properties, required = [] } = object as {
    properties: Record<string, JsonObject>
    required?: string[]
  }
  const fields = Object.keys(properties).filter(
    (name) => name !== key && !(short && properties[name]?.['brief'] === null),
  )
  const listed = fields.map((name) => (required.includes(name) ? name : `${name}?`)).join(', ')
  return `${textOf(properties[key]?.['const'])}${short && listed === '' ? '' : `(${listed})`}`
}

/** An object without fields would be refused by some endpoints, so it has at least one. */
function repeated({ type, properties, required }: JsonObject, place: string, { short }: Telling): JsonObject {
  const needed = (required ?? []) as string[]
  const bare = needed.map(
    (name) =>
      [name, { type: (properties as Record<string, JsonObject>)[name]?.['type'] ?? 'string' }] as const,
  )
  const typeField = type === undefined ? {} : { type }
  if (short)
    return {
      ...typeField,
      description: `As in ${place}.`,
      properties: Object.fromEntries(bare.slice(0, 1)) as JsonObject,
    }
  return {
    ...typeField,
    description: `Optional fields as in ${place}.`,
    properties: Object.fromEntries(bare) as JsonObject,
    required: needed,
    additionalProperties: true,
  }
}

/** Whether no other tool of the request has given this description of a field. */
function isNews(description: string, { described, place }: Telling): boolean {
  const [tool = ''] = place.split('.')
  const teller = described.get(description) ?? tool
  described.set(description, teller)
  return teller === tool
}

/** The place at which an object was described. `null` the first time. */
function describedAt(schema: JsonObject, { described, place }: Telling): string | null {
  const { description: _, brief: __, ...object } = schema
  const text = canonicalJson(object)
  const known = described.get(text)
  if (known === undefined) described.set(text, place)
  return known ?? null
}

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')
const listOf = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? (value as JsonObject[]) : []
