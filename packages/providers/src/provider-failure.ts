// Turns refusals, broken connections and errors within an answer into the failure class that decides what
// happens next. No raw error is kept as `cause`: bodies and headers may contain the key.
import { ProviderError, type RefusedTool, toolNameAtProvider, type ToolSchema } from '@beaver/agent'
import { systemClock } from '@beaver/core'
import type { FailureClass } from '@beaver/core/supervision'
import type { StreamEvent } from './response-body.ts'
import { field, type ServerError, serverErrorIn, serverErrorOf } from './server-error.ts'
import {
  saysLargerThanRate,
  saysNeverConnected,
  saysNoForm,
  saysNoFormBesideTools,
  saysNoSchema,
  saysNotInForm,
  saysOverflow,
  saysOverflowPlainly,
  saysQuotaUsedUp,
  saysRate,
  saysUnreadable,
  statusSaidBy,
} from './server-words.ts'

export interface AnsweringPlace {
  readonly host: string
  readonly model: string
  /** The variable with the key, such as `OPENAI_API_KEY`, so that a person knows what to check. */
  readonly keyName: string
  readonly redact: (text: string) => string
  /** The tools of the request. Absent: none. */
  readonly tools?: readonly ToolSchema[]
}

export interface CallPlace extends AnsweringPlace {
  readonly timeoutMs: number
  readonly idleMs: number
  readonly gaveUp: 'timeout' | 'idle' | null
}

export function providerErrorOf(error: unknown, place: CallPlace): ProviderError {
  if (error instanceof ProviderError) return error
  const endpoint = `The endpoint ${place.host}`
  if (place.gaveUp === 'idle') {
    return new ProviderError(
      'provider_timeout',
      `${endpoint} began to answer and then sent nothing for ${place.idleMs} ms.`,
    )
  }
  if (place.gaveUp === 'timeout')
    return new ProviderError('provider_timeout', `${endpoint} did not answer within ${place.timeoutMs} ms.`)
  if (error instanceof EndpointRefusal)
    return refused(error.status, { ...error.serverError, headers: error.headers, shown: true }, place)
  if (error instanceof SyntaxError) {
    return new ProviderError('malformed_output', `${endpoint} sent a stream in which something is not JSON.`)
  }
  const cause = deepest(error)
  const reason = place.redact(reasonOf(cause))
  const problem = saysNeverConnected(codeOf(cause))
    ? `cannot be reached: ${reason}. Check that it runs and that the base URL is right.`
    : `closed the connection before its answer was complete: ${reason}.`
  return new ProviderError('provider_unavailable', `${endpoint} ${problem}`)
}

/** A response whose status is not 2xx. */
export class EndpointRefusal extends Error {
  readonly status: number
  readonly serverError: ServerError
  readonly headers: Headers

  constructor(status: number, body: string, headers: Headers) {
    super(`The endpoint answered with the status ${status}.`)
    this.name = 'EndpointRefusal'
    this.status = status
    this.serverError = serverErrorIn(body)
    this.headers = headers
  }
}

/** An error in place of an answer: `{"error": {"code": 429, …}}`. `null` if there is no clear one. */
export function errorInAnswer(value: unknown, place: AnsweringPlace): ProviderError | null {
  const whole: unknown = Array.isArray(value) ? value[0] : value
  const error = field(whole, 'error') ?? bareError(whole)
  if (typeof error === 'string' && error !== '')
    return statusIn(whole) === null && !saysOverflow(serverErrorOf(whole))
      ? null
      : inTheMiddle(statusIn(whole), whole, place)
  if (typeof error !== 'object' || error === null) return null
  const status = statusIn(error)
  return status === null ? null : inTheMiddle(status, error, place)
}

/** An error of vLLM and Mistral without `error`: `{"object": "error", "message": …, "code": 400}`. */
function bareError(value: unknown): unknown {
  const named = field(value, 'object') === 'error' || field(value, 'type') === 'error'
  return named && typeof field(value, 'message') === 'string' && field(value, 'choices') === undefined
    ? value
    : undefined
}

/** An error among the events of a stream, by the event's name or its content; `null` if the event is none. */
export function errorOfEvent(event: StreamEvent, place: AnsweringPlace): ProviderError | null {
  if (event.kind === 'done') return null
  const error = field(event.value, 'error') ?? bareError(event.value)
  if (event.kind === 'data' && !error) return null
  return errorInAnswer(event.value, place) ?? inTheMiddle(statusIn(event.value), error ?? event.value, place)
}

/** The error in `{"choices": [{"error": {"code": 502, …}, "finish_reason": "error"}]}`, or `null`. */
export function errorInChoice(value: unknown, place: AnsweringPlace): ProviderError | null {
  const choices = field(value, 'choices')
  const error: unknown = Array.isArray(choices) ? field(choices[0], 'error') : undefined
  if (error === undefined || error === null) return null
  return errorInAnswer({ error }, place) ?? inTheMiddle(null, error, place)
}

/** `{"status": "failed", "error": {"code": "rate_limit_exceeded", …}}`. Servers may leave out the error. */
export function errorInResponse(response: unknown, place: AnsweringPlace): ProviderError {
  const error = field(response, 'error') ?? {}
  return errorInAnswer({ error }, place) ?? inTheMiddle(null, error, place)
}

/** The server's words in errors that came in place of an answer. */
const errorsInAnswers = new WeakMap<ProviderError, ServerError>()

/**
 * What a server said about a request that it does not take; `null` if the error is something else. Local
 * servers use various statuses for refusals of their chat template, and some begin a stream before they
 * check.
 */
export function refusalIn(error: unknown): ServerError | null {
  if (error instanceof EndpointRefusal)
    return [400, 404, 422, 500].includes(error.status) ? error.serverError : null
  return error instanceof ProviderError ? (errorsInAnswers.get(error) ?? null) : null
}

/** Which form of an answer the server refuses: this schema, any form beside tools, any schema, or none. */
export function refusedForm(said: ServerError): 'schema' | 'beside_tools' | 'form' | null {
  if (saysNoFormBesideTools(said)) return 'beside_tools'
  if (saysNoSchema(said)) return 'schema'
  return saysNoForm(said) ? 'form' : null
}

/** @param status `null`: unknown, and the server counts as broken unless its words say otherwise */
function inTheMiddle(status: number | null, error: unknown, place: AnsweringPlace): ProviderError {
  const serverError = serverErrorOf(error)
  const made = refused(
    status ?? (saysOverflow(serverError) ? 400 : 500),
    { ...serverError, headers: undefined, shown: false },
    place,
  )
  errorsInAnswers.set(made, serverError)
  return made
}

interface Refusal extends ServerError {
  readonly headers: Headers | undefined
  /** Whether the status is the response's own. */
  readonly shown: boolean
}

function refused(status: number, refusal: Refusal, place: AnsweringPlace): ProviderError {
  const serverText = place.redact(refusal.message)
  const { failureClass, explanation } = classify(status, { ...refusal, message: serverText }, place)
  const where = refusal.shown ? `(HTTP ${status})` : '(told instead of an answer)'
  const message = `The endpoint ${place.host} ${explanation} ${where}${serverText === '' ? '.' : `. It says: ${serverText}`}`
  return new ProviderError(failureClass, message, {
    status: refusal.shown ? status : null,
    retryAfterMs: retryAfterMs(refusal.headers),
    refusedTools:
      failureClass === 'provider_refused' && (status === 400 || status === 422)
        ? refusedTools({ ...refusal, message: serverText }, place.tools ?? [])
        : [],
  })
}

function classify(
  status: number,
  error: ServerError,
  place: AnsweringPlace,
): { failureClass: FailureClass; explanation: string } {
  if (saysQuotaUsedUp(error))
    return {
      failureClass: 'provider_refused',
      explanation: 'says that the account has nothing left: check its plan and billing',
    }
  switch (status) {
    case 401:
    case 403:
      return { failureClass: 'provider_refused', explanation: `refused the API key: check ${place.keyName}` }
    case 402:
      return {
        failureClass: 'provider_refused',
        explanation: 'asks for a payment: check the plan and billing of the account',
      }
    case 404:
      return {
        failureClass: 'provider_refused',
        explanation: `does not have the model ${place.model} or the path: check the model's name and the base URL`,
      }
    case 408:
      return { failureClass: 'provider_timeout', explanation: 'gave up waiting' }
    case 409:
    case 425:
      return { failureClass: 'provider_unavailable', explanation: 'could not take the request now' }
    case 413:
      return { failureClass: 'context_overflow', explanation: 'finds the request too large' }
    case 429:
      if (saysLargerThanRate(error))
        return {
          failureClass: 'context_overflow',
          explanation: 'finds the request larger than its limit for a minute',
        }
      return { failureClass: 'rate_limited', explanation: 'limits the rate of requests' }
    default:
      if (saysUnreadable(error))
        return {
          failureClass: 'malformed_output',
          explanation: `could not read what the model ${place.model} wrote`,
        }
      if (status < 500 && saysRate(error))
        return { failureClass: 'rate_limited', explanation: 'limits the rate of requests' }
      if (status >= 500 && !saysOverflowPlainly(error))
        return { failureClass: 'provider_unavailable', explanation: 'failed' }
      if (saysNotInForm(error))
        return {
          failureClass: 'malformed_output',
          explanation: 'could not write the answer in the form that it was asked for',
        }
      if (saysOverflow(error))
        return {
          failureClass: 'context_overflow',
          explanation: `says that the conversation is too long for the model ${place.model}`,
        }
      return { failureClass: 'provider_refused', explanation: 'refused the request' }
  }
}

/** The HTTP status of an error in an answer: its own number, or the one that its codes mean. */
function statusIn(error: unknown): number | null {
  for (const number of [field(error, 'status'), field(error, 'code')].map(Number))
    if (Number.isInteger(number) && number >= 400 && number <= 599) return number
  return statusSaidBy(serverErrorOf(error))
}

function deepest(error: unknown): unknown {
  let at = error
  for (let depth = 0; depth < 8 && at instanceof Error && at.cause instanceof Error; depth++) at = at.cause
  return at
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = codeOf(error)
  if (code.startsWith('ERR_SSL_')) return code // Its message comes from OpenSSL, and has addresses, files and lines.
  return error.message.includes(code) ? error.message || error.name : `${code} ${error.message}`.trim()
}

/**
 * The pause that the server asks for, from `retry-after-ms`, or `Retry-After` in seconds or as a date, in
 * milliseconds. A date is compared with the server's own `Date`, if it sent one. `null`: none that can be
 * read.
 */
function retryAfterMs(headers: Headers | undefined, now: () => number = systemClock.now): number | null {
  if (headers === undefined) return null
  const ms = numberIn(headers.get('retry-after-ms'))
  if (ms !== null) return ms
  const text = headers.get('retry-after')
  const seconds = numberIn(text)
  if (seconds !== null) return Math.round(seconds * 1000)
  const at = /^\s*[a-z]{3}/i.test(text ?? '') ? Date.parse(text ?? '') : NaN
  if (Number.isNaN(at)) return null
  const sent = Date.parse(headers.get('date') ?? '')
  return Math.max(0, at - (Number.isNaN(sent) ? now() : sent))
}

function numberIn(text: string | null): number | null {
  return text !== null && /^\s*\d{1,12}(\.\d+)?\s*$/.test(text) ? Number(text) : null
}

// Finds the tools whose schema, description or name the server refuses. Servers identify a tool by its name,
// or by its place in the request. A tool that the request does not have never counts.

const reasonCharsMax = 500

/** Each line: the form, and where people reported it. */
const byName = [
  // OpenAI: "Invalid schema for function 'x': In context=(), object schema missing properties."
  // (github.com/Azure/azure-mcp/issues/197)
  /(?:schema|parameters) for (?:function|tool) ['"`]?([\w.-]{1,64})['"`]?/gi,
  // Gemini through Vertex: "because `x` functionDeclaration `parameters.a` schema didn't specify the schema
  // type field" (github.com/google-gemini/gemini-cli/issues/2282)
  /['"`]?([\w.-]{1,64})['"`]? functionDeclaration ['"`]?parameters/gi,
]
const byPlace = [
  // OpenAI's `param`, chat completions and Responses: "tools[19].function.parameters", "tools[85].parameters"
  // (github.com/smallmain/vscode-unify-chat-provider/issues/162)
  // "Invalid 'tools[1].function.description': string too long" (github.com/getsentry/sentry-mcp/issues/106)
  /\btools\[(\d{1,4})\]\.(?:function\.)?(?:parameters|description|name)\b/g,
  // Anthropic, also through Bedrock and Vertex: "tools.118.custom.input_schema: JSON schema is invalid." (github.com/anthropics/claude-code/issues/7365)
  // FastAPI, as in vLLM: "body.tools.3.function.parameters: …"
  // Bedrock: "toolConfig.tools.1.member.toolSpec.inputSchema.json"
  /\btools\.(\d{1,4})\.(?:\w+\.){0,2}(?:input_?schema|parameters|description|name)\b/gi,
  // Gemini has all functions in one tool: "tools[0].function_declarations[5].parameters.properties[8].value: Cannot find field."
  // (github.com/zed-extensions/mcp-server-brave-search/issues/12)
  /\bfunction_declarations\[(\d{1,4})\]\.parameters/g,
]

/**
 * @param tools the tools of the request, in its order
 * @example refusedTools({ message: "Invalid schema for function 'add': …", param: '' }, tools) // [{ name: 'add', reason: 'Invalid schema for …' }]
 */
export function refusedTools(
  { message, param }: Pick<ServerError, 'message' | 'param'>,
  tools: readonly ToolSchema[],
): RefusedTool[] {
  const words = `${param} ${message}`
  const named = byName.flatMap((pattern) =>
    [...words.matchAll(pattern)].flatMap(([, name]) =>
      tools.filter((tool) => toolNameAtProvider(tool.name) === name),
    ),
  )
  const placed = byPlace.flatMap((pattern) =>
    [...words.matchAll(pattern)].flatMap(([, place]) => tools[Number(place)] ?? []),
  )
  // A name is certain, but a gateway may have changed the order.
  const found = new Set((named.length > 0 ? named : placed).map(({ name }) => name))
  return [...found].map((name) => ({ name, reason: message.slice(0, reasonCharsMax) }))
}
