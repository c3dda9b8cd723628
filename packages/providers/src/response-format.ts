// The form of an answer on the wire: the field `response_format` of a chat request. It only helps: the
// AgentLoop also states the form in words, and checks the answer. The user's schema is not changed, so
// `strict` is set only for a schema that already fits the strict mode.
import type { OutputForm } from '@beaver/agent'

/** How to ask a server for the form: with the schema, with its plain JSON mode, or not at all. */
export type FormLevel = 'json_schema' | 'json_object' | 'none'

/** When to ask an endpoint for the form: `auto` without tools, `native` always, `prompt` never. */
export type StructuredOutput = 'auto' | 'native' | 'prompt'

/** The field `response_format`; `undefined` for the level `none`. */
export function responseFormat({ name, schema }: OutputForm, level: FormLevel): object | undefined {
  switch (level) {
    case 'json_schema':
      return { type: 'json_schema', json_schema: { name, schema, strict: fitsStrictMode(schema) } }
    case 'json_object':
      return schema['type'] === 'object' ? { type: 'json_object' } : undefined
    case 'none':
      return undefined
    default:
      return level satisfies never
  }
}

/**
 * Whether a schema fits the strict mode: the root is an object, each object requires all of its properties
 * and allows no others, and the mode has every keyword. Source: OpenAI's guide "Structured model outputs",
 * section "Supported schemas".
 *
 * @example
 * const n = { type: 'number' }
 * const closed = { type: 'object', properties: { n }, additionalProperties: false }
 * fitsStrictMode({ ...closed, required: ['n'] }) // => true
 * fitsStrictMode(closed) // => false
 */
export const fitsStrictMode = (schema: Schema): boolean => schema['type'] === 'object' && isStrict(schema, 0)

type Schema = Readonly<Record<string, unknown>>

const depthMax = 10
const strictKeywords = new Set([
  ...[
    '$schema',
    '$defs',
    'definitions',
    '$ref',
    'type',
    'title',
    'description',
    'enum',
    'const',
    'anyOf',
    'properties',
    'required',
  ],
  ...[
    'additionalProperties',
    'items',
    'minItems',
    'maxItems',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
    'pattern',
  ],
])

function isStrict(schema: unknown, depth: number): boolean {
  if (!isSchema(schema) || depth > depthMax || Object.keys(schema).some((key) => !strictKeywords.has(key)))
    return false
  const {
    properties = {},
    required,
    additionalProperties,
    items,
    anyOf = [],
    $defs = {},
    definitions = {},
  } = schema
  if (!isSchema(properties) || !isSchema($defs) || !isSchema(definitions) || !isList(anyOf)) return false
  const names = Object.keys(properties)
  if ([schema['type']].flat().includes('object')) {
    if (additionalProperties !== false || (names.length > 0 && !Array.isArray(required))) return false
    if (names.some((name) => !(required as unknown[]).includes(name))) return false
  }
  const inner = [
    ...Object.values(properties),
    ...Object.values($defs),
    ...Object.values(definitions),
    ...anyOf,
    ...(items === undefined ? [] : [items]),
  ]
  return inner.every((each) => isStrict(each, depth + 1))
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)
