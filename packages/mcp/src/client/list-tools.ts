// Lists the tools of a server from all its pages. A tool that cannot be used is left out and reported. A
// workflow tool of Beaver's own server is also left out; only its name is kept (own-server.ts).
import { createHash } from 'node:crypto'
import { canonicalJson, type JsonObject } from '@beaver/core'
import { outputSchema } from '@beaver/core/evidence'
import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { isOwnServer, isOwnWorkflow } from '../own-server.ts'
import { type MirroredHeaders, mirroredHeaders } from './mirrored-headers.ts'
import { offeredSchema, schemaKeywords } from './offered-schema.ts'

export interface ListedTool {
  readonly name: string
  readonly description: string
  /** In the form that model providers take. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** The server's schema of structured results. Absent: none that can be checked. */
  readonly outputSchema?: JsonObject
  /** The server's own statement, used only as a hint. */
  readonly idempotent: boolean
  /** SHA-256 of the canonical JSON of name, description, inputSchema and annotations. */
  readonly hash: string
  /** The hashed text, cut to a bound, for people. */
  readonly definition: string
  /** The bytes that it adds to a request to a model. */
  readonly bytes: number
}

export interface LeftOut {
  readonly tool: string
  readonly reason: string
}

export interface Listing {
  readonly tools: readonly ListedTool[]
  readonly leftOut: readonly LeftOut[]
  /** Beaver's own workflow tools. */
  readonly workflows: readonly string[]
  /** Whether the server is Beaver's own. */
  readonly isBeaver: boolean
}

const toolsMax = 1_000
const pagesMax = 64
const nameCharsMax = 256
/** OpenAI refuses a whole request with a longer description. */
const descriptionCharsMax = 1_024
const schemaCharsMax = 64_000
const definitionCharsMax = 4_000

const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })
const named = z.looseObject({ name: z.string().min(1).max(nameCharsMax) })
const tool = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: z.looseObject({ type: z.literal('object') }),
  outputSchema: z.unknown().optional(),
  _meta: z.record(z.string(), z.unknown()).optional().catch(undefined),
  annotations: z
    .looseObject({ readOnlyHint: z.boolean().optional(), idempotentHint: z.boolean().optional() })
    .optional(),
})

export interface ListOptions {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Whether the server is reached over HTTP, where headers may repeat arguments. */
  readonly http: boolean
}

/** @throws the client's error if the server does not answer with a list */
export async function listTools(client: Client, options: ListOptions): Promise<Listing> {
  const tools = new Map<string, ListedTool>()
  const leftOut: LeftOut[] = []
  const workflows = new Set<string>()
  const isBeaver = isOwnServer(client)
  const listing = (more: readonly LeftOut[] = []): Listing => ({
    tools: [...tools.values()],
    leftOut: [...leftOut, ...more],
    workflows: [...workflows],
    isBeaver,
  })
  let cursor: string | undefined
  for (let pages = 1; ; pages++) {
    const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } }
    const listed = await client.request(request, page, { timeout: options.timeoutMs, signal: options.signal })
    for (const entry of listed.tools) {
      if (tools.size + leftOut.length + workflows.size >= toolsMax)
        return listing([beyond(`tool ${toolsMax}`)])
      const read = readTool(entry, { http: options.http, isBeaver })
      if ('workflow' in read) workflows.add(read.workflow)
      else if ('reason' in read) leftOut.push(read)
      else if (tools.has(read.name))
        leftOut.push({ tool: read.name, reason: 'is listed twice. The first one counts' })
      else tools.set(read.name, read)
    }
    if (listed.nextCursor === undefined || listed.nextCursor === cursor) break
    if (pages >= pagesMax) {
      leftOut.push(beyond(`page ${pagesMax}`))
      break
    }
    cursor = listed.nextCursor
  }
  return listing()
}

const beyond = (what: string): LeftOut => ({
  tool: '*',
  reason: `the list goes on after ${what}, and the rest is left out`,
})

function readTool(
  entry: unknown,
  { http, isBeaver }: { readonly http: boolean; readonly isBeaver: boolean },
): ListedTool | LeftOut | { readonly workflow: string } {
  const name = named.safeParse(entry)
  if (!name.success) return { tool: '?', reason: `has no name of 1 to ${nameCharsMax} characters` }
  const read = tool.safeParse(entry)
  if (!read.success) {
    const [issue] = read.error.issues
    const what =
      issue?.path[0] === 'inputSchema'
        ? 'its inputSchema is not that of an object'
        : `its ${String(issue?.path.join('.'))} is not valid`
    return { tool: name.data.name, reason: what }
  }
  if (isOwnWorkflow(read.data, isBeaver)) return { workflow: read.data.name }
  const { description = '', inputSchema, annotations } = read.data
  let definition: string
  let schemaChars: number
  try {
    definition = canonicalJson({
      name: read.data.name,
      description,
      inputSchema,
      annotations: annotations ?? null,
    })
    schemaChars = canonicalJson(inputSchema).length
  } catch {
    return { tool: read.data.name, reason: 'its inputSchema is nested too deep' }
  }
  if (schemaChars > schemaCharsMax)
    return { tool: read.data.name, reason: `its inputSchema is longer than ${schemaCharsMax} characters` }
  const offered = offeredSchema(inputSchema)
  const defect = schemaDefect(offered)
  if (defect !== null) return { tool: read.data.name, reason: defect }
  const headers: MirroredHeaders = http ? mirroredHeaders(offered) : { kind: 'valid', mirrored: [] }
  if (headers.kind === 'invalid') return { tool: read.data.name, reason: headers.reason }
  const kept = cut(description, descriptionCharsMax)
  return {
    name: read.data.name,
    description: kept,
    inputSchema: offered,
    ...outputSchemaOf(read.data.outputSchema),
    bytes: Buffer.byteLength(JSON.stringify([read.data.name, kept, offered])),
    idempotent: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
    hash: createHash('sha256').update(definition).digest('hex'),
    definition: cut(definition, definitionCharsMax),
  }
}

/** An unusual or broken schema proves nothing about a result, so it is not kept. */
function outputSchemaOf(schema: unknown): Pick<ListedTool, 'outputSchema'> {
  const read = outputSchema.safeParse(schema)
  return read.success ? { outputSchema: read.data } : {}
}

/** A text of at most `charsMax` characters, including the note. */
function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const kept = charsMax - noteCharsMax
  return `${text.slice(0, kept).toWellFormed()} [cut: ${text.length - kept} more characters]`
}

const noteCharsMax = 40

const typeNames: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
])
const { maps, lists, ones } = schemaKeywords

/**
 * What is plainly wrong in an input schema, as a clause for a person; `null` if nothing is. A model provider
 * refuses a whole request because of one such schema. Only two defects count: what no draft of JSON Schema
 * allows, and a reference to nothing. Each provider reports its own limits itself. The schema is not nested
 * too deep for recursion.
 *
 * @example
 * schemaDefect({ type: 'object', properties: { a: { type: 'text' } } })
 * // 'its inputSchema has the unknown type "text" at properties.a'
 */
export function schemaDefect(inputSchema: unknown): string | null {
  const defect = defectAt(inputSchema, []) ?? lostReference(inputSchema)
  return defect === null ? null : `its inputSchema ${defect}`
}

function defectAt(schema: unknown, path: readonly string[]): string | null {
  if (typeof schema === 'boolean') return null
  if (!isRecord(schema)) return `has something that is no schema${at(path)}`
  const { type, required, enum: values } = schema
  const types: readonly unknown[] = Array.isArray(type) ? type : type === undefined ? [] : [type]
  const unknown = types.find((each) => !typeNames.has(each))
  if (unknown !== undefined) return `has the unknown type ${JSON.stringify(unknown)}${at(path)}`
  if (
    required !== undefined &&
    typeof required !== 'boolean' &&
    !(Array.isArray(required) && required.every((each) => typeof each === 'string'))
  )
    return `has a "required" that is no list of names${at(path)}`
  if (values !== undefined && !Array.isArray(values)) return `has an "enum" that is no list${at(path)}`
  for (const [below, each] of schemasIn(schema)) {
    const defect = defectAt(each, [...path, ...below])
    if (defect !== null) return defect
  }
  return null
}

/** A `$ref` that names nothing in the schema, or that leads elsewhere, which no provider fetches. */
function lostReference(root: unknown): string | null {
  const anchors = new Set<string>()
  const references: string[] = []
  const look = (schema: unknown): void => {
    if (!isRecord(schema)) return
    const { $ref: reference, $anchor: anchor, $id: id, id: oldId } = schema
    if (typeof anchor === 'string') anchors.add(`#${anchor}`)
    for (const each of [id, oldId]) if (typeof each === 'string') anchors.add(each)
    if (typeof reference === 'string') references.push(reference)
    for (const [, each] of schemasIn(schema)) look(each)
  }
  look(root)
  const lost = references.find((each) => !anchors.has(each) && !leadsSomewhere(root, each))
  return lost === undefined ? null : `has a $ref that leads nowhere: ${lost.slice(0, 200)}`
}

function leadsSomewhere(root: unknown, reference: string): boolean {
  if (reference === '#') return true
  if (!reference.startsWith('#/')) return false
  let at: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return false
    at = (at as Readonly<Record<string, unknown>>)[name]
  }
  return true
}

/** Generators write `Record<string>` as `Record%3Cstring%3E`. */
function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

function* schemasIn(schema: Readonly<Record<string, unknown>>): Generator<[readonly string[], unknown]> {
  for (const key of maps) {
    const map = schema[key]
    if (map === undefined) continue
    if (!isRecord(map)) yield [[key], map]
    else for (const [name, each] of Object.entries(map)) yield [[key, name], each]
  }
  for (const key of lists) {
    const list = schema[key]
    if (list !== undefined)
      yield* Array.isArray(list)
        ? list.map((each, i): [string[], unknown] => [[key, String(i)], each])
        : [[[key], null] as const]
  }
  for (const key of ones) {
    const one = schema[key]
    // Before the draft of 2020, `items` may be a list.
    if (one !== undefined)
      yield* Array.isArray(one) && key === 'items'
        ? one.map((each, i): [string[], unknown] => [[key, String(i)], each])
        : [[[key], one] as const]
  }
}

const at = (path: readonly string[]): string =>
  path.length === 0 ? '' : ` at ${path.join('.').slice(0, 200)}`
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
