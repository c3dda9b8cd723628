// From what the openai client throws to the failure class that decides what happens next.
// F1. No raw error is kept as `cause`: the client's errors hold headers and bodies, and those may hold the key.
import { ProviderError } from '@beaver/agent'
import type { FailureClass } from '@beaver/core'
import OpenAI from 'openai'
import { retryAfterMs } from './retry-after.ts'

export interface CallPlace {
  readonly host: string
  readonly model: string
  readonly timeoutMs: number
  readonly timedOut: boolean
  readonly redact: (text: string) => string
}

export function providerErrorOf(error: unknown, place: CallPlace): ProviderError {
  if (error instanceof ProviderError) return error
  const endpoint = `The endpoint ${place.host}`
  if (place.timedOut || error instanceof OpenAI.APIConnectionTimeoutError) {
    return new ProviderError('provider_timeout', `${endpoint} did not answer within ${place.timeoutMs} ms.`)
  }
  if (error instanceof OpenAI.APIError && typeof error.status === 'number') return ofStatus(error as StatusError, endpoint, place)
  const reason = place.redact(deepestReason(error))
  return new ProviderError('provider_unavailable', `${endpoint} cannot be reached, or broke off its answer: ${reason}`)
}

type StatusError = InstanceType<typeof OpenAI.APIError> & { status: number }

function ofStatus(error: StatusError, endpoint: string, place: CallPlace): ProviderError {
  const { status } = error
  const said = place.redact(serverText(error))
  const { failureClass, explanation } = classify(status, `${error.code ?? ''} ${error.type ?? ''}`, said, place.model)
  const message = `${endpoint} ${explanation} (HTTP ${status})${said === '' ? '.' : `. It says: ${said}`}`
  return new ProviderError(failureClass, message, { status, retryAfterMs: retryAfterMs(error.headers) })
}

const overflow =
  /context[_ ](length|window|size)|maximum context|(prompt|input|request).{0,40}\b(too long|too large|too many tokens)|too many (input )?tokens|exceeds? the maximum number of tokens/i

function classify(status: number, codes: string, said: string, model: string): { failureClass: FailureClass; explanation: string } {
  switch (status) {
    case 401:
    case 403:
      return { failureClass: 'provider_refused', explanation: 'refused the API key: check OPENAI_API_KEY' }
    case 402:
      return { failureClass: 'provider_refused', explanation: 'wants to be paid: check the plan and billing of the account' }
    case 404:
      return { failureClass: 'provider_refused', explanation: `does not have the model ${model} or the path: check the model's name and the base URL` }
    case 408:
      return { failureClass: 'provider_timeout', explanation: 'gave up waiting' }
    case 409:
    case 425:
      return { failureClass: 'provider_unavailable', explanation: 'could not take the request now' }
    case 413:
      return { failureClass: 'context_overflow', explanation: 'finds the request too large' }
    case 429:
      return /insufficient_quota/.test(codes)
        ? { failureClass: 'provider_refused', explanation: 'refused because the quota is used up: check the plan and billing of the account' }
        : { failureClass: 'rate_limited', explanation: 'limits the rate of requests' }
    default:
      if (status >= 500) return { failureClass: 'provider_unavailable', explanation: 'failed' }
      if (overflow.test(codes) || overflow.test(said))
        return { failureClass: 'context_overflow', explanation: `says that the conversation is too long for the model ${model}` }
      return { failureClass: 'provider_refused', explanation: 'refused the request' }
  }
}

/** What the server said, without the status the client puts before it. */
function serverText(error: StatusError): string {
  const body = error.error as { message?: unknown } | string | undefined
  if (typeof body === 'string') return body
  if (typeof body?.message === 'string') return body.message
  const text = error.message.replace(/^\d{3}\s*/, '')
  if (/^status code \(no body\)$/.test(text)) return ''
  return /^\s*<(!doctype|html)/i.test(text) ? 'an HTML page' : text
}

function deepestReason(error: unknown): string {
  let at = error
  for (let depth = 0; depth < 8 && at instanceof Error && at.cause instanceof Error; depth++) at = at.cause
  if (!(at instanceof Error)) return String(at)
  const code = (at as NodeJS.ErrnoException).code
  return code === undefined || at.message.includes(code) ? at.message || at.name : `${code} ${at.message}`.trim()
}
