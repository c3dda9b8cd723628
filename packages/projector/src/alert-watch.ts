// Judges the rules of `alerts.rules` by the read model, again and again, and sends an alert to the webhook when a
// rule begins to be broken (`firing`) and when it no longer is (`resolved`). What fires is kept in the home, so a
// restart repeats nothing. A rule is resolved only below nine tenths of its limit, so that a value around the
// limit does not send one alert after the other. While the read model is built, only its own delay is judged.
import { join } from 'node:path'
import type { QueryOutput } from '@beaver/contracts'
import { type Clock, type Logger, messageOf, systemClock } from '@beaver/core'
import { alertWebhook, type Config, keptFile, type KeptFile } from '@beaver/platform'
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

/** Since when each rule fires. */
export type Firing = Readonly<Partial<Record<AlertKind, string>>>

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

/** Looks now and then every 30 s, until `stop`. */
export function watchAlerts(
  {
    alerts: { webhook, rules },
    namespace,
    tenant,
    home,
  }: Pick<Config, 'alerts' | 'namespace' | 'tenant' | 'home'>,
  { sql, status, around, logger, clock = systemClock }: AlertParts,
): { stop(): Promise<void> } {
  const sender = alertWebhook(webhook, { clock, logger })
  const file = keptFile(join(home, 'alerts', `${namespace}.${tenant}.json`))
  let firing = readFiring(file)
  let isStopped = false
  let timer: { cancel(): void } | null = null
  let looking: Promise<void> = Promise.resolve()

  async function look(): Promise<void> {
    const nowMs = clock.now()
    const at = new Date(nowMs).toISOString()
    const measured = measure(rules, { sql, status: await status(), around: await around('usage', {}), nowMs })
    const decided = decide(firing, { rules, measured, at })
    if (isStopped) return
    if (JSON.stringify(decided.firing) !== JSON.stringify(firing))
      await file.write(JSON.stringify(decided.firing))
    firing = decided.firing
    for (const alert of decided.alerts) sender.send({ ...alert, tenant, namespace })
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
    },
  }
}

/** A file that cannot be read counts as none: then an alert may be sent twice. */
function readFiring(file: KeptFile): Firing {
  try {
    const kept = JSON.parse(file.read() ?? '{}') as Record<string, unknown>
    return Object.fromEntries(Object.entries(kept).filter(([, since]) => typeof since === 'string'))
  } catch {
    return {}
  }
}
