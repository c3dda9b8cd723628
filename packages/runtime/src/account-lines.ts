// Changes the accounts of shared budgets for all tasks of one daemon. Each account has one line: one write at a
// time, with all changes that came meanwhile, over the newest revision that this daemon knows.
// C1. A change is a function of the account. It may be applied several times, to newer and newer accounts,
// until a write succeeds; only the last result counts.
// C2. A refusal is never decided by an account that this daemon only remembers: it asks for a newer one.
import { BeaverError, type Clock, pause } from '@beaver/core'
import type { Account, AccountKey, AccountsOf, BudgetAccounts, StoredAccount } from '@beaver/core/budget'

/** What a change does with an account. `look`: it needs the newest account; not if it has that (`fresh`). */
export type Changed<Value> =
  | { readonly kind: 'write' | 'keep'; readonly value: Value }
  | { readonly kind: 'look' }

type Apply<Value> = (account: Account, fresh: boolean) => Changed<Value>

interface Waiting {
  readonly apply: Apply<unknown>
  resolve(value: unknown): void
  reject(error: Error): void
}

/** How often an account is read again while somebody waits for it. */
const lookAgainMs = 1_000
/** The pause before the next try at an account that does not answer. */
const unansweredMs = 500
/** The longest pause after another daemon was faster. */
const overtakenMsMax = 20

export interface AccountLinePorts {
  readonly accounts: BudgetAccounts
  readonly clock: Clock
  /** Default: `Math.random`. */
  readonly random?: () => number
  /** Called once when an account does not answer any more. Default: nothing. */
  readonly told?: (error: unknown) => void
}

/** The lines of one daemon. */
export class AccountBook {
  readonly #ports: AccountLinePorts
  readonly #lines = new Map<string, AccountLine>()
  readonly #closing = new AbortController()

  constructor(ports: AccountLinePorts) {
    this.#ports = ports
  }

  line(key: AccountKey): AccountLine {
    const text = accountKeyText(key)
    const known = this.#lines.get(text)
    if (known !== undefined) return known
    const line = new AccountLine(key, this.#ports, {
      closing: this.#closing.signal,
      idle: () => void this.#lines.delete(text),
    })
    this.#lines.set(text, line)
    return line
  }

  list(tenant: string, only: AccountsOf): Promise<readonly AccountKey[]> {
    return this.#ports.accounts.list(tenant, only)
  }

  /** Gives up every change that is under way. */
  close(): void {
    this.#closing.abort()
  }
}

/** The key of an account in one line of text. */
export const accountKeyText = ({ tenant, of, name, period }: AccountKey): string =>
  JSON.stringify([tenant, of, name, period])

export class AccountLine {
  readonly key: AccountKey
  readonly #ports: AccountLinePorts
  readonly #of: { readonly closing: AbortSignal; readonly idle: () => void }
  #known: StoredAccount | null = null
  #waiting: Waiting[] = []
  #working = false
  /** Those who hear that the account has changed. */
  readonly #listeners = new Set<() => void>()
  /** How many wait for a change that only others can make. */
  #watchers = 0
  #again: { cancel(): void } | null = null

  constructor(key: AccountKey, ports: AccountLinePorts, of: { closing: AbortSignal; idle: () => void }) {
    this.key = key
    this.#ports = ports
    this.#of = of
  }

  /** The account as this daemon saw it last. `null`: not yet, or not since a write failed. */
  get known(): StoredAccount | null {
    return this.#known
  }

  /** Resolves when the change is stored, or when nothing had to be. @throws {BeaverError} `budget_corrupt`, `too_large` */
  change<Value>(apply: Apply<Value>): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      this.#waiting.push({ apply, resolve: resolve as (value: unknown) => void, reject })
      if (!this.#working) void this.#work()
    })
  }

  /** Reads the newest account. */
  look(): Promise<void> {
    return this.change((_, fresh) => (fresh ? { kind: 'keep', value: undefined } : { kind: 'look' }))
  }

  /** @returns a function that ends it */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      this.#leaveIfIdle()
    }
  }

  /** Reads the account again and again, until the returned function is called. */
  watch(): () => void {
    this.#watchers++
    this.#lookLater()
    return () => {
      this.#watchers--
      if (this.#watchers > 0) return
      this.#again?.cancel()
      this.#again = null
    }
  }

  #lookLater(): void {
    this.#again ??= this.#ports.clock.after(lookAgainMs, () => {
      this.#again = null
      if (this.#watchers === 0 || this.#of.closing.aborted) return
      // A failed look is tried again, too.
      this.look()
        .catch(() => {})
        .finally(() => {
          if (this.#watchers > 0) this.#lookLater()
        })
    })
  }

  async #work(): Promise<void> {
    this.#working = true
    while (this.#waiting.length > 0) {
      const before = this.#known?.revision
      await this.#carryOut(this.#waiting.splice(0))
      if (this.#known !== null && this.#known.revision !== before)
        for (const listener of [...this.#listeners]) listener()
    }
    this.#working = false
    this.#leaveIfIdle()
  }

  async #carryOut(batch: readonly Waiting[]): Promise<void> {
    const { clock, random = Math.random } = this.#ports
    for (let fresh = false, told = false; ;) {
      try {
        this.#of.closing.throwIfAborted()
        if (this.#known === null) {
          this.#known = await this.#ports.accounts.read(this.key)
          fresh = true
        }
        const done = await this.#try(batch, this.#known, fresh)
        if (done === 'overtaken') await pause(clock, random() * overtakenMsMax, this.#of.closing)
        if (done === 'done') return
      } catch (error) {
        this.#known = null
        const again = error instanceof BeaverError && error.code === 'unreachable'
        if (!again || this.#of.closing.aborted) {
          for (const each of batch) each.reject(error as Error)
          return
        }
        if (!told) this.#ports.told?.(error)
        told = true
        await pause(clock, unansweredMs, this.#of.closing)
      }
    }
  }

  async #try(
    batch: readonly Waiting[],
    { account: seen, revision }: StoredAccount,
    fresh: boolean,
  ): Promise<'done' | 'look' | 'overtaken'> {
    const account = structuredClone(seen)
    const results = batch.map(({ apply }) => apply(account, fresh))
    if (results.some(({ kind }) => kind === 'look')) {
      this.#known = null
      return 'look'
    }
    if (results.some(({ kind }) => kind === 'write')) {
      this.#known = null
      const written = await this.#ports.accounts.write(this.key, account, revision)
      if (written === null) return 'overtaken'
      this.#known = { account, revision: written }
    }
    for (const [i, { resolve }] of batch.entries()) {
      const result = results[i]
      resolve(result !== undefined && 'value' in result ? result.value : undefined)
    }
    return 'done'
  }

  #leaveIfIdle(): void {
    if (!this.#working && this.#listeners.size === 0) this.#of.idle()
  }
}
