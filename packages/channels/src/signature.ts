// The signature of a webhook, as "Standard Webhooks" 1.0 describes it: an HMAC-SHA256 with a shared secret
// over the id, the time and the body. A signature holds for five minutes before and after its time, so that a
// request that somebody recorded is worth nothing later. Signatures are compared in constant time.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { BeaverError } from '@beaver/core'

/** The headers of a signed request. */
export const signatureHeaders = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
} as const

/** How far the time of a request may be from now, in milliseconds. */
const replayWindowMs = 300_000
const secretBytesMin = 24
/** A request may have the signatures of several secrets while a secret is replaced. */
const signaturesMax = 10

/**
 * The bytes of a secret: those of the base64 after `whsec_`, or of the text itself.
 *
 * @param from names the secret in the message of an error
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

export interface Signed {
  readonly id: string
  /** In seconds since 1970, as text. */
  readonly timestamp: string
  readonly body: string
}

export const signatureOf = (secret: Buffer, { id, timestamp, body }: Signed): string =>
  `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`

/** The headers of a request that Beaver sends. */
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

/** @returns why the request does not count; `null` if it does */
export function signatureFault(
  secret: Buffer,
  { headers, body, nowMs }: { headers: Pick<Headers, 'get'>; body: string; nowMs: number },
): string | null {
  const [id, timestamp, given] = [
    signatureHeaders.id,
    signatureHeaders.timestamp,
    signatureHeaders.signature,
  ].map((name) => headers.get(name) ?? '')
  if (!id || !timestamp || !given)
    return `Sign the request with the headers ${Object.values(signatureHeaders).join(', ')}.`
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs - Number(timestamp) * 1_000) > replayWindowMs)
    return `The time in ${signatureHeaders.timestamp} is more than ${replayWindowMs / 60_000} minutes away.`
  const expected = Buffer.from(signatureOf(secret, { id, timestamp, body }))
  const equal = given.split(' ', signaturesMax).map((each) => Buffer.from(each))
  return equal.some((each) => each.length === expected.length && timingSafeEqual(each, expected))
    ? null
    : `The signature in ${signatureHeaders.signature} is wrong.`
}
