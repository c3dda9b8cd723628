// A request of JSON-RPC 2.0, as it came. One request comes at a time. A batch is refused: A2A has none, and
// its parts could not be refused by HTTP one by one.
import { A2A_ERROR_CODE } from '@a2a-js/sdk/errors'
import { problemsOf, problemsText } from '@beaver/core'
import { z } from 'zod'
import type { RpcError } from './failure.ts'

export type RpcId = string | number | null

export const rpcRequest = z.looseObject({
  jsonrpc: z.literal('2.0', { message: 'must be "2.0"' }),
  id: z
    .union([z.string().max(1_000), z.int()])
    .nullish()
    .describe('Names the answer. A number or a text.'),
  method: z
    .string()
    .min(1)
    .max(100)
    .describe(
      'SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, or GetExtendedAgentCard.',
    ),
  params: z.record(z.string(), z.unknown()).nullish().describe('As the specification of A2A 1.0 says.'),
})

export type Envelope =
  | {
      readonly kind: 'request'
      readonly id: RpcId
      readonly method: string
      readonly params: Readonly<Record<string, unknown>>
    }
  | { readonly kind: 'refused'; readonly id: RpcId; readonly error: RpcError }

export function readEnvelope(body: string): Envelope {
  const refused = (code: number, message: string, id: RpcId = null): Envelope => ({
    kind: 'refused',
    id,
    error: { code, message },
  })
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch (error) {
    return refused(A2A_ERROR_CODE.PARSE_ERROR, `The body is not JSON: ${(error as Error).message}.`)
  }
  if (Array.isArray(value))
    return refused(A2A_ERROR_CODE.INVALID_REQUEST, 'A batch is not supported. Send one request at a time.')
  const read = rpcRequest.safeParse(value)
  if (read.success)
    return {
      kind: 'request',
      id: read.data.id ?? null,
      method: read.data.method,
      params: read.data.params ?? {},
    }
  const id = rpcRequest.shape.id.safeParse((value as { readonly id?: unknown } | null)?.id)
  const problems = problemsText(problemsOf(read.error.issues, value))
  return refused(
    A2A_ERROR_CODE.INVALID_REQUEST,
    `The body is no request of JSON-RPC 2.0: ${problems}.`,
    id.data ?? null,
  )
}

export const rpcResult = (id: RpcId, result: unknown): object => ({ jsonrpc: '2.0', id, result })

export const rpcRefusal = (id: RpcId, error: RpcError): object => ({ jsonrpc: '2.0', id, error })
