// Turns refusals, broken connections and errors in the middle of an answer into the failure class that decides what happens next.
// F1. No raw error is kept as `cause`: bodies and headers may contain the key.
import { ProviderError } from '@beaver/agent'
import type { FailureClass } from '@beaver/core'
import type { StreamEvent } from './response-body.ts'
import { retryAfterMs } from './retry-after.ts'
import { field, type ServerError, serverErrorIn, serverErrorOf } from './server-error.ts'
import {
  saysNeverConnected,
  saysNoState,
  saysNoStreamOptions,
  saysOtherTokensField,
  saysOverflow,
  saysOverflowPlainly,
  saysQuotaUsedUp,
  saysSignatureMissing,
  saysThoughtsMissing,
  statusSaidBy,
} from './server-words.ts'

/** The endpoint, as messages describe it. */
export interface AnsweringPlace {
  readonly host: string
  /** The model that was asked. */
  readonly model: string
  /** The variable that holds the key, such as `OPENAI_API_KEY`, so that a person knows what to check. */
  readonly keyName: string
  readonly redact: (text: string) => string
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
    return new ProviderError('provider_timeout', `${endpoint} began to answer and then sent nothing for ${place.idleMs} ms.`)
  }
  if (place.gaveUp === 'timeout') return new ProviderError('provider_timeout', `${endpoint} did not answer within ${place.timeoutMs} ms.`)
  if (error instanceof EndpointRefusal) return refused(error.status, { ...error.said, headers: error.headers, shown: true }, place)
  if (error instanceof SyntaxError) {
    return new ProviderError('malformed_output', `${endpoint} sent a stream in which something is not JSON.`)
  }
  const cause = deepest(error)
  const reason = place.redact(reasonOf(cause))
  const what = saysNeverConnected(codeOf(cause))
    ? `cannot be reached: ${reason}. Check that it runs and that the base URL is right.`
    : `closed the connection before its answer was complete: ${reason}.`
  return new ProviderError('provider_unavailable', `${endpoint} ${what}`)
}

/** A response whose status is not 2xx. */
export class EndpointRefusal extends Error {
  readonly status: number
  readonly said: ServerError
  readonly headers: Headers

  constructor(status: number, body: string, headers: Headers) {
    super(`The endpoint answered with the status ${status}.`)
    this.name = 'EndpointRefusal'
    this.status = status
    this.said = serverErrorIn(body)
    this.headers = headers
  }
}

/** An error that came in place of an answer: `{"error": {"code": 429, …}}`. `null` if there is none, or if it does not say what it is. */
export function errorInAnswer(value: unknown, place: AnsweringPlace): ProviderError | null {
  const error = field(Array.isArray(value) ? value[0] : value, 'error')
  if (typeof error !== 'object' || error === null) return null
  const status = statusIn(error)
  return status === null ? null : inTheMiddle(status, error, place)
}

/** An error among the events of a stream: the server says so by the name of the event, or by its content. `null` if it is none. */
export function errorOfEvent(event: StreamEvent, place: AnsweringPlace): ProviderError | null {
  if (event.kind === 'done') return null
  const error = field(event.value, 'error')
  if (event.kind === 'data' && !error) return null
  return errorInAnswer(event.value, place) ?? inTheMiddle(statusIn(event.value) ?? 500, error ?? event.value, place)
}

/** An error in the choice of an answer: `{"choices": [{"error": {"code": 502, …}, "finish_reason": "error"}]}`. `null` if there is none. */
export function errorInChoice(value: unknown, place: AnsweringPlace): ProviderError | null {
  const choices = field(value, 'choices')
  const error: unknown = Array.isArray(choices) ? field(choices[0], 'error') : undefined
  if (error === undefined || error === null) return null
  return errorInAnswer({ error }, place) ?? inTheMiddle(500, error, place)
}

/** Whether the server refuses to send the usage in a stream. Older servers do not know this option. */
export const refusesStreamOptions = (error: unknown): boolean => refusesField(error, saysNoStreamOptions)

/** Whether the server does not know the fields that go back to it with the messages. */
export const refusesState = (error: unknown): boolean => refusesField(error, saysNoState)

/** Whether the server misses what it would have sent with calls that another model made. */
export const missesThoughts = (error: unknown): boolean => refusesField(error, saysThoughtsMissing)
export const missesSignature = (error: unknown): boolean => refusesField(error, saysSignatureMissing)

/** Whether the server has the other name for the most tokens of an answer. */
export const refusesTokensField = (error: unknown): boolean => refusesField(error, saysOtherTokensField)

const refusesField = (error: unknown, says: (said: ServerError) => boolean): boolean =>
  error instanceof EndpointRefusal && (error.status === 400 || error.status === 422) && says(error.said)

const inTheMiddle = (status: number, error: unknown, place: AnsweringPlace): ProviderError =>
  refused(status, { ...serverErrorOf(error), headers: undefined, shown: false }, place)

interface Refusal extends ServerError {
  readonly headers: Headers | undefined
  /** Whether the status is the response's own. */
  readonly shown: boolean
}

function refused(status: number, refusal: Refusal, place: AnsweringPlace): ProviderError {
  const said = place.redact(refusal.message)
  const { failureClass, explanation } = classify(status, { ...refusal, message: said }, place)
  const where = refusal.shown ? `(HTTP ${status})` : '(told instead of an answer)'
  const message = `The endpoint ${place.host} ${explanation} ${where}${said === '' ? '.' : `. It says: ${said}`}`
  return new ProviderError(failureClass, message, { status: refusal.shown ? status : null, retryAfterMs: retryAfterMs(refusal.headers) })
}

function classify(status: number, error: ServerError, place: AnsweringPlace): { failureClass: FailureClass; explanation: string } {
  switch (status) {
    case 401:
    case 403:
      return { failureClass: 'provider_refused', explanation: `refused the API key: check ${place.keyName}` }
    case 402:
      return { failureClass: 'provider_refused', explanation: 'asks for a payment: check the plan and billing of the account' }
    case 404:
      return { failureClass: 'provider_refused', explanation: `does not have the model ${place.model} or the path: check the model's name and the base URL` }
    case 408:
      return { failureClass: 'provider_timeout', explanation: 'gave up waiting' }
    case 409:
    case 425:
      return { failureClass: 'provider_unavailable', explanation: 'could not take the request now' }
    case 413:
      return { failureClass: 'context_overflow', explanation: 'finds the request too large' }
    case 429:
      return saysQuotaUsedUp(error)
        ? { failureClass: 'provider_refused', explanation: 'refused because the quota is used up: check the plan and billing of the account' }
        : { failureClass: 'rate_limited', explanation: 'limits the rate of requests' }
    default:
      if (status >= 500 && !saysOverflowPlainly(error)) return { failureClass: 'provider_unavailable', explanation: 'failed' }
      if (saysOverflow(error)) return { failureClass: 'context_overflow', explanation: `says that the conversation is too long for the model ${place.model}` }
      return { failureClass: 'provider_refused', explanation: 'refused the request' }
  }
}

/** The HTTP status of an error in an answer: its own number, or else the one that its codes mean. */
function statusIn(error: unknown): number | null {
  for (const number of [field(error, 'status'), field(error, 'code')].map(Number)) if (Number.isInteger(number) && number >= 400 && number <= 599) return number
  return statusSaidBy(serverErrorOf(error))
}

function deepest(error: unknown): unknown {
  let at = error
  for (let depth = 0; depth < 8 && at instanceof Error && at.cause instanceof Error; depth++) at = at.cause
  return at
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '')

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = codeOf(error)
  if (code.startsWith('ERR_SSL_')) return code // Its message comes from OpenSSL, and has addresses, files and lines.
  return error.message.includes(code) ? error.message || error.name : `${code} ${error.message}`.trim()
}
