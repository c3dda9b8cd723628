// The failure class of an error that a program's model, or the client library in it, throws. A
// `ProviderError`, an HTTP status and a code of the network count as they are. A defect of the code ends the
// try, because the same call would fail again, and the next model of the route is asked. Any other error is
// an outage, like a broken connection.
import { ProviderError, type ToolSchema } from '@beaver/agent'
import { messageOf } from '@beaver/core'
import { maskSecrets } from '@beaver/core/secrets'
import { failureClass, type FailureClass } from '@beaver/core/supervision'
import {
  EndpointRefusal,
  errorOfEvent,
  providerErrorOf,
  refusalIn,
  refusedForm,
} from '../provider-failure.ts'
import { field } from '../server-error.ts'
import { saysBrokenConnection } from '../server-words.ts'

/** The model that failed, for messages. */
export interface ThrownPlace {
  /** The text after "The endpoint ": a host, or `of the program's model local`. */
  readonly where: string
  readonly model: string
  /** What a person checks if the key is refused. */
  readonly keyName: string
  /** The tools of the request. Default: it has none. */
  readonly tools?: readonly ToolSchema[]
}

/** The classes that a provider may give to its own failures. */
const ofProviders: ReadonlySet<FailureClass> = new Set([
  'rate_limited',
  'provider_unavailable',
  'provider_timeout',
  'provider_refused',
  'context_overflow',
  'refusal',
  'malformed_output',
  'output_truncated',
])

const charsMax = 4_000

/** Masks the program's key before the text is cut, because half a key is still a secret. */
const textWithoutSecrets = (text: string): string => maskSecrets(text).slice(0, charsMax)

/**
 * Never throws. The message may contain the error's text.
 *
 * @example
 * const slow = Object.assign(new Error('Slow down.'), { status: 429 })
 * providerErrorFrom(slow, { where: 'of a test', model: 'm', keyName: 'KEY' }).class // => 'rate_limited'
 */
export function providerErrorFrom(thrown: unknown, place: ThrownPlace): ProviderError {
  try {
    return errorFrom(thrown, place)
  } catch {
    return new ProviderError(
      'provider_unavailable',
      `The endpoint ${place.where} failed with an error that cannot be read.`,
    )
  }
}

/** How a thrown refusal speaks of the form of the answer. `null`: it is about something else. */
export function formRefusedBy(thrown: unknown): ReturnType<typeof refusedForm> {
  const refusal = refusalThrown(thrown)
  return refusal === null ? null : refusedForm(refusal)
}

/** The server's words in a thrown refusal. `null`: the error does not tell what the server does not take. */
export function refusalThrown(thrown: unknown): ReturnType<typeof refusalIn> {
  const status = statusIn(thrown)
  return status === null ? null : refusalIn(new EndpointRefusal(status, bodyIn(thrown), new Headers()))
}

function errorFrom(thrown: unknown, { where, model, keyName, tools = [] }: ThrownPlace): ProviderError {
  const place = {
    host: where,
    model,
    keyName,
    tools,
    redact: textWithoutSecrets,
    timeoutMs: 0,
    idleMs: 0,
    gaveUp: null,
  }
  const own = providerErrorIn(thrown)
  if (own !== null) return own
  const status = statusIn(thrown)
  if (status !== null)
    return providerErrorOf(new EndpointRefusal(status, bodyIn(thrown), headersIn(thrown)), place)
  if (hasNetworkCode(thrown)) return providerErrorOf(thrown, place)
  // A server may send an error as data, and its client throws it unchanged.
  const asData = thrown instanceof Error ? null : errorOfEvent({ kind: 'error', value: thrown }, place)
  if (asData !== null && typeof thrown === 'object') return asData
  const thrownText = textWithoutSecrets(messageOf(thrown))
  const failed = (name: FailureClass, what: string) =>
    new ProviderError(name, `The endpoint ${where} ${what}: ${thrownText}`)
  if (field(thrown, 'name') === 'TimeoutError') return failed('provider_timeout', 'gave up waiting')
  if (thrown instanceof SyntaxError) return failed('malformed_output', 'could not read what its model said')
  return isDefect(thrown)
    ? failed('provider_refused', 'failed by a defect in its code')
    : failed('provider_unavailable', 'failed')
}

export const isDefect = (thrown: unknown): boolean =>
  (thrown instanceof TypeError || thrown instanceof ReferenceError || thrown instanceof RangeError) &&
  !hasNetworkCode(thrown)

/** A `ProviderError`, also of another copy of the package. Its members may have any type. */
function providerErrorIn(thrown: unknown): ProviderError | null {
  if (!(thrown instanceof Error) || thrown.name !== 'ProviderError') return null
  const name = failureClass.safeParse(field(thrown, 'class'))
  if (!name.success || !ofProviders.has(name.data)) return null
  const [status, pauseMs, tools] = [
    field(thrown, 'status'),
    field(thrown, 'retryAfterMs'),
    field(thrown, 'refusedTools'),
  ]
  return new ProviderError(name.data, textWithoutSecrets(thrown.message), {
    status: isStatus(status) ? status : null,
    retryAfterMs:
      typeof pauseMs === 'number' && pauseMs >= 0 && pauseMs < Infinity ? Math.round(pauseMs) : null,
    refusedTools: (Array.isArray(tools) ? tools : []).flatMap((tool: unknown) => {
      const [toolName, reason] = [field(tool, 'name'), field(tool, 'reason')]
      return typeof toolName === 'string' && typeof reason === 'string'
        ? [{ name: toolName, reason: textWithoutSecrets(reason) }]
        : []
    }),
  })
}

const isStatus = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599

/** `status` of the clients of OpenAI and Anthropic, `statusCode` of the AI SDK. Below 400 is no error. */
function statusIn(thrown: unknown): number | null {
  const status = ['status', 'statusCode'].map((name) => field(thrown, name)).find(isStatus)
  return status === undefined || status < 400 ? null : status
}

/** The body as the AI SDK keeps it, or as OpenAI's client parsed it, else the message. */
function bodyIn(thrown: unknown): string {
  const [text, parsed] = [field(thrown, 'responseBody'), field(thrown, 'error')]
  if (typeof text === 'string' && text !== '') return text
  try {
    if (typeof parsed === 'object' && parsed !== null) return JSON.stringify({ error: parsed })
    if (!(thrown instanceof Error)) return JSON.stringify(thrown)
  } catch {
    // It has no JSON.
  }
  return messageOf(thrown)
}

function headersIn(thrown: unknown): Headers {
  const headersField = field(thrown, 'headers') ?? field(thrown, 'responseHeaders')
  if (headersField instanceof Headers) return headersField
  const headers = new Headers()
  if (typeof headersField !== 'object' || headersField === null) return headers
  for (const name of ['retry-after', 'retry-after-ms', 'date']) {
    const value = field(headersField, name)
    if (typeof value === 'string') headers.set(name, value)
  }
  return headers
}

/** Whether an error or its cause has the code of a broken connection. `fetch` hides it in a TypeError. */
export function hasNetworkCode(thrown: unknown): boolean {
  let at = thrown
  for (let depth = 0; depth < 8 && at instanceof Error; depth++) {
    const code = field(at, 'code')
    if (typeof code === 'string' && saysBrokenConnection(code)) return true
    at = at.cause
  }
  return false
}
