// Signed requests to webhooks: the signature according to "Standard Webhooks" 1.0, and what an answer means. Pure.
// A signature is an HMAC-SHA256 over the id, the time and the body, with a shared secret. It is valid for five
// minutes before and after its time, so a recorded request soon becomes useless. Signatures are compared in
// constant time.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { BeaverError } from './errors.ts'

/** The headers of a signed request. */
export const signatureHeaders = {
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
 * @example
 * secretBytes('a secret of at least 24 bytes', '$ALERTS_SECRET').length // => 29
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

/**
 * The signature of a request, as the header `webhook-signature` has it.
 *
 * @example
 * signatureOf(Buffer.alloc(24), { id: 'msg_1', timestamp: '1700000000', body: '{}' }).slice(0, 3) // => 'v1,'
 */
export const signatureOf = (secret: Buffer, { id, timestamp, body }: Signed): string =>
  `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`

/**
 * The signature headers of a request that Beaver sends.
 *
 * @example
 * const headers = signedHeaders(Buffer.alloc(24), { id: 'msg_1', body: '{}', nowMs: 1_700_000_000_000 })
 * headers['webhook-timestamp'] // => '1700000000'
 */
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

/**
 * Verifies the signature of a request.
 *
 * @returns the fault; `null` if the signature is valid
 * @example
 * const [secret, body, nowMs] = [Buffer.alloc(24), '{}', 1_700_000_000_000]
 * const headers = new Headers(signedHeaders(secret, { id: 'msg_1', body, nowMs }))
 * signatureFault(secret, { headers, body, nowMs }) // => null
 * signatureFault(secret, { headers, body: '[]', nowMs }) // => 'The signature in webhook-signature is wrong.'
 */
export function signatureFault(
  secret: Buffer,
  { headers, body, nowMs }: { headers: { get(name: string): string | null }; body: string; nowMs: number },
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

/**
 * What an answer to a request means. `later`: another try may succeed, in `afterMs` milliseconds if the receiver
 * gave a time. `never`: no try can succeed. A 4xx status, except 408, 425 and 429, is final, and so is a redirect,
 * because none is followed.
 */
export type WebhookAnswer =
  | { readonly kind: 'sent' }
  | { readonly kind: 'later'; readonly reason: string; readonly afterMs?: number | undefined }
  | { readonly kind: 'never'; readonly reason: string }

/** The 4xx statuses after which another try may succeed. */
const passing = new Set([408, 425, 429])

/**
 * What the receiver's answer means for the sender.
 *
 * @example
 * const headers = new Headers({ 'retry-after': '2' })
 * webhookOutcome({ status: 204, headers, ok: true }, 0) // => { kind: 'sent' }
 * webhookOutcome({ status: 410, headers, ok: false }, 0).kind // => 'never'
 * webhookOutcome({ status: 429, headers, ok: false }, 0) // => { kind: 'later', reason: 'The receiver answered 429.', afterMs: 2_000 }
 */
export function webhookOutcome(
  {
    status,
    headers,
    ok,
  }: {
    readonly status: number
    readonly headers: { get(name: string): string | null }
    readonly ok: boolean
  },
  nowMs: number,
): WebhookAnswer {
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
