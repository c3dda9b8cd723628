// Sends alerts to the webhook of the configuration, signed as all webhooks of Beaver if there is a secret
// (core/src/signed-webhook.ts). An alert is tried a few times, and never holds a task. An alert that is sent
// again has the same id, in the body and in the headers `webhook-id` and `idempotency-key`.
import {
  type Clock,
  type Logger,
  messageOf,
  pause,
  secretBytes,
  signedHeaders,
  systemFacts,
  webhookOutcome,
} from '@beaver/core'
import { type Backoff, pauseBefore } from '@beaver/core/supervision'

/** An alert. Its `id` is the same whenever it is sent. */
export interface Alert {
  readonly id: string
}

export interface AlertWebhook {
  /**
   * Sends an alert as JSON. Resolves with whether it need not be sent again: the receiver has it, or refused it
   * for good. Without a webhook, nothing is sent. It never rejects.
   */
  send(alert: Alert): Promise<boolean>
  /** Gives up what is not sent yet. */
  close(): void
}

export interface AlertWebhookOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Default: nothing is signed. */
  readonly secret?: Buffer | null
}

const triesMax = 4
const backoff: Backoff = { pauseMsMin: 500, pauseMsMax: 5_000, jitter: false }
const answerMsMax = 10_000
/** The longest pause that a receiver may ask for within the tries of one alert. */
const askedPauseMsMax = 30_000
/** While more wait for an endpoint that does not answer, the newest are dropped. */
const waitingMax = 1_000

/** The settings of the webhook in a configuration. */
interface AlertsConfig {
  readonly alerts: { readonly webhook?: string | undefined; readonly secret_env?: string | undefined }
  readonly alertsSecret: string | null
}

/**
 * The webhook of a configuration.
 *
 * @throws {BeaverError} `invalid_configuration` if `alerts.secret_env` names no secret, or a short one
 */
export const configuredAlertWebhook = (
  { alerts: { webhook, secret_env: name }, alertsSecret }: AlertsConfig,
  { clock, logger }: Pick<AlertWebhookOptions, 'clock' | 'logger'>,
): AlertWebhook =>
  alertWebhook(webhook, {
    clock,
    logger,
    secret:
      webhook === undefined || name === undefined
        ? null
        : secretBytes(alertsSecret, `$${name} of alerts.secret_env`),
  })

/** @param url `undefined`: there is no webhook */
export function alertWebhook(
  url: string | undefined,
  { clock, logger, secret = null }: AlertWebhookOptions,
): AlertWebhook {
  const closing = new AbortController()
  let waiting = 0
  const failed = (reason: string): void => systemFacts.alertNotSent(logger, { reason })

  async function send(target: string, alert: Alert): Promise<boolean> {
    if (waiting >= waitingMax) {
      failed(`${waitingMax} alerts wait already`)
      return false
    }
    waiting++
    try {
      for (let tries = 1; !closing.signal.aborted; tries++) {
        const tried = await post(target, alert, { secret, nowMs: clock.now(), closing: closing.signal })
        if (tried.kind === 'sent') return true
        if (tried.kind === 'never' || tries === triesMax) {
          if (!closing.signal.aborted) failed(tried.reason)
          return tried.kind === 'never'
        }
        const asked = Math.min(tried.afterMs ?? 0, askedPauseMsMax)
        await pause(clock, Math.max(pauseBefore(tries, backoff), asked), closing.signal)
      }
      return false
    } finally {
      waiting--
    }
  }

  return {
    send: async (alert) => (url === undefined ? true : await send(url, alert)),
    close: () => closing.abort(),
  }
}

interface PostOptions {
  readonly secret: Buffer | null
  readonly nowMs: number
  readonly closing: AbortSignal
}

async function post(
  url: string,
  alert: Alert,
  { secret, nowMs, closing }: PostOptions,
): Promise<ReturnType<typeof webhookOutcome>> {
  const body = JSON.stringify(alert)
  const { id } = alert
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'beaver',
        'idempotency-key': id,
        ...(secret === null ? { 'webhook-id': id } : signedHeaders(secret, { id, body, nowMs })),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([closing, AbortSignal.timeout(answerMsMax)]),
    })
    await answer.body?.cancel().catch(() => {})
    return webhookOutcome(answer, nowMs)
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    return { kind: 'later', reason: `${new URL(url).host} cannot be reached: ${messageOf(cause)}` }
  }
}
