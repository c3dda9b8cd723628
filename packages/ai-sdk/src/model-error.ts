// The failure class of an error of the AI SDK. An error with an HTTP status is read as that of any endpoint.
// By default, the SDK says by the status alone whether a call may be made again. Only where it says something
// else, its word counts.
import { AISDKError, APICallError } from '@ai-sdk/provider'
import { ProviderError, type ToolSchema } from '@beaver/agent'
import { type FailureClass, maskSecrets } from '@beaver/core'
import { hasNetworkCode, providerErrorFrom } from '@beaver/providers'

export interface FailedModel {
  readonly provider: string
  readonly model: string
  readonly tools: readonly ToolSchema[]
}

/** Errors of the SDK that say nothing about a server, by their names. */
const classes: Readonly<Record<string, FailureClass>> = {
  AI_LoadAPIKeyError: 'provider_refused',
  AI_LoadSettingError: 'provider_refused',
  AI_NoSuchModelError: 'provider_refused',
  AI_NoSuchProviderReferenceError: 'provider_refused',
  AI_UnsupportedFunctionalityError: 'provider_refused',
  AI_InvalidArgumentError: 'provider_refused',
  AI_InvalidPromptError: 'provider_refused',
  AI_EmptyResponseBodyError: 'malformed_output',
  AI_InvalidResponseDataError: 'malformed_output',
  AI_JSONParseError: 'malformed_output',
  AI_NoContentGeneratedError: 'malformed_output',
  AI_TypeValidationError: 'malformed_output',
}

export function modelError(thrown: unknown, { provider, model, tools }: FailedModel): ProviderError {
  const isCall = APICallError.isInstance(thrown)
  const where = (isCall ? URL.parse(thrown.url)?.host : undefined) ?? `of ${provider}`
  const failed = providerErrorFrom(thrown, { where, model, keyName: `the key of ${provider}`, tools })
  if (isCall) return judged(thrown, failed, { where, broke: hasNetworkCode(thrown) })
  const known = AISDKError.isInstance(thrown) ? classes[thrown.name] : undefined
  return known === undefined
    ? failed
    : new ProviderError(
        known,
        `The endpoint ${where} failed: ${maskSecrets(thrown instanceof Error ? thrown.message : 'it does not say why')}`,
      )
}

const tryAgain: ReadonlySet<FailureClass> = new Set([
  'rate_limited',
  'provider_unavailable',
  'provider_timeout',
])

function judged(
  { isRetryable, statusCode, message }: APICallError,
  failed: ProviderError,
  { where, broke }: { readonly where: string; readonly broke: boolean },
): ProviderError {
  const { status, retryAfterMs, refusedTools } = failed
  const told = { status, retryAfterMs, refusedTools }
  // The server answered, and the SDK could not read it: the answer is malformed, or the connection broke in
  // its middle.
  if (statusCode !== undefined && statusCode < 400 && !broke)
    return new ProviderError(
      'malformed_output',
      `The endpoint ${where} sent an answer that cannot be read: ${maskSecrets(message)}`,
    )
  if (statusCode === undefined || statusCode < 400 || isRetryable === byStatus(statusCode)) return failed
  if (isRetryable)
    return failed.class === 'provider_refused'
      ? new ProviderError('provider_unavailable', failed.message, told)
      : failed
  return tryAgain.has(failed.class) ? new ProviderError('provider_refused', failed.message, told) : failed
}

const byStatus = (status: number): boolean =>
  status === 408 || status === 409 || status === 429 || status >= 500
