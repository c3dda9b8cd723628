// Judges the rules of `alerts.rules` by the read model, again and again, and sends an alert to the webhook when a
// rule begins to be broken (`firing`) and when it no longer is (`resolved`). A rule is resolved only below nine
// tenths of its limit, so that a value around the limit does not send one alert after the other. While the read
// model is built, only its own delay is judged.
// An alert is told at least once: it is kept in the home before it is sent, and until the receiver has it or
// refused it for good. Alerts are sent in their order. After a restart, one may come again, with the same id.
import { join } from 'node:path'
import type { QueryOutput } from '@beaver/contracts'
import { type Clock, type Logger, messageOf, pause, systemClock } from '@beaver/core'
import {
  type AlertWebhook,
  type Config,
  configuredAlertWebhook,
  keptFile,
  type KeptFile,
} from '@beaver/platform'
import { answer, type Around, endedSince, longestWaiting, type Sql, waitsNow } from '@beaver/projection'

type Rules = Config['alerts']['rules']
export type AlertKind = keyof Rules

/** What a rule gives now. */
export interface Measured {
  readonly kind: AlertKind
  readonly value: number
  readonly limit: number
  /** Some tasks of which it is about. */
  readonly examples: readonly string[]
}

/** An alert of a rule, without where it is from. */
export interface RuleAlert extends Measured {
  readonly state: 'firing' | 'resolved'
  readonly at: string
  /** Since when the rule is broken, or was until now. */
  readonly since: string
}

/** An alert as it is sent. Its id is the same whenever that happens. */
export interface ToldAlert extends RuleAlert {
  readonly id: string
  readonly tenant: string
  readonly namespace: string
}

/** Since when each rule fires. */
export type Firing = Readonly<Partial<Record<AlertKind, string>>>

/** What is kept in the home: what fires, and the alerts that are not told yet, the oldest first. */
export interface AlertState {
  readonly firing: Firing
  readonly untold: readonly ToldAlert[]
}

/** More are not kept: if a receiver is away for so long, the oldest are the least of use. */
const untoldMax = 200

const resolvedBelow = 0.9

/**
 * Which alerts follow from what was measured. A rule that was not measured stays as it is; one that the
 * configuration no longer has is forgotten.
 */
export function decide(
  firing: Firing,
  {
    rules,
    measured,
    at,
  }: { readonly rules: Rules; readonly measured: readonly Measured[]; readonly at: string },
): { readonly firing: Firing; readonly alerts: readonly RuleAlert[] } {
  const next: Partial<Record<AlertKind, string>> = {}
  for (const [kind, since] of Object.entries(firing) as [AlertKind, string][])
    if (rules[kind] !== undefined) next[kind] = since
  const alerts = measured.flatMap((each): RuleAlert[] => {
    const since = next[each.kind]
    if (since === undefined && each.value >= each.limit) {
      next[each.kind] = at
      return [{ ...each, state: 'firing', at, since: at }]
    }
    if (since === undefined || each.value >= each.limit * resolvedBelow) return []
    delete next[each.kind]
    return [{ ...each, state: 'resolved', at, since }]
  })
  return { firing: next, alerts }
}

/** What the rules give now. */
export function measure(
  rules: Rules,
  {
    sql,
    status,
    around,
    nowMs,
  }: { sql: Sql; status: QueryOutput<'status'>; around: Partial<Around>; nowMs: number },
): Measured[] {
  const msSince = (time: string | null): number =>
    time === null ? 0 : Math.max(0, nowMs - (Date.parse(time) || nowMs))
  const { failure_rate: rate, spend, waits, queue, behind } = rules
  const found: Measured[] = []
  const longer = (
    kind: AlertKind,
    rule: { longer_than_ms: number },
    value: number,
    examples: readonly string[] = [],
  ) => found.push({ kind, value, limit: rule.longer_than_ms, examples })
  if (behind !== undefined) longer('behind', behind, msSince(status.behind_since))
  if ((status.behind ?? 0) > behindMax) return found
  const now = waitsNow(sql)
  if (queue !== undefined) longer('queue', queue, msSince(now.queuedSince))
  if (waits !== undefined) longer('waits', waits, msSince(now.waiting.person.since), longestWaiting(sql))
  if (rate !== undefined) {
    const { tasks, failed, examples } = endedSince(sql, new Date(nowMs - rate.within_ms).toISOString())
    const value = tasks < rate.tasks_min ? 0 : (100 * failed) / tasks
    found.push({ kind: 'failure_rate', value, limit: rate.percent, examples })
  }
  if (spend !== undefined) {
    const day = new Date(nowMs).toISOString().slice(0, 'YYYY-MM-DD'.length)
    const { total } = answer(
      sql,
      'usage',
      { by: 'day', since: day, until: day },
      around,
    ) as QueryOutput<'usage'>
    found.push({
      kind: 'spend',
      value: total.cost_usd ?? total.cost_usd_known ?? 0,
      limit: spend.usd,
      examples: [],
    })
  }
  return found
}

/** While so many messages wait, the rows tell of an earlier time. */
const behindMax = 1_000
const everyMs = 30_000

interface AlertParts {
  readonly sql: Sql
  readonly status: () => Promise<QueryOutput<'status'>>
  readonly around: (name: string, request: unknown) => Promise<Partial<Around>>
  readonly logger: Logger
  /** Default: the clock of the system. */
  readonly clock?: Clock
}

/**
 * Looks now and then every 30 s, until `stop`.
 *
 * @throws {BeaverError} `invalid_configuration` if the secret of the webhook is missing or short
 */
export function watchAlerts(
  config: Pick<Config, 'alerts' | 'alertsSecret' | 'namespace' | 'tenant' | 'home'>,
  { sql, status, around, logger, clock = systemClock }: AlertParts,
): { stop(): Promise<void> } {
  const { namespace, tenant, home } = config
  const { rules } = config.alerts
  const sender = configuredAlertWebhook(config, { clock, logger })
  const file = keptFile(join(home, 'alerts', `${namespace}.${tenant}.json`))
  const teller = new AlertTeller(sender, { file, clock })
  let isStopped = false
  let timer: { cancel(): void } | null = null
  let looking: Promise<void> = Promise.resolve()

  async function look(): Promise<void> {
    const nowMs = clock.now()
    const at = new Date(nowMs).toISOString()
    const measured = measure(rules, { sql, status: await status(), around: await around('usage', {}), nowMs })
    const { firing, alerts } = decide(teller.state.firing, { rules, measured, at })
    if (isStopped) return
    await teller.keep(
      firing,
      alerts.map((alert) => ({ id: alertId(alert, namespace, tenant), ...alert, tenant, namespace })),
    )
  }

  function lookAgain(): void {
    looking = look()
      .catch((error: unknown) =>
        logger.warn('alerts_not_judged', `The rules of "alerts" could not be judged: ${messageOf(error)}`),
      )
      .then(() => {
        if (!isStopped) timer = clock.after(everyMs, lookAgain)
      })
  }
  lookAgain()
  return {
    async stop() {
      isStopped = true
      timer?.cancel()
      await looking
      sender.close()
      await teller.stop()
    },
  }
}

/** The same for the same alert, so that a receiver knows one that comes again. */
export const alertId = (
  { kind, state, since }: Pick<RuleAlert, 'kind' | 'state' | 'since'>,
  namespace: string,
  tenant: string,
): string => `alert_${namespace}_${tenant}_${kind}_${state}_${since.replaceAll(/\D/g, '')}`

const againMsMin = 5_000
const againMsMax = 600_000

/** Keeps what fires and what is not told yet, and tells it. */
export class AlertTeller {
  readonly #sender: Pick<AlertWebhook, 'send'>
  readonly #file: KeptFile
  readonly #clock: Clock
  readonly #stopping = new AbortController()
  #state: AlertState
  #written: string
  #telling: Promise<void> | null = null
  /** Ends the pause before the next try. */
  #wake = new AbortController()

  /** Begins to tell what an earlier process kept. */
  constructor(
    sender: Pick<AlertWebhook, 'send'>,
    { file, clock }: { readonly file: KeptFile; readonly clock: Clock },
  ) {
    this.#sender = sender
    this.#file = file
    this.#clock = clock
    this.#state = readState(file)
    this.#written = JSON.stringify(this.#state)
    this.#tell()
  }

  get state(): AlertState {
    return this.#state
  }

  /** Resolves when it is kept. Then the alerts are told, which nobody waits for: at once if there is a new one. */
  async keep(firing: Firing, alerts: readonly ToldAlert[]): Promise<void> {
    this.#state = { firing, untold: [...this.#state.untold, ...alerts].slice(-untoldMax) }
    try {
      await this.#write()
    } finally {
      if (alerts.length > 0) this.#wake.abort()
      this.#tell()
    }
  }

  /** What is not told yet stays in the file. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#telling
  }

  async #write(): Promise<void> {
    const text = JSON.stringify(this.#state)
    if (text === this.#written) return
    await this.#file.write(text)
    this.#written = text
  }

  #tell(): void {
    this.#telling ??= this.#tellAll().finally(() => {
      this.#telling = null
    })
  }

  async #tellAll(): Promise<void> {
    for (let againMs = againMsMin; !this.#stopping.signal.aborted;) {
      const [next] = this.#state.untold
      if (next === undefined) return
      this.#wake = new AbortController()
      if (await this.#sender.send(next)) {
        againMs = againMsMin
        const untold = this.#state.untold.filter((alert) => alert !== next)
        this.#state = { ...this.#state, untold }
        // If it cannot be written, a restart tells it again.
        await this.#write().catch(() => {})
      } else {
        await pause(this.#clock, againMs, AbortSignal.any([this.#stopping.signal, this.#wake.signal]))
        againMs = Math.min(againMs * 2, againMsMax)
      }
    }
  }
}

/**
 * A file that cannot be read counts as none: then an alert may be sent twice. An earlier version kept only what
 * fires, which it had told.
 */
function readState(file: KeptFile): AlertState {
  try {
    const kept = JSON.parse(file.read() ?? '{}') as Record<string, unknown>
    const { firing = kept, untold = [] } = kept
    const texts = Object.entries(firing as object).filter(([, since]) => typeof since === 'string')
    const alerts = Array.isArray(untold) ? (untold as ToldAlert[]) : []
    return {
      firing: Object.fromEntries(texts),
      untold: alerts.filter((each) => typeof each.id === 'string').slice(-untoldMax),
    }
  } catch {
    return { firing: {}, untold: [] }
  }
}
