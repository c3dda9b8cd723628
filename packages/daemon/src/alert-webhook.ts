// Sends alerts to the webhook of the configuration. An alert is a copy of a fact that the journal and the log
// lines have: it is tried a few times, and never holds a task.
import { type Clock, type DataOf, type Logger, type LogId, messageOf, pause, systemFacts } from '@beaver/core'
import { type Backoff, pauseBefore } from '@beaver/core/supervision'

/** A share of a budget is used, as the webhook gets it. */
export interface BudgetAlert extends DataOf<'budget_reached'> {
  readonly kind: 'budget_reached'
  /** When, in ISO 8601. */
  readonly at: string
  readonly tenant: string
  readonly session_id: string
  /** The task whose call it was. */
  readonly task_id: string
}

export interface AlertWebhook {
  budgetReached(log: LogId, data: DataOf<'budget_reached'>): void
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
  { clock, logger, now }: { readonly clock: Clock; readonly logger: Logger; now(): number },
): AlertWebhook {
  const closing = new AbortController()
  let waiting = 0
  const failed = (reason: string): void => systemFacts.alertNotSent(logger, { reason })

  async function send(target: string, alert: BudgetAlert): Promise<void> {
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
    budgetReached({ tenant, session: session_id, task: task_id }, data) {
      if (url === undefined) return
      const at = new Date(now()).toISOString()
      void send(url, { kind: 'budget_reached', at, tenant, session_id, task_id, ...data })
    },
    close: () => closing.abort(),
  }
}

async function post(url: string, alert: BudgetAlert, closing: AbortSignal): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(alert),
    signal: AbortSignal.any([closing, AbortSignal.timeout(answerMsMax)]),
  })
  await answer.body?.cancel()
  if (!answer.ok) throw new Error(`It answered with the status ${answer.status}`)
}
