// The document of the interface (OpenAPI 3.1), made from the table of routes that the app uses.
import { z } from 'zod'
import { isOpenAi } from './openai/openai-error.ts'
import type { RequestParts, Route } from './route.ts'

type Json = Readonly<Record<string, unknown>>

const integerMax = Number.MAX_SAFE_INTEGER

/**
 * Makes the schemas of one document. Schemas that several operations share are in the document once, under
 * `components`.
 */
class Schemas {
  readonly shared: Record<string, unknown> = {}

  /** @param operation a name that keeps the unnamed shared schemas of this operation apart from others */
  schemaOf(schema: z.ZodType, io: 'input' | 'output', operation: string): Json {
    const {
      $schema: _,
      $defs: defs = {},
      ...made
    } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      override({ jsonSchema }) {
        if (jsonSchema.maximum === integerMax) delete jsonSchema.maximum
        if (jsonSchema.minimum === -integerMax) delete jsonSchema.minimum
      },
    })
    const nameOf = (def: string): string =>
      def.startsWith('__') ? `${operation}_${io}_${def.replaceAll('_', '')}` : def
    for (const [def, each] of Object.entries(defs)) this.shared[nameOf(def)] ??= moved(each, nameOf)
    return moved(made, nameOf) as Json
  }
}

/** The schema with its references pointing into the document. A shared schema is named by its id there. */
function moved(value: unknown, nameOf: (def: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => moved(each, nameOf))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => {
      if (key === '$ref' && typeof each === 'string')
        return [[key, `#/components/schemas/${nameOf(each.replace('#/$defs/', ''))}`]]
      return key === 'id' && typeof each === 'string' ? [] : [[key, moved(each, nameOf)]]
    }),
  )
}

function parametersOf(parts: RequestParts, operation: string, schemas: Schemas): Json[] {
  return (['path', 'query', 'headers'] as const).flatMap((place) => {
    const schema = parts[place]
    if (schema === undefined) return []
    const { properties = {}, required = [] } = schemas.schemaOf(schema, 'input', operation) as {
      properties?: Readonly<Record<string, Json>>
      required?: readonly string[]
    }
    return Object.entries(properties).map(([name, { description, ...rest }]) => ({
      name,
      in: place === 'headers' ? 'header' : place,
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    }))
  })
}

const problem = {
  description: 'A problem (RFC 9457).',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

const openAiError = {
  description: "An error in OpenAI's shape.",
  content: { 'application/json': { schema: { $ref: '#/components/schemas/OpenAiError' } } },
}

function operationOf({ name, at, says, tag, role, answer, body, ...parts }: Route, schemas: Schemas): Json {
  return {
    operationId: name,
    summary: says,
    tags: [tag],
    ...(role === null ? { security: [] } : { security: [{ token: [] }], 'x-role': role }),
    parameters: parametersOf(parts, name, schemas),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemas.schemaOf(body, 'input', name) } },
          },
        }),
    responses: {
      [answer.status]: {
        description: answer.says,
        content: {
          ...(answer.schema === undefined
            ? {}
            : { 'application/json': { schema: schemas.schemaOf(answer.schema, 'output', name) } }),
          ...Object.fromEntries(
            (answer.bytes ?? []).map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
          ),
          ...(answer.events === undefined
            ? {}
            : { 'text/event-stream': { schema: { type: 'string', description: answer.events } } }),
        },
      },
      default: isOpenAi(at) ? openAiError : problem,
    },
  }
}

/** The shapes of failures. */
const failures = {
  OpenAiError: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['message', 'type', 'param', 'code'],
        properties: {
          message: { type: 'string' },
          type: { type: 'string' },
          param: { type: ['string', 'null'] },
          code: { type: 'string' },
        },
      },
    },
  },
  Problem: {
    type: 'object',
    required: ['type', 'title', 'status', 'detail', 'code', 'problems'],
    properties: {
      type: { type: 'string' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      code: { type: 'string' },
      problems: {
        type: 'array',
        items: {
          type: 'object',
          required: ['path', 'message'],
          properties: { path: { type: 'string' }, message: { type: 'string' } },
        },
      },
    },
  },
}

/** The parts of the document that the page for people shows (api-page.ts). */
export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly description: string }
  /** The operations by path and by method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
  readonly components: { readonly schemas: Json }
}

/** Makes the document. */
export function openApi(routes: readonly Route[]): OpenApiDocument {
  const paths: Record<string, Record<string, Json>> = {
    '/api/ping': {
      get: {
        operationId: 'ping',
        summary: 'Whether the process is there. It boots nothing.',
        tags: ['system'],
        security: [],
        responses: {
          200: {
            description: 'It is there.',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['status', 'running', 'mode'],
                  properties: {
                    status: { const: 'ok' },
                    running: { type: 'boolean' },
                    mode: { enum: ['service', 'daemon'] },
                  },
                },
              },
            },
          },
        },
      },
    },
  }
  const schemas = new Schemas()
  for (const each of routes) (paths[each.at] ??= {})[each.method] = operationOf(each, schemas)
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Beaver',
      version: '1',
      description: 'Teams of LLM agents as supervised, durable actors.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: {
        ...schemas.shared,
        ...failures,
      },
    },
  }
  return document
}
