// The account of a budget that many tasks share: of a session, a user, a profile or a tenant, for one period.
// It holds what each open task used and reserved, as that task's owner says it, so a retried write changes
// nothing. Pure; its stored form is in stored-account.ts.
// A1. An entry is replaced only by the same or a later owner of its task (`epoch`).
// A2. An entry is created only by an owner that has not written one yet: if an owner's entry is gone, the task
// has ended.
// A3. When a task has ended, its amounts are added to `ended`, and its entry is removed. The account of a month
// is no larger than its open tasks.
import { addAmounts, type Amounts, noAmounts, sumOfLimits } from './amounts.ts'
import type { BudgetLimits, BudgetOf, BudgetPeriod, SharedOf } from './budget.ts'

/**
 * Whether tasks share a budget. One `run` of a user, a profile or the tenant bounds each of its tasks alone.
 *
 * @example
 * isShared({ of: 'user', per: 'day' }) // => true
 * isShared({ of: 'user', per: 'run' }) // => false
 */
export const isShared = <Of extends { readonly of: BudgetOf; readonly per: BudgetPeriod }>(
  each: Of,
): each is Of & { readonly of: SharedOf } =>
  each.of === 'session' || (each.of !== 'task' && each.of !== 'node' && each.per !== 'run')

/** Which account it is. */
export interface AccountKey {
  readonly tenant: string
  readonly of: SharedOf
  /** The session, user or profile. `''`: the tenant. */
  readonly name: string
  /** `run`, a day (YYYY-MM-DD) or a month (YYYY-MM), in UTC. */
  readonly period: string
}

/** What one task has used and reserved of a shared budget. */
export interface AccountEntry {
  readonly session: string
  /** How often the task was claimed when this was written. */
  readonly epoch: number
  readonly used: Amounts
  readonly reserved: Amounts
  /** Whether it waits for a person who gives more. */
  readonly waits: boolean
}

/** Somebody gave more to a shared budget. `at`: when, in ISO 8601. */
export interface AccountRaise {
  readonly request_id: string
  readonly more: BudgetLimits
  readonly at: string
  readonly by?: string | undefined
  readonly user_id?: string | undefined
  readonly reason?: string | undefined
}

/** The functions of this file change it. */
export interface Account {
  /** What the ended tasks used. */
  ended: Amounts
  readonly tasks: Map<string, AccountEntry>
  readonly raises: AccountRaise[]
  /** The largest share of each limit that was told, in percent, by measure and limit. */
  readonly told: Map<string, number>
}

/**
 * An account before its first task.
 *
 * @example
 * newAccount().tasks.size // => 0
 */
export const newAccount = (): Account => ({
  ended: noAmounts,
  tasks: new Map(),
  raises: [],
  told: new Map(),
})

/**
 * What all tasks used and reserved together.
 *
 * @example
 * accountTotals(newAccount()).used // => noAmounts
 */
export function accountTotals({ ended, tasks }: Account): { used: Amounts; reserved: Amounts } {
  let [used, reserved] = [ended, noAmounts]
  for (const entry of tasks.values()) {
    used = addAmounts(used, entry.used)
    reserved = addAmounts(reserved, entry.reserved)
  }
  return { used, reserved }
}

/**
 * Replaces the entry of a task. One without any amount is not created.
 *
 * @param known whether this owner has written an entry before
 * @returns `superseded`: the account knows a later owner, or the end of the task, and is not changed
 * @example
 * const entry = { session: 's', epoch: 1, used: { ...noAmounts, tokens: 5 }, reserved: noAmounts, waits: false }
 * setEntry(newAccount(), 't', { entry, known: false }) // => 'changed'
 */
export function setEntry(
  account: Account,
  task: string,
  { entry, known }: { readonly entry: AccountEntry; readonly known: boolean },
): 'changed' | 'same' | 'superseded' {
  const there = account.tasks.get(task)
  if (there === undefined ? known : there.epoch > entry.epoch) return 'superseded'
  if (there === undefined ? isIdle(entry) : sameEntry(there, entry)) return 'same'
  account.tasks.set(task, entry)
  return 'changed'
}

/**
 * Removes the entry of a task that has ended, and keeps what it used.
 *
 * @returns whether the account was changed
 * @example
 * closeEntry(newAccount(), 't', noAmounts) // => false
 */
export function closeEntry(account: Account, task: string, used: Amounts): boolean {
  if (!account.tasks.delete(task)) return false
  account.ended = addAmounts(account.ended, used)
  return true
}

/**
 * What persons gave more to the budget.
 *
 * @example
 * raisedBy(newAccount()) // => {}
 */
export const raisedBy = ({ raises }: Account): BudgetLimits =>
  raises.reduce<BudgetLimits>((sum, { more }) => sumOfLimits(sum, more), {})

/** An entry with nothing in it. One that waits is kept: somebody has to be told. */
const isIdle = ({ used, reserved, waits }: AccountEntry): boolean =>
  !waits && sameAmounts(used, noAmounts) && sameAmounts(reserved, noAmounts)

const sameEntry = (a: AccountEntry, b: AccountEntry): boolean =>
  a.epoch === b.epoch &&
  a.waits === b.waits &&
  sameAmounts(a.used, b.used) &&
  sameAmounts(a.reserved, b.reserved)

const sameAmounts = (a: Amounts, b: Amounts): boolean =>
  a.usd === b.usd && a.tokens === b.tokens && a.model_calls === b.model_calls && a.tool_calls === b.tool_calls

/**
 * The period of a budget in which a time lies.
 *
 * @param atMs in milliseconds since 1970
 * @example
 * periodAt('day', 0) // => '1970-01-01'
 * periodAt('month', 0) // => '1970-01'
 * periodAt('run', 0) // => 'run'
 */
export function periodAt(per: BudgetPeriod, atMs: number): string {
  if (per === 'run') return 'run'
  return new Date(atMs).toISOString().slice(0, per === 'day' ? 10 : 7)
}

/**
 * When the period ends in which a time lies, in milliseconds since 1970. The life of a task or a session does
 * not end by the clock.
 *
 * @example
 * periodEndMs('day', 0) // => 86_400_000
 * periodEndMs('run', 0) // => Infinity
 */
export function periodEndMs(per: BudgetPeriod, atMs: number): number {
  if (per === 'run') return Infinity
  const at = new Date(atMs)
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  return per === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1)
}

/**
 * Whether a period is a day, a month, or the whole life.
 *
 * @example
 * perOf('2026-11') // => 'month'
 */
export const perOf = (period: string): BudgetPeriod =>
  period === 'run' ? 'run' : period.length === 10 ? 'day' : 'month'
