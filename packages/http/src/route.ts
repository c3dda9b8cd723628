// The description of a route: its path, who may use it, what it reads and what it answers. The router and the
// document of the interface (openapi.ts) both use it.
import { queryContracts, type QueryInput, type QueryName, type QueryOutput } from '@beaver/contracts'
import { foreignId, problemsOf } from '@beaver/core'
import { z } from 'zod'
import { type Caller, reachOf, type TokenRole, userOf } from './access.ts'
import type { ChangeFeed } from './change-feed.ts'
import type { TaskHost } from './host.ts'
import type { ImageFetches } from './openai/fetch-images.ts'
import type { LeftTasks } from './openai/left-tasks.ts'
import { HttpProblem } from './problem.ts'
import type { StreamOptions } from './sse.ts'
import type { TaskFeeds } from './task-feeds.ts'

/** The schemas of the parts of a request. Each is strict: it refuses unknown fields. */
export interface RequestParts {
  readonly path?: z.ZodObject
  readonly query?: z.ZodObject
  readonly headers?: z.ZodObject
  readonly body?: z.ZodType
}

type Read<Part> = Part extends z.ZodType ? z.output<Part> : Record<string, never>
/** What a handler gets: the validated parts of the request, and its surroundings. */
export interface Asked<Parts extends RequestParts> {
  readonly path: Read<Parts['path']>
  readonly query: Read<Parts['query']>
  readonly headers: Read<Parts['headers']>
  readonly body: Read<Parts['body']>
  readonly caller: Caller
  /** Where the request comes from. */
  readonly address: string
  readonly host: TaskHost
  readonly options: RouteOptions
  /** The raw request, for a route that verifies a signature over it. */
  readonly request: { readonly headers: Headers; readonly body: string }
  /** Aborts when the caller disconnects, when its stream has ended, and when the app closes. */
  readonly signal: AbortSignal
  /** Whether the caller accepts an event stream rather than JSON. */
  readonly streamed: boolean
}

/** What handlers need from the app's configuration, together with the options of a stream. */
export interface RouteOptions extends StreamOptions {
  /**
   * The absolute path of the folder to which a relative `workspace_dir` is relative. `null`: only absolute
   * paths are allowed.
   */
  readonly workspaceRoot: string | null
  /** The origins from which the app fetches images that a request names by URL. */
  readonly imageOrigins: readonly string[]
  readonly imageFetches: ImageFetches
  /**
   * How long a request waits for its task, in milliseconds: `stream` for a request that reads a stream,
   * `answer` for a request that waits for a single answer.
   */
  readonly runMsMax: { readonly stream: number; readonly answer: number }
  /** The tasks of OpenAI requests that stopped waiting. The same request may come again for them. */
  readonly left: LeftTasks
  /** The event streams of tasks, shared between their readers. */
  readonly feeds: TaskFeeds
  /** The changes of all tasks, shared between their readers. */
  readonly changes: ChangeFeed
  /** When the app began. RFC 3339, UTC. */
  readonly startedAt: string
  /** Whether the app is closing. Then requests end although their callers are still connected. */
  readonly closing: () => boolean
}

export interface RouteAnswer {
  readonly status: number
  readonly says: string
  readonly schema?: z.ZodType
  /** The content types of an answer of bytes, which has no `schema`. */
  readonly bytes?: readonly string[]
  /** Describes the events in words. Present if the route can answer with a stream of events. */
  readonly events?: string
}

export interface Route extends RequestParts {
  readonly method: 'get' | 'post' | 'delete'
  /** The path in the notation of OpenAPI: `/api/v1/tasks/{task_id}`. */
  readonly at: string
  readonly name: string
  readonly says: string
  readonly tag: string
  /**
   * The role that a token needs. `any`: every token may use the route, and the handler checks the role,
   * because it depends on the request. `null`: the route needs no token.
   */
  readonly role: TokenRole | 'any' | null
  readonly answer: RouteAnswer
  /**
   * The handler verifies the raw request and parses its body afterwards. Then `body` only serves the document
   * of the interface.
   */
  readonly readsBody?: true
  /** The body may exceed the usual bound by the size of the largest image in base64. */
  readonly takesImages?: true
  handle(asked: ReadRequest): Promise<Response> | Response
}

/** A request whose parts have been validated, with their types erased. */
export type ReadRequest = Omit<Asked<RequestParts>, keyof RequestParts> & {
  readonly [Part in keyof Required<RequestParts>]: unknown
}

/** Defines a route whose handler gets parts with the types of their schemas. */
export const route = <const Parts extends RequestParts>(
  place: Omit<Route, 'handle' | keyof RequestParts>,
  parts: Parts,
  handle: (asked: Asked<Parts>) => Promise<Response> | Response,
): Route => ({ ...place, ...parts, handle: handle as Route['handle'] })

/**
 * The fields of a contract's input without `leftOut`, such as those that are in the path.
 *
 * @throws {TypeError} if the input is not an object
 */
export function fieldsOf(input: z.ZodType, leftOut: readonly string[] = []): z.ZodObject {
  if (!(input instanceof z.ZodObject)) throw new TypeError('The input of a contract is an object.')
  const { shape } = input as z.ZodObject
  return z.strictObject(Object.fromEntries(Object.entries(shape).filter(([name]) => !leftOut.includes(name))))
}

/** The field `user_id` in the body of a request. */
export const forUser = foreignId
  .optional()
  .describe(
    'The user for whom the task is. Absent: the user of the token, if it has one. A token with a user may name no other.',
  )

/**
 * The field `user_id` in a query string. It replaces the contract's field, because over HTTP a token may have
 * a user.
 */
const ofUser = z
  .string()
  .min(1)
  .max(128)
  .optional()
  .describe('Only what belongs to this user. Absent: everything that the token reaches.')

/** Validates one part of a request. @throws {HttpProblem} `invalid_arguments`, with the path of each fault */
export function readPart(
  schema: z.ZodType,
  place: 'path' | 'query' | 'headers' | 'body',
  value: unknown,
): unknown {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  const problems = problemsOf(read.error.issues, value, place)
  const [first] = problems
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
  throw new HttpProblem(
    'invalid_arguments',
    `The request is not valid: ${first?.path} ${first?.message}${more}.`,
    { problems },
  )
}

/** @throws {HttpProblem} `unsupported_media_type` if the body is not JSON */
export function mustBeJson(headers: Pick<Headers, 'get'>): void {
  const type = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/json' && !type.endsWith('+json'))
    throw new HttpProblem(
      'unsupported_media_type',
      `The body has the type ${JSON.stringify(type)}. Send JSON with "Content-Type: application/json".`,
    )
}

interface FieldSchema {
  readonly type?: string
  readonly anyOf?: readonly FieldSchema[]
}

/**
 * The fields of a query string. Where the schema wants a number or a boolean, the text is converted to one. A
 * field that may be a list is one if it is there several times, or may be nothing else.
 */
export function queryFields(schema: z.ZodObject, params: URLSearchParams): Record<string, unknown> {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input' }) as {
    properties?: Readonly<Record<string, FieldSchema>>
  }
  return Object.fromEntries(
    [...new Set(params.keys())].map((name) => {
      const texts = params.getAll(name)
      const { type, anyOf = [] } = properties[name] ?? {}
      const isList = type === 'array' || (texts.length > 1 && anyOf.some((each) => each.type === 'array'))
      return [name, isList ? texts : valueOf(texts.at(-1) ?? '', type)]
    }),
  )
}

function valueOf(text: string, type: string | undefined): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** The fields of a query's contract, as they come in a query string, without `leftOut`. */
export function queryFieldsOf(query: QueryName, leftOut: readonly string[]): z.ZodObject {
  const fields = fieldsOf(queryContracts[query].input, leftOut)
  return 'user_id' in fields.shape ? fields.extend({ user_id: ofUser }) : fields
}

/**
 * Makes a route that answers a query of the read model. The fields in the path are not in the query string.
 * If the caller reaches only one user, the query is limited to this user.
 */
export function queryRoute(
  query: QueryName,
  place: Pick<Route, 'tag' | 'at' | 'name'> & { readonly gives: string; readonly path?: z.ZodObject },
): Route {
  const { gives, path, ...at } = place
  const { says, output } = queryContracts[query]
  return route(
    { ...at, method: 'get', role: 'read', says, answer: { status: 200, says: gives, schema: output } },
    { ...(path === undefined ? {} : { path }), query: queryFieldsOf(query, Object.keys(path?.shape ?? {})) },
    async (request) =>
      json(await asked(request, query, { ...request.query, ...((request as ReadRequest).path as object) })),
  )
}

/** Asks the read model. @param input the fields of the request, from its query string and its path */
export const asked = <Name extends QueryName>(
  { host, caller }: Pick<ReadRequest, 'host' | 'caller'>,
  name: Name,
  input: Readonly<Record<string, unknown>>,
): Promise<QueryOutput<Name>> =>
  host.client().query(name, queryContracts[name].input.parse(withinReach(caller, input)) as QueryInput<Name>)

/**
 * Adds the caller's user to a query if the caller reaches only this user.
 *
 * @throws {HttpProblem} `not_allowed` if the query names another user; {ZodError} if the contract has no
 * `user_id`, so a route for tokens with a user must not use such a query
 */
function withinReach(
  caller: Caller,
  input: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return reachOf(caller) === undefined
    ? input
    : { ...input, user_id: userOf(caller, input['user_id'] as string | undefined) }
}

export const json = (
  value: unknown,
  init: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Response =>
  Response.json(value, {
    status: init.status ?? 200,
    headers: { 'cache-control': 'no-store', ...init.headers },
  })
