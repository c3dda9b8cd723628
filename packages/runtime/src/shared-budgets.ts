// The budgets that one task shares with others. In each account the task has one entry: what it used, as its
// log says, and what its calls under way may use at most, also those whose reservation is not in the log yet.
// Only the owner of the task writes the entry, and it says the whole of it each time, so a repeated or a late
// write changes nothing.
// S1. An entry has the place of a call before the log has it, and the log before the call begins.
// S2. The entry is closed before the delivery of an ended task is acknowledged: if the daemon dies between,
// the next one closes it.
import type { DataOf, LogId } from '@beaver/core'
import {
  type Account,
  type AccountEntry,
  type AccountKey,
  accountTotals,
  addAmounts,
  type Amounts,
  type BudgetName,
  type BudgetMeasure,
  closeEntry,
  type Grant,
  noAmounts,
  periodAt,
  perOf,
  raisedBy,
  raisedLimits,
  reservedIn,
  setEntry,
  sharesReached,
  type Standing,
  takeAmounts,
  type TaskSpend,
  usedIn,
} from '@beaver/core/budget'
import type { AccountBook, AccountLine } from './account-lines.ts'
import { accountKeyText } from './account-lines.ts'
import type { SharedBudget } from './budget-rules.ts'

/** What the entries of a task say. */
export interface OwnAmounts {
  readonly used: Amounts
  readonly reserved: Amounts
}

export interface SharedBudgetsOf {
  readonly log: LogId
  /** How often the task was claimed. */
  readonly epoch: number
  readonly budgets: readonly SharedBudget[]
  readonly book: AccountBook
  /** In milliseconds since 1970. */
  now(): number
  /**
   * What the task used and reserved in a period, at this moment.
   *
   * @param account which calls that get their place count: those that have it in this account; absent: all
   */
  amounts(period: string, account?: string): OwnAmounts
  /** Whether a call of the task waits for a person who gives more to this account. */
  waitsFor(account: string): boolean
  /** An account has changed. */
  changed(): void
  /** Whether the log of the task takes events. If not, the next task tells what is used. */
  canTell(): boolean
  /** A share of a budget is used for the first time. */
  tell(data: DataOf<'budget_reached'>): void
}

/** A shared budget in its present period. */
export interface SharedNow {
  readonly budget: SharedBudget
  readonly name: BudgetName
  readonly period: string
  /** The key of its account, as text. */
  readonly account: string
}

/** The answer of an account to a call. */
export type SharedAnswer =
  | { readonly kind: 'superseded' }
  | {
      readonly kind: 'answered'
      readonly grant: Grant
      readonly standing: Standing
      readonly revision: number
    }

interface Entered {
  readonly now: SharedNow
  readonly line: AccountLine
  readonly leave: () => void
  /** Whether this owner has written the entry. */
  known: boolean
  /** Whether a write of the entry is to come. */
  queued: boolean
}

type Told = DataOf<'budget_reached'>

export class SharedBudgets {
  readonly #of: SharedBudgetsOf
  readonly #entered = new Map<string, Entered>()
  #left = false

  constructor(of: SharedBudgetsOf) {
    this.#of = of
  }

  /** Whether there are any. */
  get any(): boolean {
    return this.#of.budgets.length > 0
  }

  /** Whether one of them counts by days. */
  get byDay(): boolean {
    return this.#of.budgets.some(({ per }) => per !== 'run')
  }

  /** Whether one of them bounds the calls of tools. */
  get toolCalls(): boolean {
    return this.#of.budgets.some(({ limits }) => limits.tool_calls !== undefined)
  }

  /** The budgets at this moment. */
  now(): readonly SharedNow[] {
    const atMs = this.#of.now()
    return this.#of.budgets.map((budget) => this.#nowOf(budget, periodAt(budget.per, atMs)))
  }

  /** As this daemon saw it last, with what the task says now. `null`: it saw nothing yet. */
  standing(now: SharedNow): Standing | null {
    const { line } = this.#enter(now)
    if (line.known === null) return null
    const { account } = line.known
    const own = account.tasks.get(this.#of.log.task)
    const { used, reserved } = this.#of.amounts(now.period)
    const totals = accountTotals(account)
    return {
      limits: raisedLimits(now.budget.limits, raisedBy(account)),
      used: addAmounts(takeAmounts(totals.used, own?.used ?? noAmounts), used),
      reserved: addAmounts(takeAmounts(totals.reserved, own?.reserved ?? noAmounts), reserved),
    }
  }

  /** The revision at which the account was seen last. 0: it was not, or it is empty. */
  revision(now: SharedNow): number {
    return this.#enter(now).line.known?.revision ?? 0
  }

  /**
   * Reserves a call in an account.
   *
   * @param decide decides about the call by the account without it
   * @param note keeps what the call has in the account, so that `amounts` has it from now on; `null`: nothing
   */
  async reserve(
    now: SharedNow,
    decide: (standing: Standing) => Grant,
    note: (amounts: Amounts | null) => void,
  ): Promise<SharedAnswer> {
    const entered = this.#enter(now)
    const { answer, told } = await entered.line.change<{ answer: SharedAnswer; told: Told[] }>(
      (account, fresh) => {
        note(null)
        const set = this.#set(account, entered, this.#entry(now))
        if (set === null)
          return fresh
            ? { kind: 'keep', value: { answer: { kind: 'superseded' }, told: [] } }
            : { kind: 'look' }
        const standing = {
          limits: raisedLimits(now.budget.limits, raisedBy(account)),
          ...accountTotals(account),
        }
        const grant = decide(standing)
        const answered = { kind: 'answered', grant, standing, revision: 0 } as const
        if (grant.kind === 'short') {
          if (!fresh) return { kind: 'look' }
          return { kind: set.changed ? 'write' : 'keep', value: { answer: answered, told: set.told } }
        }
        note(grant.amounts)
        this.#set(account, entered, this.#entry(now))
        return { kind: 'write', value: { answer: answered, told: set.told } }
      },
    )
    this.#tell(told)
    if (answer.kind === 'superseded') return answer
    if (answer.grant.kind === 'granted') entered.known = true
    return { ...answer, revision: entered.line.known?.revision ?? 0 }
  }

  /** Reads an account anew. */
  look(now: SharedNow): Promise<void> {
    return this.#enter(now).line.look()
  }

  /** Reads an account again and again, until the returned function is called. */
  watch(now: SharedNow): () => void {
    return this.#enter(now).line.watch()
  }

  /** Who used most of an account, by task. */
  spenders(now: SharedNow): readonly { readonly task_id: string; readonly used: Amounts }[] {
    const tasks = this.#enter(now).line.known?.account.tasks ?? new Map<string, AccountEntry>()
    return [...tasks].map(([task_id, { used }]) => ({ task_id, used }))
  }

  /** Begins to write the entries of days on which the task used something before this daemon claimed it. */
  enterAll(days: Iterable<string>): void {
    for (const now of this.now()) this.#enter(now)
    for (const day of days)
      for (const budget of this.#of.budgets)
        this.#enter(
          this.#nowOf(budget, budget.per === 'run' ? 'run' : day.slice(0, budget.per === 'day' ? 10 : 7)),
        )
    this.write()
  }

  /** Begins to write what has changed. */
  write(): void {
    if (this.#left) return
    for (const entered of this.#entered.values()) {
      if (entered.queued) continue
      entered.queued = true
      void entered.line
        .change((account, fresh) => {
          entered.queued = false
          const set = this.#set(account, entered, this.#entry(entered.now))
          if (set === null) return fresh ? { kind: 'keep', value: null } : { kind: 'look' }
          const known = account.tasks.has(this.#of.log.task)
          return { kind: set.changed ? 'write' : 'keep', value: { known, told: set.told } }
        })
        .then(
          (set) => {
            entered.known ||= set?.known === true
            this.#tell(set?.told ?? [])
          },
          // The next write, or the next owner, says it again.
          () => void (entered.queued = false),
        )
    }
  }

  /** Resolves when the accounts have what the task says now. */
  async written(): Promise<void> {
    this.write()
    await Promise.all(
      [...this.#entered.values()].map(({ line }) => line.change(() => nothing).catch(() => {})),
    )
  }

  /** Closes the entries of a task that has ended. */
  close(spend: TaskSpend): Promise<void> {
    return closeAccounts(spend, this.#of)
  }

  /** Writes nothing more, and hears of no account any more: the next owner does. */
  leave(): void {
    this.#left = true
    for (const { leave } of this.#entered.values()) leave()
  }

  #nowOf(budget: SharedBudget, period: string): SharedNow {
    const { of, name, per } = budget
    return {
      ...{ budget, period, name: { of, ...(name === '' ? {} : { name }), per } },
      account: accountKeyText(keyOf(this.#of.log, budget, period)),
    }
  }

  #enter(now: SharedNow): Entered {
    const there = this.#entered.get(now.account)
    if (there !== undefined) return there
    const line = this.#of.book.line(keyOf(this.#of.log, now.budget, now.period))
    const leave = line.listen(() => this.#of.changed())
    const entered: Entered = { now, line, leave, known: false, queued: false }
    this.#entered.set(now.account, entered)
    return entered
  }

  #entry({ period, account }: SharedNow): AccountEntry {
    const { log, epoch } = this.#of
    return {
      ...{ session: log.session, epoch, ...this.#of.amounts(period, account) },
      waits: this.#of.waitsFor(account),
    }
  }

  /** `null`: another owner, or the end of the task, came first. */
  #set(
    account: Account,
    { now, known }: Entered,
    entry: AccountEntry,
  ): { readonly changed: boolean; readonly told: Told[] } | null {
    const set = setEntry(account, this.#of.log.task, { entry, known })
    if (set === 'superseded') return null
    const told = this.#of.canTell() ? sharesOf(account, now) : []
    return { changed: set === 'changed' || told.length > 0, told }
  }

  #tell(told: readonly Told[]): void {
    for (const each of told) this.#of.tell(each)
  }
}

const nothing = { kind: 'keep', value: undefined } as const

const keyOf = (
  { tenant }: Pick<LogId, 'tenant'>,
  { of, name }: Pick<SharedBudget, 'of' | 'name'>,
  period: string,
): AccountKey => ({ tenant, of, name, period })

/** Finds the shares of the limits that nobody has told yet, and marks them in the account. */
function sharesOf(account: Account, { budget, name }: SharedNow): Told[] {
  const limits = raisedLimits(budget.limits, raisedBy(account))
  const { used } = accountTotals(account)
  const keyOfLimit = (measure: BudgetMeasure, limit: number): string => `${measure} ${limit}`
  const reached = sharesReached({ limits, used }, (measure, limit) =>
    account.told.get(keyOfLimit(measure, limit)),
  )
  for (const { measure, limit, percent } of reached) account.told.set(keyOfLimit(measure, limit), percent)
  return reached.map((each) => ({ budget: name, ...each }))
}

/**
 * Closes the entries of a task that has ended. What a lost call may have used counts as used.
 *
 * @param spend folded from the whole log
 */
export async function closeAccounts(
  spend: TaskSpend,
  { log, budgets, book, now }: Pick<SharedBudgetsOf, 'log' | 'budgets' | 'book' | 'now'>,
): Promise<void> {
  const atMs = now()
  await Promise.all(
    budgets.flatMap((budget) => {
      const cut = budget.per === 'day' ? 10 : 7
      const days = [...spend.days.keys(), ...[...spend.runs.values()].flatMap(({ open }) => open?.day ?? [])]
      const periods = new Set([
        periodAt(budget.per, atMs),
        ...(budget.per === 'run' ? [] : days.map((day) => day.slice(0, cut))),
      ])
      return [...periods].map(async (period) => {
        const used = addAmounts(usedIn(spend, period), reservedIn(spend, period))
        await book.line(keyOf(log, budget, period)).change((account, fresh) => {
          if (closeEntry(account, log.task, used)) return { kind: 'write', value: undefined }
          return fresh ? nothing : { kind: 'look' }
        })
      })
    }),
  )
}

/** Whether a period is the one of a time. */
export const isPresent = (period: string, atMs: number): boolean => periodAt(perOf(period), atMs) === period
