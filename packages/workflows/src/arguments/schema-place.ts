// Finds places in arguments and in their schema at the same time, by dotted paths. Among alternatives it
// takes the one that was meant.
import type { JsonObject } from '@beaver/core'
import { isRecord } from './json-text.ts'
import { alternativesOf } from './tool-schema.ts'

export type Path = readonly PropertyKey[]

export function valueAt(value: unknown, path: Path): unknown {
  let at = value
  for (const key of path)
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, key)
        ? (at as Record<PropertyKey, unknown>)[key]
        : undefined
  return at
}

/** The schema of a place in `args`. `{}` if there is none. */
export function schemaAt(schema: JsonObject, path: Path, args: unknown): JsonObject {
  let at = schema
  for (const [depth, key] of path.entries()) {
    const next =
      typeof key === 'number'
        ? itemsOf(at)
        : propertiesOf(at, valueAt(args, path.slice(0, depth)))[String(key)]
    if (!isRecord(next)) return {}
    at = next
  }
  return at
}

/** The schema of the items of an array, or of an array that may be null. */
export const itemsOf = (schema: JsonObject): JsonObject =>
  (alternativesOf(schema).find((each) => isRecord(each['items']))?.['items'] ?? {}) as JsonObject

/** The fields of an object. Among alternatives, those of the one whose constant fields `value` has. */
export function propertiesOf(schema: JsonObject, value: unknown): Readonly<Record<string, JsonObject>> {
  return (objectFor(schema, value)?.['properties'] ?? {}) as Record<string, JsonObject>
}

export const requiredOf = (schema: JsonObject, value: unknown): readonly string[] =>
  (objectFor(schema, value)?.['required'] ?? []) as string[]

function objectFor(schema: JsonObject, value: unknown): JsonObject | undefined {
  const objects = alternativesOf(schema).filter((each) => isRecord(each['properties']))
  const constants = (each: JsonObject): [string, unknown][] =>
    Object.entries(each['properties'] as Record<string, JsonObject>).flatMap(([name, field]) =>
      field['const'] === undefined ? [] : [[name, field['const']]],
    )
  return objects.length === 1
    ? objects[0]
    : objects.find((each) => constants(each).every(([name, constant]) => valueAt(value, [name]) === constant))
}

/** The arguments without fields that are null, if the field is optional and null is no value of it. */
export function withoutNulls(value: unknown, schema: JsonObject): unknown {
  if (Array.isArray(value)) {
    const items = itemsOf(schema)
    if (Object.keys(items).length === 0) return value
    return value.map((each: unknown) => withoutNulls(each, items))
  }
  if (!isRecord(value)) return value
  const properties = propertiesOf(schema, value)
  if (Object.keys(properties).length === 0) return value
  const required = requiredOf(schema, value)
  const known = (name: string): JsonObject | undefined =>
    Object.hasOwn(properties, name) ? properties[name] : undefined
  const left = Object.entries(value).filter(([name, each]) => {
    const field = known(name)
    return each !== null || field === undefined || required.includes(name) || mayBeNull(field)
  })
  return Object.fromEntries(left.map(([name, each]) => [name, withoutNulls(each, known(name) ?? {})]))
}

const mayBeNull = ({ type, anyOf = [] }: JsonObject): boolean =>
  [type, ...(anyOf as JsonObject[]).map((each) => each['type'])].flat().includes('null')
