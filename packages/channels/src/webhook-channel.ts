// A channel for any program that can send and receive signed HTTP requests. A request counts only if its
// signature does. The same message again, also in a replayed request, changes nothing. An answer is sent
// until the program takes it with 2xx. A refusal (4xx, except 408, 425 and 429) is lasting; a redirect is not
// followed. The key of idempotency of an answer is in two headers, `webhook-id` and `idempotency-key`, and as
// `id` in the body.
import { type OutboundMessage, webhookMessage } from '@beaver/contracts'
import { BeaverError, type Clock, messageOf } from '@beaver/core'
import type { Channel, Receipt, Receive, Sent } from './channel.ts'
import { secretBytes, signatureFault, signatureHeaders, signedHeaders } from './signature.ts'

export interface WebhookChannelOptions {
  readonly name: string
  /** Where answers go. */
  readonly url: string
  readonly secret: string | null
  /** Where the secret comes from, for messages. */
  readonly secretName: string
  /** The time of one try. */
  readonly timeoutMs: number
  readonly clock: Clock
}

/** A request as it came. */
export interface WebhookRequest {
  readonly headers: Pick<Headers, 'get'>
  readonly body: string
}

export type WebhookOutcome =
  | { readonly kind: 'received'; readonly receipt: Receipt }
  | { readonly kind: 'refused'; readonly reason: string }

/** The statuses of a refusal that may end by itself. */
const passing = new Set([408, 425, 429])

export class WebhookChannel implements Channel {
  readonly #of: WebhookChannelOptions
  readonly #secret: Buffer
  #receive: Receive | null = null

  /** @throws {BeaverError} `invalid_configuration` if the secret is missing or short */
  constructor(of: WebhookChannelOptions) {
    this.#of = of
    this.#secret = secretBytes(of.secret, `$${of.secretName} of the channel ${of.name}`)
  }

  get name(): string {
    return this.#of.name
  }

  async start(receive: Receive): Promise<void> {
    this.#receive = receive
  }

  /**
   * Takes a request. The message is durable when this resolves.
   *
   * @throws {BeaverError} `invalid_arguments`; `wrong_state` if the channel does not run; `unreachable`,
   * `timeout`
   */
  async take({ headers, body }: WebhookRequest): Promise<WebhookOutcome> {
    const reason = signatureFault(this.#secret, { headers, body, nowMs: this.#of.clock.now() })
    if (reason !== null) return { kind: 'refused', reason }
    if (this.#receive === null) throw new BeaverError('wrong_state', `The channel ${this.name} does not run.`)
    const { message_id = headers.get(signatureHeaders.id) ?? '', ...message } = readBody(body)
    return { kind: 'received', receipt: await this.#receive({ ...message, message_id }) }
  }

  async send(message: OutboundMessage, signal: AbortSignal): Promise<Sent> {
    const { url, timeoutMs, clock } = this.#of
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

/** In seconds, or as a date. */
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
