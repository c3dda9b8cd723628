// The routes of A2A 1.0: the cards, and one path for all methods of an agent. The version is checked before
// the method, because the same request may mean something else in another version. A request without a
// version is one of version 0.3. A failure before the first message of a stream is a normal answer, not a
// stream.
import { createHash } from 'node:crypto'
import { AgentCard } from '@a2a-js/sdk'
import { A2A_ERROR_CODE, VersionNotSupportedError } from '@a2a-js/sdk/errors'
import { BeaverError, problemsOf, problemsText } from '@beaver/core'
import { z } from 'zod'
import { mustHave } from '../access.ts'
import { agentNames, defaultAgent } from '../agents.ts'
import { HttpProblem } from '../problem.ts'
import { json, mustBeJson, type ReadRequest, type Route, route } from '../route.ts'
import { eventStream, type ServerSentEvent } from '../sse.ts'
import { begun } from '../reported-items.ts'
import type { Call } from './call.ts'
import { agentCard, spoken } from './card.ts'
import { isForHttp, type RpcError, rpcFailure } from './failure.ts'
import { methods } from './methods.ts'

// The request of JSON-RPC 2.0. A batch is refused, because A2A has none, and HTTP could not refuse single
// requests of a batch.

type RpcId = string | number | null

const rpcRequest = z.looseObject({
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

type Envelope =
  | {
      readonly kind: 'request'
      readonly id: RpcId
      readonly method: string
      readonly params: Readonly<Record<string, unknown>>
    }
  | { readonly kind: 'refused'; readonly id: RpcId; readonly error: RpcError }

function readEnvelope(body: string): Envelope {
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

const rpcResult = (id: RpcId, result: unknown): object => ({ jsonrpc: '2.0', id, result })

const rpcRefusal = (id: RpcId, error: RpcError): object => ({ jsonrpc: '2.0', id, error })

const inPath = z.strictObject({
  agent: z
    .string()
    .min(1)
    .max(256)
    .describe('beaver (the default profile), the name of a profile, or workflow:<id>.'),
})

/** The origin by which the caller reached the app. A proxy that ends TLS must set `X-Forwarded-Proto`. */
function originOf({ headers }: ReadRequest['request']): string {
  const scheme = headers.get('x-forwarded-proto') === 'https' ? 'https' : 'http'
  return `${scheme}://${headers.get('host') ?? ''}`
}

const cardSecondsMax = 300

function cardAnswer(request: ReadRequest['request'], agent: string): Response {
  const card = AgentCard.toJSON(agentCard({ agent, origin: originOf(request) }))
  const etag = `"${createHash('sha256').update(JSON.stringify(card)).digest('hex').slice(0, 32)}"`
  const headers = { etag, 'cache-control': `max-age=${cardSecondsMax}`, vary: 'host, x-forwarded-proto' }
  return request.headers.get('if-none-match') === etag
    ? new Response(null, { status: 304, headers })
    : json(card, { headers })
}

const cardPlace = {
  tag: 'a2a',
  method: 'get',
  answer: { status: 200, says: 'The card.', schema: z.looseObject({ name: z.string() }) },
} as const

const wellKnownCard = route(
  {
    ...cardPlace,
    role: null,
    at: '/.well-known/agent-card.json',
    name: 'showAgentCard',
    says: 'The card of the default agent (A2A 1.0).',
  },
  {},
  ({ request }) => cardAnswer(request, defaultAgent),
)

const cardOfAgent = route(
  {
    ...cardPlace,
    role: 'any',
    at: '/a2a/{agent}/.well-known/agent-card.json',
    name: 'showCardOfAgent',
    says: 'The card of an agent (A2A 1.0).',
  },
  { path: inPath },
  async ({ path: { agent }, request, host }) => {
    if (!(await agentNames(host)).includes(agent))
      throw new HttpProblem('not_found', `There is no agent ${JSON.stringify(agent)}.`)
    return cardAnswer(request, agent)
  },
)

const versionIn = z.looseObject({ 'A2A-Version': z.string().max(20).optional().describe('As the header.') })
const headers = z.object({
  'a2a-version': z.string().max(20).optional().describe('The version of A2A: 1.0.'),
})

const asking = route(
  {
    tag: 'a2a',
    role: 'any',
    method: 'post',
    at: '/a2a/{agent}',
    name: 'askAgent',
    says: 'A method of A2A 1.0 (JSON-RPC).',
    answer: {
      status: 200,
      says: 'The answer of the method.',
      schema: z.looseObject({ jsonrpc: z.literal('2.0') }),
      events:
        'SendStreamingMessage and SubscribeToTask: answers of JSON-RPC as data, each with a task, an update of its status or a piece of its artifact.',
    },
    readsBody: true,
  },
  { path: inPath, query: versionIn, headers, body: rpcRequest },
  async ({ path, query, headers: requestHeaders, request, host, caller, options, signal }) => {
    mustBeJson(request.headers)
    const envelope = readEnvelope(request.body)
    const { id } = envelope
    if (envelope.kind === 'refused') return json(rpcRefusal(id, envelope.error))
    const call: Call = { host, caller, options, signal, agent: path.agent, origin: originOf(request) }
    try {
      mustSpeak(requestHeaders['a2a-version'] ?? query['A2A-Version'] ?? '')
      const method = Object.hasOwn(methods, envelope.method) ? methods[envelope.method] : undefined
      if (method === undefined) return json(rpcRefusal(id, noMethod(envelope.method)))
      if (method.role !== null) mustHave(caller, method.role)
      const answer = await method.run(envelope.params, call)
      if (answer.kind === 'result') return json(rpcResult(id, answer.result))
      const stream = await begun(answer.results)
      if (stream === null)
        throw new BeaverError(
          options.closing() ? 'wrong_state' : 'timeout',
          'The task cannot be followed now. Send the same request again.',
        )
      const errorData = (error: unknown): object => rpcRefusal(id, rpcFailure(error, options.failed).error)
      return eventStream(enveloped(stream.all, id), { ...options, errorData })
    } catch (error) {
      if (isForHttp(error)) throw error
      const { status, headers: more, error: refusal } = rpcFailure(error, options.failed)
      return json(rpcRefusal(id, refusal), { status, headers: more })
    }
  },
)

async function* enveloped(results: AsyncGenerator, id: RpcId): AsyncGenerator<ServerSentEvent> {
  for await (const result of results) yield { data: rpcResult(id, result) }
}

/** @throws {VersionNotSupportedError} */
function mustSpeak(version: string): void {
  if (version === spoken) return
  const asked =
    version === '' ? 'has no version, which means 0.3' : `has the version ${JSON.stringify(version)}`
  throw new VersionNotSupportedError(
    `The request ${asked}. This agent speaks ${spoken}. Send the header "A2A-Version: ${spoken}".`,
  )
}

const noMethod = (name: string): { code: number; message: string } => ({
  code: A2A_ERROR_CODE.METHOD_NOT_FOUND,
  message: `There is no method ${JSON.stringify(name)}. The methods are ${Object.keys(methods).join(', ')}.`,
})

export const a2aRoutes: readonly Route[] = [wellKnownCard, cardOfAgent, asking]
