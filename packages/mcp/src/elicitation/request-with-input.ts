// Sends a request to a server that may want input first. In the protocol of 2026 its answer names the input,
// and the request is sent again with the answers, a bounded number of times. In that of 2025 the server asks
// by its own request (link.ts), or refuses until a person has opened a URL. The server's state goes back to
// it unchanged, and is kept nowhere.
import { type ToolContext, ToolFailure } from '@beaver/agent'
import { type Clock, pause } from '@beaver/core'
import { type TraceContext, traceHeaders } from '@beaver/core/trace'
import { questionBounds } from '@beaver/core/question'
import {
  type Client,
  isInputRequiredResult,
  SdkError,
  SdkErrorCode,
  type StandardSchemaV1,
  UrlElicitationRequiredError,
  withInputRequired,
} from '@modelcontextprotocol/client'
import type { CallInputs } from './call-inputs.ts'

export interface RequestOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly inputs: CallInputs
  readonly headers?: Readonly<Record<string, string>>
  /** Gets the server's notifications of progress. */
  readonly progress: ToolContext['progress']
  /** The trace of the call, of which the server is told. Absent: it is not told. */
  readonly trace?: TraceContext | undefined
}

interface Request {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

const roundsMax = questionBounds.ofCall
const inputsMax = 100
/** Between two requests when the server wants time and no answer. */
const pauseMs = 250
/** The caller's signal ends a request. The time of a call stops during a question, so no timer may end it. */
const neverMs = 2_147_483_647

/** @throws the client's error; {ToolFailure} `too_many_questions`, `mcp_refused` */
export async function requestWithInput<Schema extends StandardSchemaV1>(
  client: Client,
  { method, params }: Request,
  schema: Schema,
  { clock, signal, inputs, progress, trace, headers = {} }: RequestOptions,
): Promise<StandardSchemaV1.InferOutput<Schema>> {
  // A server reads the trace in `_meta` (SEP-414), and what stands before it in the headers of HTTP.
  const options = {
    timeout: neverMs,
    signal,
    headers: { ...headers, ...traceHeaders(trace) },
    allowInputRequired: true,
    onprogress: progress,
  }
  const meta = trace === undefined ? {} : { _meta: traceHeaders(trace) }
  let answered: Request['params'] = {}
  for (let round = 0; ; round++) {
    try {
      const result: unknown = await client.request(
        { method, params: { ...params, ...answered, ...meta } },
        withInputRequired(schema),
        options,
      )
      if (!isInputRequiredResult(result)) return result as StandardSchemaV1.InferOutput<Schema>
      if (round >= roundsMax) throw tooMany()
      const responses = await responsesTo(result.inputRequests ?? {}, inputs)
      if (Object.keys(responses).length === 0) await pause(clock, pauseMs, signal)
      answered = {
        inputResponses: responses,
        ...(result.requestState === undefined ? {} : { requestState: result.requestState }),
      }
    } catch (error) {
      if (!(error instanceof UrlElicitationRequiredError)) throw error
      if (round >= roundsMax) throw tooMany()
      await open(error, inputs)
    }
    signal.throwIfAborted()
  }
}

const tooMany = (): ToolFailure =>
  new ToolFailure(
    'too_many_questions',
    `The server still wanted input after ${roundsMax} rounds, so the call was given up.`,
  )

/** One at a time in the server's order, because recorded answers are given again in this order. */
async function responsesTo(
  requests: Readonly<Record<string, unknown>>,
  inputs: CallInputs,
): Promise<Record<string, unknown>> {
  const entries = Object.entries(requests)
  if (entries.length > inputsMax)
    throw new SdkError(SdkErrorCode.InvalidResult, `it asks ${entries.length} things at once`)
  const responses: [string, unknown][] = []
  for (const [key, entry] of entries) {
    const { method, params } = (entry ?? {}) as { readonly method?: unknown; readonly params?: unknown }
    if (method !== 'elicitation/create')
      throw new SdkError(
        SdkErrorCode.InvalidResult,
        `it asks for ${String(method).slice(0, 100)}, which Beaver does not offer`,
      )
    responses.push([key, await inputs.answer(params)])
  }
  return Object.fromEntries(responses)
}

async function open(
  { elicitations, message }: UrlElicitationRequiredError,
  inputs: CallInputs,
): Promise<void> {
  const refused = (): ToolFailure =>
    new ToolFailure(
      'mcp_refused',
      `The server wants a person to open a page first, and nobody did: ${message.slice(0, 500)}`,
    )
  if (elicitations.length === 0 || elicitations.length > inputsMax) throw refused()
  for (const each of elicitations) {
    const { action } = await inputs.answer({ ...each, mode: 'url' })
    if (action !== 'accept') throw refused()
  }
}
