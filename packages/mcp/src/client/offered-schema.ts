// The input schema of a tool in the form that model providers take, because they refuse a whole request
// because of one schema. An object gets `properties` and a list `items`, which OpenAI and Gemini require.
// Plain mistakes are corrected: a `required` in the wrong place or form, and type names of Python and of
// Google's API. The server takes the same arguments as before. Other mistakes stay, and are defects
// (list-tools.ts).

type Schema = Readonly<Record<string, unknown>>

/** The keywords below which there are schemas: by name, in a list, or one. */
export const schemaKeywords = {
  maps: ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'],
  lists: ['anyOf', 'oneOf', 'allOf', 'prefixItems'],
  ones: [
    'items',
    'additionalProperties',
    'not',
    'contains',
    'propertyNames',
    'if',
    'then',
    'else',
    'unevaluatedProperties',
    'unevaluatedItems',
  ],
} as const
const [maps, lists, ones]: readonly ReadonlySet<string>[] = [
  new Set(schemaKeywords.maps),
  new Set(schemaKeywords.lists),
  new Set(schemaKeywords.ones),
]

const typesMeant: Readonly<Record<string, string>> = {
  ...{
    None: 'null',
    none: 'null',
    str: 'string',
    int: 'integer',
    float: 'number',
    double: 'number',
    bool: 'boolean',
    list: 'array',
    dict: 'object',
  },
  ...{
    STRING: 'string',
    NUMBER: 'number',
    INTEGER: 'integer',
    BOOLEAN: 'boolean',
    ARRAY: 'array',
    OBJECT: 'object',
    NULL: 'null',
  },
}

/** @param schema is not nested too deep for recursion */
export function offeredSchema(schema: Schema): Record<string, unknown> {
  return { ...('properties' in schema ? {} : { properties: {} }), ...mended(schema) }
}

function mended(schema: Schema): Record<string, unknown> {
  const { required: _, ...whole } = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, mendedValue(key, value)]),
  )
  const has = (type: string): boolean => [whole['type']].flat().includes(type)
  const asObject =
    has('object') || isRecord(schema['properties']) ? withProperties(whole, schema) : requiredAsItIs(schema)
  const isList = has('array') && !('items' in schema) && !('prefixItems' in schema)
  return { ...whole, ...asObject, ...(isList ? { items: {} } : {}) }
}

/** A `required` that is true or false belongs to the property itself, and its object has stated it. */
const requiredAsItIs = ({ required }: Schema): object =>
  required === undefined || typeof required === 'boolean' ? {} : { required }

function withProperties({ properties = {} }: Schema, schema: Schema): object {
  if (!isRecord(properties)) return requiredAsItIs(schema)
  const given = isRecord(schema['properties']) ? schema['properties'] : {}
  const { required: misplaced } = given
  const isMisplaced = typeof misplaced === 'boolean' || isNames(misplaced)
  const own = Object.fromEntries(
    Object.entries(properties).filter(([name]) => !(isMisplaced && name === 'required')),
  )
  const { required } = schema
  if (required !== undefined && typeof required !== 'boolean' && !isNames(required))
    return { properties: own, required }
  const flagged = Object.entries(given).flatMap(([name, each]) =>
    isRecord(each) && each['required'] === true ? [name] : [],
  )
  const needed = [
    ...new Set([
      ...(isNames(required) ? required : []),
      ...(isNames(misplaced) ? misplaced : []),
      ...flagged,
    ]),
  ]
  // Gemini refuses a required name without a property. The added property allows any value.
  const missing = Object.fromEntries(
    needed.filter((name) => !Object.hasOwn(own, name)).map((name) => [name, {}]),
  )
  return {
    properties: { ...own, ...missing },
    ...(needed.length > 0 || required !== undefined ? { required: needed } : {}),
  }
}

function mendedValue(key: string, value: unknown): unknown {
  if (key === 'type') return Array.isArray(value) ? value.map(typeMeant) : typeMeant(value)
  if (maps?.has(key) === true && isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mendedOne(each)]))
  if (lists?.has(key) === true && Array.isArray(value)) return value.map(mendedOne)
  return ones?.has(key) === true ? (Array.isArray(value) ? value.map(mendedOne) : mendedOne(value)) : value
}

const typeMeant = (type: unknown): unknown =>
  typeof type === 'string' && Object.hasOwn(typesMeant, type) ? typesMeant[type] : type
const mendedOne = (value: unknown): unknown => (isRecord(value) ? mended(value) : value)
const isNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
const isRecord = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
