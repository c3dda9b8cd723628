// Turns the outcome of an MCP tool call into bounded text and images for a model. Of other content the model
// reads the type and the size. Every failure has a code and a sentence.
import { type ExternalImage, type ExternalResult, ToolFailure } from '@beaver/agent'
import { type JsonObject, messageOf } from '@beaver/core'
import { schemaMismatch } from '@beaver/core/evidence'
import {
  type CallToolResult,
  type ContentBlock,
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client'
import { LoginNeeded } from '../oauth/oauth-access.ts'

const resultCharsMax = 200_000
/** The journal has the name of each image that is shown. */
const nameCharsMax = 200

export function failed(error: string, content: string): ExternalResult {
  return { success: false, content: bounded(content), error }
}

/** @param outputSchema the server's schema of structured results */
export function resultOf(
  { content, structuredContent, isError }: CallToolResult,
  outputSchema?: JsonObject,
): ExternalResult {
  const images: ExternalImage[] = []
  const parts = content.map((block) => textOf(block, images))
  const structured = structuredContent === undefined ? null : JSON.stringify(structuredContent)
  // Servers repeat the structured content as text for older clients, so it is shown once.
  if (
    structured !== null &&
    !content.some((block) => block.type === 'text' && sameJson(block.text, structured))
  )
    parts.push(structured)
  const text = bounded(parts.filter((part) => part !== '').join('\n'))
  const shown = images.length === 0 ? {} : { images }
  if (isError === true)
    return {
      success: false,
      content: text === '' ? 'The tool failed and did not say why.' : text,
      error: 'mcp_tool_failed',
      ...shown,
    }
  const misfit = outputSchema === undefined ? null : misfitOf(structuredContent, outputSchema)
  const shownText = text === '' ? 'The tool gave an empty answer.' : text
  return {
    success: true,
    content: misfit === null ? shownText : `${shownText}\n[Beaver: the structured content ${misfit}]`,
    error: null,
    ...shown,
  }
}

const misfitOf = (structuredContent: unknown, schema: JsonObject): string | null =>
  structuredContent === undefined
    ? 'is missing, although the tool has an output schema'
    : schemaMismatch(schema, JSON.stringify(structuredContent))

/** @param images gets the images */
function textOf(block: ContentBlock, images: ExternalImage[]): string {
  const shown = (data: string, name: string): void =>
    void images.push({ content: new Uint8Array(Buffer.from(data, 'base64')), name })
  switch (block.type) {
    case 'text':
      return block.text
    case 'image': {
      const name = `#${images.length + 1}`
      shown(block.data, name)
      return `[image ${name}, ${block.mimeType}, ${bytesOf(block.data)} bytes]`
    }
    case 'audio':
      return `[audio ${block.mimeType}, ${bytesOf(block.data)} bytes, not shown]`
    case 'resource_link':
      return `[link to ${block.name}: ${block.uri}${block.mimeType === undefined ? '' : `, ${block.mimeType}`}]`
    case 'resource': {
      const { uri, mimeType = 'no type' } = block.resource
      if ('text' in block.resource)
        return `[resource ${uri}, ${mimeType}, ${block.resource.text.length} characters]\n${block.resource.text}`
      const isImage = mimeType.startsWith('image/')
      if (isImage) shown(block.resource.blob, uri.slice(0, nameCharsMax))
      return `[resource ${uri}, ${mimeType}, ${bytesOf(block.resource.blob)} bytes${isImage ? '' : ', not shown'}]`
    }
    default:
      return block satisfies never
  }
}

const bytesOf = (base64: string): number => Math.floor((base64.replace(/=+$/, '').length * 3) / 4)

function sameJson(text: string, json: string): boolean {
  if (text === json) return true
  if (text.length > 4 * json.length + 1_000) return false
  try {
    return JSON.stringify(JSON.parse(text)) === json
  } catch {
    return false
  }
}

function bounded(text: string): string {
  return text.length <= resultCharsMax
    ? text
    : `${text.slice(0, resultCharsMax)}\n[cut: ${text.length - resultCharsMax} more characters]`
}

/** The outcome of a call that threw. `lost`: the connection cannot be used any more. */
export interface CallFailure {
  readonly result: ExternalResult
  readonly lost: 'no' | 'yes' | 'perhaps'
}

export function failureOf(
  error: unknown,
  call: { server: string; tool: string; timeoutMs: number; signal: AbortSignal },
): CallFailure {
  const { server, tool, timeoutMs, signal } = call
  const says = (code: string, message: string, lost: CallFailure['lost'] = 'no'): CallFailure => ({
    result: failed(code, message),
    lost,
  })
  if (signal.aborted) return says('cancelled', `The call of ${tool} was stopped.`)
  if (error instanceof ToolFailure)
    return says(error.code, `The call of ${tool} of the MCP server ${server} failed: ${error.message}`)
  if (error instanceof LoginNeeded)
    return says(
      'mcp_login_needed',
      `The MCP server ${server} refused the call of ${tool}: ${error.message}`,
      'yes',
    )
  if (error instanceof InsufficientScopeError)
    return says('mcp_login_needed', scopeMessage(error, server, tool))
  if (error instanceof ProtocolError)
    return says('mcp_refused', `The MCP server ${server} refused the call of ${tool}: ${error.message}`)
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return says(
      'tool_timeout',
      `The MCP server ${server} did not answer the call of ${tool} within ${timeoutMs / 1000} s.`,
      'perhaps',
    )
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
    return says(
      'mcp_bad_answer',
      `The MCP server ${server} answered the call of ${tool} with something that is not a result.`,
    )
  if (error instanceof SdkHttpError && error.status !== undefined && error.status !== 404) {
    const why =
      error.status === 401 || error.status === 403
        ? '; its "headers" in the configuration may lack a key'
        : ''
    return says(
      'mcp_refused',
      `The MCP server ${server} answered the call of ${tool} with HTTP ${error.status}${why}.`,
    )
  }
  if (error instanceof SdkError && !lostCodes.has(error.code))
    return says(
      'mcp_bad_answer',
      `The call of ${tool} of the MCP server ${server} failed: ${messageOf(error)}`,
    )
  return says(
    'mcp_server_down',
    `The MCP server ${server} was lost during the call of ${tool} (${messageOf(error)}). Nobody knows whether the call was carried out.`,
    'yes',
  )
}

const scopeMessage = ({ requiredScope }: InsufficientScopeError, server: string, tool: string): string =>
  `The login at the MCP server ${server} does not allow the call of ${tool}. A person can log in with more rights: ${loginCommand(server, requiredScope)}`

/** The command for more rights. A scope is the server's text, so it is left out unless it is plain. */
export function loginCommand(server: string, scope: string | undefined): string {
  const isPlain = scope !== undefined && /^[\w.:/-]+( [\w.:/-]+)*$/.test(scope) && scope.length <= 500
  return `beaver mcp login ${server}${isPlain ? ` --scope ${JSON.stringify(scope)}` : ''}`
}

const lostCodes: ReadonlySet<string> = new Set([
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
  SdkErrorCode.ClientHttpNotImplemented,
  SdkErrorCode.ClientHttpFailedToOpenStream,
])
