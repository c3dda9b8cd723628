// Lists the budgets that tasks share, and gives more to one of them. The account keeps a raise, and a repeated
// id changes nothing. Then the caller tells each task that waits.
import { type Asker, BeaverError } from '@beaver/core'
import {
  type Account,
  type AccountKey,
  accountTotals,
  type Amounts,
  type Budget,
  type BudgetLimits,
  budgetMeasures,
  type BudgetName,
  budgetText,
  isShared,
  periodAt,
  periodEndMs,
  perOf,
  raisedBy,
  raisedLimits,
  type SharedOf,
} from '@beaver/core/budget'
import { usdOf } from '@beaver/core/cost'
import { type AccountBook, accountKeyText } from './account-lines.ts'
import { configuredFor, limitsIn } from './budget-rules.ts'

export interface SharedBudgetsPorts {
  readonly tenant: string
  readonly budgets: readonly Budget[]
  /** `null`: no budget is shared. */
  readonly book: AccountBook | null
  /** In milliseconds since 1970. */
  now(): number
}

/** Which shared budget is meant. */
export interface SharedName {
  readonly of: SharedOf
  /** Absent: that of the tenant. */
  readonly name?: string | undefined
  readonly per: Budget['per']
}

/** How often one budget may be raised in one period. */
const raisesMax = 100

/** A shared budget with its account, as `budget.list` gives it. */
export interface SharedReport extends BudgetName {
  readonly of: SharedOf
  readonly period: string
  readonly ends_at: string | null
  readonly limits: BudgetLimits
  readonly raised: BudgetLimits
  readonly exceeded: Budget['exceeded']
  readonly used: ReportedAmounts
  readonly reserved: ReportedAmounts
  readonly open_tasks: number
  readonly waiting_tasks: number
}

interface ReportedAmounts {
  readonly usd: number
  readonly tokens: number
  readonly model_calls: number
  readonly tool_calls: number
}

/** What `budget.list` gives. `total`: how many there are, with those that are not in the list. */
interface SharedList {
  readonly budgets: readonly SharedReport[]
  readonly total: number
  readonly more: boolean
}

/** An answer is one message. */
const answerBytesMax = 640 * 1024

/**
 * The shared budgets that are bounded, in their present period: those that have an account, and those that the
 * configuration names. Only the accounts in the list are read, however many there are.
 *
 * @throws {BeaverError} `budget_corrupt`, `unreachable`
 */
export async function listShared(
  {
    of,
    name,
    limit,
  }: { readonly of?: SharedOf | undefined; readonly name?: string | undefined; readonly limit: number },
  ports: SharedBudgetsPorts,
): Promise<SharedList> {
  const { budgets, book, now } = ports
  const atMs = now()
  if (book === null) return { budgets: [], total: 0, more: false }
  const present = (await keysOf(ports, { of, name, book, atMs }))
    .flatMap((key) => {
      const configured = configuredFor(budgets, { ...key, per: perOf(key.period) })
      return configured !== undefined && bounds(configured) ? [{ key, configured }] : []
    })
    .toSorted((a, b) => order.indexOf(a.key.of) - order.indexOf(b.key.of) || compare(a.key, b.key))
  const reports: SharedReport[] = []
  let bytes = 0
  for (const { key, configured } of present.slice(0, limit)) {
    const account = await book
      .line(key)
      .change((read, fresh) => (fresh ? { kind: 'keep', value: structuredClone(read) } : { kind: 'look' }))
    const report = reportOf(key, { configured, account, atMs })
    bytes += Buffer.byteLength(JSON.stringify(report))
    if (bytes > answerBytesMax) break
    reports.push(report)
  }
  return { budgets: reports, total: present.length, more: present.length > reports.length }
}

const bounds = (configured: Budget): boolean =>
  isShared(configured) && Object.keys(limitsIn(configured)).length > 0

/**
 * The accounts of the present periods of the configured budgets, stored or named. Those of past days, of which
 * there are many, are not asked for.
 */
async function keysOf(
  { tenant, budgets }: SharedBudgetsPorts,
  {
    of,
    name,
    book,
    atMs,
  }: {
    readonly of: SharedOf | undefined
    readonly name: string | undefined
    readonly book: AccountBook
    readonly atMs: number
  },
): Promise<AccountKey[]> {
  const asked = budgets
    .filter(isShared)
    .filter((each) => (of === undefined || each.of === of) && (each.of !== 'tenant' || name === undefined))
    .map((each) => ({ of: each.of, name: each.name, period: periodAt(each.per, atMs) }))
  const keys = new Map<string, AccountKey>()
  const add = (key: AccountKey): void => void keys.set(accountKeyText(key), key)
  for (const each of asked)
    if ((each.of === 'tenant' || each.name !== undefined) && (name === undefined || name === each.name))
      add({ ...each, tenant, name: each.name ?? '' })
  const places = new Map(asked.map((each) => [`${each.of} ${each.period}`, each]))
  for (const place of places.values())
    for (const key of await book.list(tenant, { of: place.of, period: place.period, name })) add(key)
  return [...keys.values()]
}

const order: readonly SharedOf[] = ['tenant', 'profile', 'user', 'session']
const compare = (a: AccountKey, b: AccountKey): number =>
  a.name === b.name ? (a.period < b.period ? -1 : 1) : a.name < b.name ? -1 : 1

function reportOf(
  { of, name, period }: AccountKey,
  {
    configured,
    account,
    atMs,
  }: { readonly configured: Budget; readonly account: Account; readonly atMs: number },
): SharedReport {
  const { used, reserved } = accountTotals(account)
  const raised = raisedBy(account)
  const endMs = periodEndMs(configured.per, atMs)
  return {
    ...{ of, ...(name === '' ? {} : { name }), per: configured.per, period },
    ends_at: endMs === Infinity ? null : new Date(endMs).toISOString(),
    ...{ limits: raisedLimits(limitsIn(configured), raised), raised, exceeded: configured.exceeded },
    ...{ used: reported(used), reserved: reported(reserved) },
    open_tasks: account.tasks.size,
    waiting_tasks: [...account.tasks.values()].filter(({ waits }) => waits).length,
  }
}

const reported = ({ usd, tokens, model_calls, tool_calls }: Amounts): ReportedAmounts => ({
  ...{ usd: usdOf(usd), tokens, model_calls, tool_calls },
})

/** What somebody gives more to a shared budget. */
export interface SharedRaise extends SharedName, Asker {
  readonly requestId: string
  readonly more: BudgetLimits
  readonly reason?: string | undefined
}

/**
 * Gives more to a shared budget in its present period.
 *
 * @returns the budget, and the tasks that wait for it
 * @throws {BeaverError} `conflict`, `invalid_arguments`, `budget_corrupt`
 */
export async function raiseShared(
  { requestId, of, name, per, more, reason, by, user_id }: SharedRaise,
  { tenant, budgets, book, now }: SharedBudgetsPorts,
): Promise<{
  readonly budget: SharedReport
  readonly waiting: readonly { readonly session: string; readonly task: string }[]
}> {
  if ((of === 'tenant') !== (name === undefined))
    throw new BeaverError(
      'invalid_arguments',
      of === 'tenant'
        ? 'The budget of the tenant has no name.'
        : `Say the budget of which ${of} gets more: its "name" is missing.`,
    )
  const whose = budgetText({ of, name, per })
  const configured = configuredFor(budgets, { of, name: name ?? '', per })
  if (configured === undefined || !isShared(configured) || book === null)
    throw new BeaverError(
      'conflict',
      per === 'run' && of !== 'session'
        ? `${capital(whose)} bounds each task alone. Give more to a task: "beaver budget raise <task>".`
        : `There is no ${whose.slice('the '.length)}, so it cannot be raised. "beaver budget" lists the budgets.`,
    )
  const limits = limitsIn(configured)
  const unbounded = budgetMeasures.find(
    (measure) => more[measure] !== undefined && limits[measure] === undefined,
  )
  if (unbounded !== undefined)
    throw new BeaverError(
      'conflict',
      `There is no limit of ${unbounded} in ${whose}, so it cannot be raised.`,
    )
  const atMs = now()
  const key: AccountKey = { tenant, of, name: name ?? '', period: periodAt(per, atMs) }
  const raise = {
    ...{ request_id: requestId, more, at: new Date(atMs).toISOString() },
    ...(by === undefined ? {} : { by }),
    ...(user_id === undefined ? {} : { user_id }),
    ...(reason === undefined ? {} : { reason }),
  }
  const done = await book.line(key).change<{ refusal: string } | { account: Account }>((account, fresh) => {
    if (!fresh) return { kind: 'look' }
    const known = account.raises.find((each) => each.request_id === requestId)
    const refusal =
      known !== undefined && !sameMore(known.more, more)
        ? `The request ${requestId} raised ${whose} already, by another amount. Use another request_id.`
        : known === undefined && account.raises.length >= raisesMax
          ? `${capital(whose)} was raised ${raisesMax} times. It cannot be raised again before its next period.`
          : null
    if (refusal !== null) return { kind: 'keep', value: { refusal } }
    if (known === undefined) account.raises.push(raise)
    return { kind: known === undefined ? 'write' : 'keep', value: { account: structuredClone(account) } }
  })
  if ('refusal' in done) throw new BeaverError('conflict', done.refusal)
  return {
    budget: reportOf(key, { configured, account: done.account, atMs }),
    waiting: [...done.account.tasks]
      .filter(([, { waits }]) => waits)
      .map(([task, { session }]) => ({ session, task })),
  }
}

const sameMore = (a: BudgetLimits, b: BudgetLimits): boolean =>
  budgetMeasures.every((measure) => a[measure] === b[measure])

const capital = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
