// A channel for any program that can send and receive signed HTTP requests. Requests without a valid
// signature are refused. A message that comes twice, also in a replayed request, changes nothing. An answer
// is sent until the program accepts it with 2xx. A 4xx status, except 408, 425 and 429, is final, and so is a
// redirect, because none is followed. The idempotency key of an answer is in the headers `webhook-id` and
// `idempotency-key`, and in the field `id` of the body.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type OutboundMessage, webhookMessage } from '@beaver/contracts'
import { BeaverError, type Clock, messageOf } from '@beaver/core'
import type { Channel, Receipt, Receive, Sent } from './channel.ts'

export interface WebhookChannelOptions {
  readonly name: string
  /** The URL to which answers are sent. */
  readonly url: string
  readonly secret: string | null
  /** The name of the environment variable of the secret, for error messages. */
  readonly secretName: string
  /** How long one try may take, in milliseconds. */
  readonly timeoutMs: number
  readonly clock: Clock
}

/** A request whose signature is not verified yet. */
export interface WebhookRequest {
  readonly headers: Pick<Headers, 'get'>
  readonly body: string
}

export type WebhookOutcome =
  | { readonly kind: 'received'; readonly receipt: Receipt }
  | { readonly kind: 'refused'; readonly reason: string }

/** The 4xx statuses after which another try may succeed. */
const passing = new Set([408, 425, 429])

/** A channel of signed HTTP requests. */
export class WebhookChannel implements Channel {
  readonly #options: WebhookChannelOptions
  readonly #secret: Buffer
  #receive: Receive | null = null

  /** @throws {BeaverError} `invalid_configuration` if the secret is missing or short */
  constructor(options: WebhookChannelOptions) {
    this.#options = options
    this.#secret = secretBytes(options.secret, `$${options.secretName} of the channel ${options.name}`)
  }

  get name(): string {
    return this.#options.name
  }

  async start(receive: Receive): Promise<void> {
    this.#receive = receive
  }

  /**
   * Verifies a request and takes its message, which is durable when this resolves.
   *
   * @throws {BeaverError} `invalid_arguments`; `wrong_state` if the channel does not run; `unreachable`,
   * `timeout`
   */
  async take({ headers, body }: WebhookRequest): Promise<WebhookOutcome> {
    const reason = signatureFault(this.#secret, { headers, body, nowMs: this.#options.clock.now() })
    if (reason !== null) return { kind: 'refused', reason }
    if (this.#receive === null) throw new BeaverError('wrong_state', `The channel ${this.name} does not run.`)
    const { message_id = headers.get(signatureHeaders.id) ?? '', ...message } = readBody(body)
    return { kind: 'received', receipt: await this.#receive({ ...message, message_id }) }
  }

  async send(message: OutboundMessage, signal: AbortSignal): Promise<Sent> {
    const { url, timeoutMs, clock } = this.#options
    const body = JSON.stringify(message)
    const late = new AbortController()
    const timer = clock.after(timeoutMs, () =>
      late.abort(new Error(`No answer came within ${timeoutMs} ms.`)),
    )
    try {
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'beaver',
        'idempotency-key': message.id,
        ...signedHeaders(this.#secret, { id: message.id, body, nowMs: clock.now() }),
      }
      const answer = await fetch(url, {
        method: 'POST',
        headers,
        body,
        redirect: 'manual',
        signal: AbortSignal.any([signal, late.signal]),
      })
      await answer.body?.cancel().catch(() => {})
      return outcomeOf(answer, clock.now())
    } catch (error) {
      return { kind: 'later', reason: `${new URL(url).host} cannot be reached: ${causeOf(error)}` }
    } finally {
      timer.cancel()
    }
  }

  async stop(): Promise<void> {
    this.#receive = null
  }
}

function outcomeOf(
  { status, headers, ok }: Pick<Response, 'status' | 'headers' | 'ok'>,
  nowMs: number,
): Sent {
  if (ok) return { kind: 'sent' }
  const reason = `The receiver answered ${status}.`
  return status < 500 && !passing.has(status)
    ? { kind: 'never', reason }
    : { kind: 'later', reason, afterMs: retryAfterMs(headers.get('retry-after'), nowMs) }
}

/** The pause in the header `Retry-After`, which is a number of seconds or a date. */
function retryAfterMs(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

const causeOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error ? messageOf(error.cause) : messageOf(error)

function readBody(body: string) {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch (error) {
    throw new BeaverError('invalid_arguments', `The body is not JSON: ${messageOf(error)}.`, {
      problems: [{ path: 'body', message: 'is not JSON' }],
    })
  }
  const read = webhookMessage.safeParse(value)
  if (read.success) return read.data
  const problems = read.error.issues.map(({ path, message }) => ({
    path: ['body', ...path.map(String)].join('.'),
    message,
  }))
  throw new BeaverError(
    'invalid_arguments',
    `The message is not valid: ${problems[0]?.path} ${problems[0]?.message}.`,
    { problems },
  )
}

// The signature of a webhook according to "Standard Webhooks" 1.0: an HMAC-SHA256 over the id, the time and
// the body, with a shared secret. A signature is valid for five minutes before and after its time, so a
// recorded request soon becomes useless. Signatures are compared in constant time.

/** The headers of a signed request. */
const signatureHeaders = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
} as const

/** The largest difference between the time of a request and now, in milliseconds. */
const replayWindowMs = 300_000
const secretBytesMin = 24
/** How many signatures of a request are checked. There may be several while a secret is replaced. */
const signaturesMax = 10

/**
 * The bytes of a secret: after the prefix `whsec_` it is base64, otherwise the text itself.
 *
 * @param from names the secret in the error message
 * @throws {BeaverError} `invalid_configuration` if it is missing or shorter than 24 bytes
 */
export function secretBytes(secret: string | null, from: string): Buffer {
  const bytes =
    secret?.startsWith('whsec_') === true
      ? Buffer.from(secret.slice('whsec_'.length), 'base64')
      : Buffer.from(secret ?? '')
  if (bytes.length >= secretBytesMin) return bytes
  const fault = secret === null ? 'is not set' : `has ${bytes.length} bytes`
  throw new BeaverError(
    'invalid_configuration',
    `The secret ${from} ${fault}. Set it to at least ${secretBytesMin} random bytes, such as the output of: printf 'whsec_%s' "$(openssl rand -base64 32)"`,
  )
}

interface Signed {
  readonly id: string
  /** In seconds since 1970, as text. */
  readonly timestamp: string
  readonly body: string
}

export const signatureOf = (secret: Buffer, { id, timestamp, body }: Signed): string =>
  `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`

/** The signature headers of a request that Beaver sends. */
export function signedHeaders(
  secret: Buffer,
  { id, body, nowMs }: { id: string; body: string; nowMs: number },
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000))
  return {
    [signatureHeaders.id]: id,
    [signatureHeaders.timestamp]: timestamp,
    [signatureHeaders.signature]: signatureOf(secret, { id, timestamp, body }),
  }
}

/** Verifies the signature of a request. @returns the fault; `null` if the signature is valid */
export function signatureFault(
  secret: Buffer,
  { headers, body, nowMs }: { headers: Pick<Headers, 'get'>; body: string; nowMs: number },
): string | null {
  const [id, timestamp, signatures] = [
    signatureHeaders.id,
    signatureHeaders.timestamp,
    signatureHeaders.signature,
  ].map((name) => headers.get(name) ?? '')
  if (!id || !timestamp || !signatures)
    return `Sign the request with the headers ${Object.values(signatureHeaders).join(', ')}.`
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs - Number(timestamp) * 1_000) > replayWindowMs)
    return `The time in ${signatureHeaders.timestamp} is more than ${replayWindowMs / 60_000} minutes away.`
  const expected = Buffer.from(signatureOf(secret, { id, timestamp, body }))
  const equal = signatures.split(' ', signaturesMax).map((each) => Buffer.from(each))
  return equal.some((each) => each.length === expected.length && timingSafeEqual(each, expected))
    ? null
    : `The signature in ${signatureHeaders.signature} is wrong.`
}
