// Sends alerts to the webhook of the configuration. An alert is a copy of a fact that the journal and the log
// lines have: it is tried a few times, and never holds a task.
import { type Clock, type Logger, messageOf, pause, systemFacts } from '@beaver/core'
import { type Backoff, pauseBefore } from '@beaver/core/supervision'

export interface AlertWebhook {
  /** Sends an alert as JSON. Nobody waits for it. */
  send(alert: object): void
  /** Gives up what is not sent yet. */
  close(): void
}

const triesMax = 4
const backoff: Backoff = { pauseMsMin: 500, pauseMsMax: 5_000, jitter: false }
const answerMsMax = 10_000
/** While more wait for an endpoint that does not answer, the newest are dropped. */
const waitingMax = 1_000

/** @param url `undefined`: there is no webhook */
export function alertWebhook(
  url: string | undefined,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): AlertWebhook {
  const closing = new AbortController()
  let waiting = 0
  const failed = (reason: string): void => systemFacts.alertNotSent(logger, { reason })

  async function send(target: string, alert: object): Promise<void> {
    if (waiting >= waitingMax) return failed(`${waitingMax} alerts wait already`)
    waiting++
    for (let tries = 1; !closing.signal.aborted; tries++) {
      try {
        await post(target, alert, closing.signal)
        break
      } catch (error) {
        if (tries === triesMax) {
          failed(messageOf(error))
          break
        }
        await pause(clock, pauseBefore(tries, backoff), closing.signal)
      }
    }
    waiting--
  }

  return {
    send(alert) {
      if (url !== undefined) void send(url, alert)
    },
    close: () => closing.abort(),
  }
}

async function post(url: string, alert: object, closing: AbortSignal): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(alert),
    signal: AbortSignal.any([closing, AbortSignal.timeout(answerMsMax)]),
  })
  await answer.body?.cancel()
  if (!answer.ok) throw new Error(`It answered with the status ${answer.status}`)
}
