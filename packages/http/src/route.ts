// What a route is: where it is, who may use it, what it reads and what it answers. The document of the interface follows from the same data.
import { queryContracts, type QueryInput, type QueryName, type QueryOutput } from '@beaver/contracts'
import { problemsOf } from '@beaver/core'
import { z } from 'zod'
import type { Caller, TokenRole } from './access.ts'
import type { TaskHost } from './host.ts'
import { HttpProblem } from './problem.ts'
import type { StreamOptions } from './sse.ts'

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
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal
  /** Whether the caller accepts an event stream rather than JSON. */
  readonly streamed: boolean
}

/** What the handlers need to know of the app's configuration and of the reader of a stream. */
export interface RouteOptions extends StreamOptions {
  /** The absolute path to which a relative `workspace_dir` is relative. `null`: only absolute paths are taken. */
  readonly workspaceRoot: string | null
  /** How long a request waits for its task, in milliseconds. */
  readonly runMsMax: number
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
  /** `null`: anybody who reaches the app may use it. */
  readonly role: TokenRole | null
  readonly answer: RouteAnswer
  handle(asked: ReadRequest): Promise<Response> | Response
}

/** A request whose parts were read by the schemas of a route. */
export type ReadRequest = Omit<Asked<RequestParts>, keyof RequestParts> & { readonly [Part in keyof Required<RequestParts>]: unknown }

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

/** Reads a part of a request. @throws {HttpProblem} `invalid_arguments`, with the path of each problem */
export function readPart(schema: z.ZodType, place: 'path' | 'query' | 'headers' | 'body', value: unknown): unknown {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  const problems = problemsOf(read.error.issues, value, place)
  const [first] = problems
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
  throw new HttpProblem('invalid_arguments', `The request is not valid: ${first?.path} ${first?.message}${more}.`, { problems })
}

/** The fields of a query string. What the schema wants as a number or a truth value is read as one. */
export function queryFields(schema: z.ZodObject, params: URLSearchParams): Record<string, unknown> {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input' }) as { properties?: Readonly<Record<string, { readonly type?: string }>> }
  return Object.fromEntries([...params].map(([name, text]) => [name, valueOf(text, properties[name]?.type)]))
}

function valueOf(text: string, type: string | undefined): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** A route that asks the read model. What stands in the path is left out of the query. */
export function queryRoute(
  query: QueryName,
  place: Pick<Route, 'tag' | 'at' | 'name'> & { readonly gives: string; readonly path?: z.ZodObject },
  /** What is asked for a caller. Default: what the caller asks. */
  askedFor: (input: Readonly<Record<string, unknown>>, caller: Caller) => Readonly<Record<string, unknown>> = (input) => input,
): Route {
  const { gives, path, ...at } = place
  const { says, input, output } = queryContracts[query]
  return route(
    { ...at, method: 'get', role: 'read', says, answer: { status: 200, says: gives, schema: output } },
    { ...(path === undefined ? {} : { path }), query: fieldsOf(input, Object.keys(path?.shape ?? {})) },
    async (request) => json(await asked(request, query, askedFor({ ...request.query, ...((request as ReadRequest).path as object) }, request.caller))),
  )
}

/** Asks the read model. @param input as the request gave it; the fields of the path are among them */
export const asked = <Name extends QueryName>(
  { host }: Pick<ReadRequest, 'host'>,
  name: Name,
  input: Readonly<Record<string, unknown>>,
): Promise<QueryOutput<Name>> => host.client().query(name, queryContracts[name].input.parse(input) as QueryInput<Name>)

export const json = (value: unknown, init: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {}): Response =>
  Response.json(value, { status: init.status ?? 200, headers: { 'cache-control': 'no-store', ...init.headers } })
