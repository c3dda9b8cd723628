// The form of a tool's schema that a model gets with every request: what the arguments are called, what they
// mean, which are needed. It allows everything that the whole schema allows. What it leaves out (bounds,
// unknown fields, titles), the tool checks when it is called, and its refusal says what is wrong. Defaults
// are left out: a model that leaves out a field does not need them. A field whose schema says `brief: null`
// is left out, because few calls need it. The same schema gives the same text, so that the request begins
// with the same bytes in every turn and every run.
import type { ToolSchema } from '../provider/chat-provider.ts'

type Schema = Readonly<Record<string, unknown>>

const leftOut: ReadonlySet<string> = new Set([
  ...['default', '$schema', '$id', '$comment', 'title', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength'],
])
const mapsOfSchemas: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
])
const listsOfSchemas: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const schemas: ReadonlySet<string> = new Set([
  'items',
  'additionalProperties',
  'not',
  'contains',
  'propertyNames',
  'if',
  'then',
  'else',
])

/** The tool as it is sent to a model. */
export function briefTool({ name, description, parameters }: ToolSchema): ToolSchema {
  return { name, description, parameters: brief(parameters) }
}

function brief(schema: Schema): Record<string, unknown> {
  const kept = Object.entries(schema).filter(
    ([key, value]) => !leftOut.has(key) && !(key === 'additionalProperties' && value === false),
  )
  return Object.fromEntries(kept.map(([key, value]) => [key, briefValue(key, value)]))
}

function briefValue(key: string, value: unknown): unknown {
  if (mapsOfSchemas.has(key) && isSchema(value))
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, each]) =>
        isSchema(each) && each['brief'] === null ? [] : [[name, briefOf(each)] as const],
      ),
    )
  if (listsOfSchemas.has(key) && Array.isArray(value)) return value.map(briefOf)
  return schemas.has(key) ? briefOf(value) : value
}

const briefOf = (value: unknown): unknown => (isSchema(value) ? brief(value) : value)

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
