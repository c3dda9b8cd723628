// Tools that Beaver makes of a server's resources and prompts, if the server and the configuration allow it.
// Their names and descriptions are ours, so they have no pin; their results are the server's text. A tool of
// the server with the same name takes precedence. Beaver asks only for resources that the configuration
// names.
import type { ExternalResult } from '@beaver/agent'
import type { JsonObject } from '@beaver/core'
import {
  type CallToolResult,
  type Client,
  SdkError,
  SdkErrorCode,
  specTypeSchemas,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import { type RequestOptions, requestWithInput } from '../elicitation/request-with-input.ts'
import { failed, resultOf } from './call-result.ts'
import type { ListedTool } from './list-tools.ts'
import { headersOfCall, mirroredHeaders } from './mirrored-headers.ts'
import type { McpServerSpec } from './server-spec.ts'

export type OwnAct = 'list_resources' | 'read_resource' | 'list_prompts' | 'get_prompt'

export interface OwnTool extends ListedTool {
  readonly act: OwnAct
}

const pagesMax = 64
const entriesMax = 500
const uriCharsMax = 8_000
const lineCharsMax = 500

const made = (
  act: OwnAct,
  description: string,
  properties: Record<string, object>,
  required: readonly string[] = [],
): OwnTool => {
  const inputSchema = { type: 'object', properties, required, additionalProperties: false }
  const bytes = Buffer.byteLength(JSON.stringify([act, description, inputSchema]))
  return { act, name: act, description, inputSchema, idempotent: true, hash: '', definition: '', bytes }
}

const ofResources = [
  made('list_resources', 'Lists the resources of this server, and the templates for the URIs of more.', {}),
  made(
    'read_resource',
    'Reads a resource of this server.',
    { uri: { type: 'string', description: 'Its URI, as the list has it or as a template makes it.' } },
    ['uri'],
  ),
]
const ofPrompts = [
  made('list_prompts', 'Lists the prompts that this server has written for a task of its own.', {}),
  made(
    'get_prompt',
    'Gets the text of a prompt of this server.',
    { name: { type: 'string' }, arguments: { type: 'object', additionalProperties: { type: 'string' } } },
    ['name'],
  ),
]

/** Whether Beaver made this tool. */
export const isOwnTool = (tool: ListedTool): tool is OwnTool => 'act' in tool

/** @param listed the server's own tools */
export function ownTools(
  client: Client,
  { tools, resources = tools === undefined, prompts = false }: McpServerSpec,
  listed: readonly ListedTool[],
): OwnTool[] {
  const { resources: hasResources, prompts: hasPrompts } = client.getServerCapabilities() ?? {}
  const own = [
    ...(hasResources !== undefined && resources !== false ? ofResources : []),
    ...(hasPrompts !== undefined && prompts ? ofPrompts : []),
  ]
  return own.filter(({ name }) => listed.every((tool) => tool.name !== name))
}

/** @throws the client's error */
export async function callOwnTool(
  client: Client,
  act: OwnAct,
  args: JsonObject,
  { patterns, ...options }: ToolCallOptions & { patterns: readonly string[] | null },
): Promise<ExternalResult> {
  const ask = <Schema extends z.ZodType>(
    method: string,
    params: Record<string, unknown>,
    schema: Schema,
  ): Promise<z.output<Schema>> =>
    requestWithInput(client, { method, params }, schema, options) as Promise<unknown> as Promise<
      z.output<Schema>
    >
  switch (act) {
    case 'list_resources': {
      const found = await pages(ask, 'resources/list', 'resources')
      const templates = await pages(ask, 'resources/templates/list', 'resourceTemplates').catch(() => [])
      const allowed = found.filter(({ uri }) => typeof uri === 'string' && isAllowed(uri, patterns))
      return text(
        [
          ...allowed.map((each) => line('uri', each)),
          ...templates.map((each) => `template ${line('uriTemplate', each)}`),
        ],
        'This server lists no resources.',
      )
    }
    case 'read_resource': {
      const { uri } = args
      if (typeof uri !== 'string' || uri === '' || uri.length > uriCharsMax)
        return failed('invalid_tool_arguments', 'The argument "uri" must be the URI of a resource.')
      if (!isAllowed(uri, patterns))
        return failed(
          'resource_refused',
          `The configuration does not allow the resource ${uri}. Use one of those that list_resources lists.`,
        )
      const { contents } = await ask(
        'resources/read',
        { uri },
        z.looseObject({ contents: z.array(z.unknown()).max(1_000) }),
      )
      return content(contents.map((resource) => ({ type: 'resource', resource })))
    }
    case 'list_prompts':
      return text(
        (await pages(ask, 'prompts/list', 'prompts')).map(
          (each) => `${line('name', each)}${argumentsOf(each)}`,
        ),
        'This server has no prompts.',
      )
    case 'get_prompt': {
      const { name, arguments: given = {} } = args
      if (typeof name !== 'string')
        return failed('invalid_tool_arguments', 'The argument "name" must be the name of a prompt.')
      const { messages } = await ask(
        'prompts/get',
        { name, arguments: given },
        z.looseObject({ messages: z.array(z.looseObject({ content: z.unknown() })).max(1_000) }),
      )
      return content(messages.map((message) => message.content))
    }
    default:
      return act satisfies never
  }
}

type Ask = (
  method: string,
  params: Record<string, unknown>,
  schema: typeof entryPage,
) => Promise<z.output<typeof entryPage>>
type Entry = Readonly<Record<string, unknown>>
const entryPage = z.looseObject({ nextCursor: z.string().optional() })

async function pages(ask: Ask, method: string, field: string): Promise<Entry[]> {
  const entries: Entry[] = []
  let cursor: string | undefined
  for (let page = 0; page < pagesMax && entries.length < entriesMax; page++) {
    const read: Entry & { readonly nextCursor?: string | undefined } = await ask(
      method,
      cursor === undefined ? {} : { cursor },
      entryPage,
    )
    const listed = read[field]
    if (Array.isArray(listed))
      entries.push(...listed.filter((each): each is Entry => typeof each === 'object' && each !== null))
    if (read.nextCursor === undefined || read.nextCursor === cursor) break
    cursor = read.nextCursor
  }
  return entries.slice(0, entriesMax)
}

function line(key: string, entry: Entry): string {
  const parts = [entry[key], key === 'name' ? null : entry['name'], entry['mimeType'], entry['description']]
  return parts
    .filter((part): part is string => typeof part === 'string' && part !== '')
    .join(' · ')
    .replace(/\s+/g, ' ')
    .slice(0, lineCharsMax)
}

function argumentsOf({ arguments: args }: Entry): string {
  if (!Array.isArray(args) || args.length === 0) return ''
  const names = args.map((each: unknown) =>
    typeof each === 'object' && each !== null
      ? String((each as Entry)['name']) + ((each as Entry)['required'] === true ? '' : '?')
      : '',
  )
  return ` (${names.join(', ').slice(0, lineCharsMax)})`
}

function content(blocks: readonly unknown[]): ExternalResult {
  const read = specTypeSchemas.CallToolResult['~standard'].validate({ content: blocks })
  return read.issues === undefined
    ? resultOf(read.value)
    : failed('mcp_bad_answer', 'The server answered with something that is not its content.')
}

const text = (lines: readonly string[], none: string): ExternalResult => ({
  success: true,
  content: lines.length === 0 ? none : lines.join('\n'),
  error: null,
})
const isAllowed = (uri: string, patterns: readonly string[] | null): boolean =>
  patterns === null || matchesAny(patterns, uri)

// Compares the URI of a resource with the configured patterns. `*` means any text. A path that leads upwards
// matches none, because the server may read it as another resource.

/** @example matchesAny(['docs://*'], 'docs://a/b') // true */
export function matchesAny(patterns: readonly string[], uri: string): boolean {
  if (/(^|[/\\]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i.test(uri)) return false
  return patterns.some((pattern) => matches(pattern.split('*'), uri))
}

/** In linear time, because the URI comes from a model. */
function matches([first = '', ...rest]: readonly string[], uri: string): boolean {
  if (!uri.startsWith(first)) return false
  const last = rest.pop()
  if (last === undefined) return uri === first
  let at = first.length
  for (const part of rest) {
    const found = uri.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return uri.length - last.length >= at && uri.endsWith(last)
}

type ToolCallOptions = Omit<RequestOptions, 'headers'>

const answer = z.looseObject({ content: z.array(z.unknown()) })

/**
 * Sends one call, over HTTP in the protocol of 2026 with the headers of the tool's schema. A result without
 * `content` counts as none, because every version of the protocol demands it. @throws the client's error
 */
export async function callTool(
  client: Client,
  tool: ListedTool,
  args: JsonObject,
  options: ToolCallOptions,
): Promise<CallToolResult> {
  const read = client.getProtocolEra() === 'modern' ? mirroredHeaders(tool.inputSchema) : null
  const headers = read?.kind === 'valid' ? headersOfCall(read.mirrored, args) : {}
  const request = { method: 'tools/call', params: { name: tool.name, arguments: { ...args } } }
  const received = await requestWithInput(client, request, answer, { ...options, headers })
  const result = specTypeSchemas.CallToolResult['~standard'].validate(received)
  if (result.issues !== undefined)
    throw new SdkError(SdkErrorCode.InvalidResult, 'the content is not that of a result')
  return result.value
}
