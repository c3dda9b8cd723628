// What a route is: where it is, who may use it, what it reads and what it answers. The document of the
// interface follows from the same data.
import { queryContracts, type QueryInput, type QueryName, type QueryOutput } from '@beaver/contracts'
import { foreignId, problemsOf } from '@beaver/core'
import { z } from 'zod'
import { type Caller, reachOf, type TokenRole, userOf } from './access.ts'
import type { TaskHost } from './host.ts'
import type { ImageFetches } from './openai/fetch-images.ts'
import type { LeftTasks } from './openai/left-tasks.ts'
import { HttpProblem } from './problem.ts'
import type { StreamOptions } from './sse.ts'
import type { TaskFeeds } from './task-feeds.ts'

/** The parts of a request. Each schema is strict: a field that nobody knows is refused. */
export interface RequestParts {
  readonly path?: z.ZodObject
  readonly query?: z.ZodObject
  readonly headers?: z.ZodObject
  readonly body?: z.ZodType
}

type Read<Part> = Part extends z.ZodType ? z.output<Part> : Record<string, never>
/** What a handler gets: the parts as they were read. */
export interface Asked<Parts extends RequestParts> {
  readonly path: Read<Parts['path']>
  readonly query: Read<Parts['query']>
  readonly headers: Read<Parts['headers']>
  readonly body: Read<Parts['body']>
  readonly caller: Caller
  readonly host: TaskHost
  readonly options: RouteOptions
  /** The request as it came, for a route that judges its signature. */
  readonly request: { readonly headers: Headers; readonly body: string }
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal
  /** Whether the caller accepts an event stream rather than JSON. */
  readonly streamed: boolean
}

/** What the handlers need to know of the app's configuration and of the reader of a stream. */
export interface RouteOptions extends StreamOptions {
  /**
   * The absolute path to which a relative `workspace_dir` is relative. `null`: only absolute paths are taken.
   */
  readonly workspaceRoot: string | null
  /** The origins from which images are fetched that a request names by their addresses. */
  readonly imageOrigins: readonly string[]
  readonly imageFetches: ImageFetches
  /**
   * How long a request waits for its task, in milliseconds: one that reads a stream, and one that waits for a
   * single answer.
   */
  readonly runMsMax: { readonly stream: number; readonly answer: number }
  /** Tasks of clients of OpenAI that are expected to ask again. */
  readonly left: LeftTasks
  /** The tasks that readers follow. */
  readonly feeds: TaskFeeds
  /** Whether the app is being closed. Then requests end although nobody went away. */
  readonly closing: () => boolean
}

export interface RouteAnswer {
  readonly status: number
  readonly says: string
  readonly schema?: z.ZodType
  /** The answer may be a stream of events instead; each is described in words. */
  readonly events?: string
}

export interface Route extends RequestParts {
  readonly method: 'get' | 'post' | 'delete'
  /** As in OpenAPI: `/api/v1/tasks/{task_id}`. */
  readonly at: string
  readonly name: string
  readonly says: string
  readonly tag: string
  /**
   * `any`: what is asked decides about the role, so the handler judges it. `null`: anybody who reaches the
   * app may use it.
   */
  readonly role: TokenRole | 'any' | null
  readonly answer: RouteAnswer
  /**
   * The handler judges the request as it came, and reads its body afterwards. `body` is for the document
   * then.
   */
  readonly readsBody?: true
  /** The body may have an image of the largest size, in base64, beside what any body may have. */
  readonly takesImages?: true
  handle(asked: ReadRequest): Promise<Response> | Response
}

/** A request whose parts were read by the schemas of a route. */
export type ReadRequest = Omit<Asked<RequestParts>, keyof RequestParts> & {
  readonly [Part in keyof Required<RequestParts>]: unknown
}

/** A route that keeps the types of its parts for its handler. */
export const route = <const Parts extends RequestParts>(
  place: Omit<Route, 'handle' | keyof RequestParts>,
  parts: Parts,
  handle: (asked: Asked<Parts>) => Promise<Response> | Response,
): Route => ({ ...place, ...parts, handle: handle as Route['handle'] })

/** The fields of an input of a contract, which is an object, without those that stand in the path. */
export function fieldsOf(input: z.ZodType, leftOut: readonly string[] = []): z.ZodObject {
  if (!(input instanceof z.ZodObject)) throw new TypeError('The input of a contract is an object.')
  const { shape } = input as z.ZodObject
  return z.strictObject(Object.fromEntries(Object.entries(shape).filter(([name]) => !leftOut.includes(name))))
}

/** The user for whom a task is, in the body of a request. */
export const forUser = foreignId
  .optional()
  .describe(
    'The user for whom the task is. Absent: the user of the token, if it has one. A token with a user may name no other.',
  )

/**
 * The user in a query string, which has texts only. Its description is that of HTTP: a token may have a user.
 */
const ofUser = z
  .string()
  .min(1)
  .max(128)
  .optional()
  .describe('Only what belongs to this user. Absent: everything that the token reaches.')

/** Reads a part of a request. @throws {HttpProblem} `invalid_arguments`, with the path of each problem */
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

/** @throws {HttpProblem} `unsupported_media_type` */
export function mustBeJson(headers: Pick<Headers, 'get'>): void {
  const type = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/json' && !type.endsWith('+json'))
    throw new HttpProblem(
      'unsupported_media_type',
      `The body has the type ${JSON.stringify(type)}. Send JSON with "Content-Type: application/json".`,
    )
}

/** The fields of a query string. What the schema wants as a number or a truth value is read as one. */
export function queryFields(schema: z.ZodObject, params: URLSearchParams): Record<string, unknown> {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input' }) as {
    properties?: Readonly<Record<string, { readonly type?: string }>>
  }
  return Object.fromEntries([...params].map(([name, text]) => [name, valueOf(text, properties[name]?.type)]))
}

function valueOf(text: string, type: string | undefined): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** The fields of a query in a query string, without those that stand in the path. */
export function queryFieldsOf(query: QueryName, leftOut: readonly string[]): z.ZodObject {
  const fields = fieldsOf(queryContracts[query].input, leftOut)
  return 'user_id' in fields.shape ? fields.extend({ user_id: ofUser }) : fields
}

/**
 * A route that asks the read model. What stands in the path is left out of the query. A caller who reaches
 * one user asks for that user.
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

/** Asks the read model. @param input as the request gave it; the fields of the path are among them */
export const asked = <Name extends QueryName>(
  { host, caller }: Pick<ReadRequest, 'host' | 'caller'>,
  name: Name,
  input: Readonly<Record<string, unknown>>,
): Promise<QueryOutput<Name>> =>
  host.client().query(name, queryContracts[name].input.parse(withinReach(caller, input)) as QueryInput<Name>)

/**
 * A query without a user, such as `status`, is in no route of a token with a user. @throws {HttpProblem}
 * `not_allowed` if it asks for another user
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
