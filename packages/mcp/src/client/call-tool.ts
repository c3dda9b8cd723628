// Sends one call of a tool and reads its result. A result has `content`, as every version of the protocol
// demands. Something else is no result. Over HTTP in the protocol of 2026, arguments are mirrored into
// headers as the tool's schema says.
import type { JsonObject } from '@beaver/core'
import {
  type CallToolResult,
  type Client,
  SdkError,
  SdkErrorCode,
  specTypeSchemas,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { ListedTool } from './list-tools.ts'
import { headersOfCall, mirroredHeaders } from './mirrored-headers.ts'
import { type RequestOptions, requestWithInput } from '../elicitation/request-with-input.ts'

export type ToolCallOptions = Omit<RequestOptions, 'headers'>

const answer = z.looseObject({ content: z.array(z.unknown()) })

/** @throws the client's error */
export async function callTool(
  client: Client,
  tool: ListedTool,
  args: JsonObject,
  options: ToolCallOptions,
): Promise<CallToolResult> {
  const read = client.getProtocolEra() === 'modern' ? mirroredHeaders(tool.inputSchema) : null
  const headers = read?.kind === 'valid' ? headersOfCall(read.mirrored, args) : {}
  const request = { method: 'tools/call', params: { name: tool.name, arguments: { ...args } } }
  const given = await requestWithInput(client, request, answer, { ...options, headers })
  const result = specTypeSchemas.CallToolResult['~standard'].validate(given)
  if (result.issues !== undefined)
    throw new SdkError(SdkErrorCode.InvalidResult, 'the content is not that of a result')
  return result.value
}
