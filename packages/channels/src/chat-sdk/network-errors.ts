// What became of a message, by the error of its adapter: a pure function.
// A network that answered has not got the message; if no answer came, nobody knows.
import { messageOf } from '@beaver/core'
import type { Sent } from '../channel.ts'

/**
 * Errors of adapters, by the names of their classes: the network has answered, and will say the same again.
 */
const lasting = new Set(['PermissionError', 'ResourceNotFoundError', 'ValidationError'])
/** What Slack says if nothing is wrong with the message. */
const passing = new Set([
  'ratelimited',
  'rate_limited',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'invalid_auth',
  'token_expired',
  'token_revoked',
])

export function outcomeOf(error: unknown): Sent {
  const reason = messageOf(error).slice(0, 300)
  if (!(error instanceof Error)) return { kind: 'later', reason, unknown: true }
  if (error.name === 'AdapterRateLimitError' || error.name === 'RateLimitError')
    return { kind: 'later', reason, afterMs: secondsIn(error, 'retryAfter') }
  if (error.name === 'AuthenticationError') return { kind: 'later', reason }
  if (lasting.has(error.name)) return { kind: 'never', reason }
  // The client of Slack has codes of its own.
  const code = 'code' in error ? error.code : null
  if (code === 'slack_webapi_rate_limited_error')
    return { kind: 'later', reason, afterMs: secondsIn(error, 'retryAfter') }
  if (code === 'slack_webapi_platform_error')
    return passing.has(slackError(error)) ? { kind: 'later', reason } : { kind: 'never', reason }
  return { kind: 'later', reason, unknown: true }
}

const secondsIn = (error: object, name: string): number | undefined => {
  const value = (error as Record<string, unknown>)[name]
  return typeof value === 'number' && value >= 0 ? value * 1_000 : undefined
}

const slackError = (error: object): string => {
  const { data } = error as { data?: { error?: unknown } }
  return typeof data?.error === 'string' ? data.error : ''
}
