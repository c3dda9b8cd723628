// Where the accounts of shared budgets are kept. Every daemon of a tenant writes them, each over the revision
// from which it decided.
import type { Account, AccountKey } from '../budget/account.ts'

/** An account with its revision. 0: it is not stored yet. */
export interface StoredAccount {
  readonly account: Account
  readonly revision: number
}

/** Some of the accounts of a tenant. */
export interface AccountsOf extends Pick<AccountKey, 'of' | 'period'> {
  /** Absent: every name. */
  readonly name?: string | undefined
}

/** The accounts of the budgets that tasks share. */
export interface BudgetAccounts {
  /**
   * The newest account, asked at its source. A missing one is empty.
   *
   * @throws {BeaverError} `budget_corrupt` if it cannot be read; `unreachable`
   */
  read(key: AccountKey): Promise<StoredAccount>
  /**
   * Writes an account over a revision.
   *
   * @returns the new revision; `null` if another write came first, and nothing was written
   * @throws {BeaverError} `unreachable`: nobody knows whether it was written; `too_large`
   */
  write(key: AccountKey, account: Account, revision: number): Promise<number | null>
  /**
   * The accounts that are stored: of a tenant, and only those that `only` says. There may be very many, so the
   * storage itself looks for these.
   *
   * @throws {BeaverError} `unreachable`
   */
  list(tenant: string, only?: AccountsOf): Promise<readonly AccountKey[]>
}
