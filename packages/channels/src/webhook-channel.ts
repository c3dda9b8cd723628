// A channel for any program that can send and receive signed HTTP requests. Requests without a valid
// signature are refused. A message that comes twice, also in a replayed request, changes nothing. An answer
// is sent until the program accepts it with 2xx. A 4xx status, except 408, 425 and 429, is final, and so is a
// redirect, because none is followed. The idempotency key of an answer is in the headers `webhook-id` and
// `idempotency-key`, and in the field `id` of the body.
import { type OutboundMessage, webhookMessage } from '@beaver/contracts'
import {
  BeaverError,
  type Clock,
  messageOf,
  secretBytes,
  signatureFault,
  signatureHeaders,
  signedHeaders,
  webhookOutcome,
} from '@beaver/core'
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
      return webhookOutcome(answer, clock.now())
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
