// The in-memory twin of the accounts of shared budgets. It keeps the stored text, so no writer shares an object
// with another one.
import { BeaverError } from '@beaver/core'
import {
  type AccountKey,
  accountText,
  type BudgetAccounts,
  newAccount,
  readAccount,
} from '@beaver/core/budget'

/** The accounts that several daemons share: the text and the revision of each, by its key. */
export type BudgetStorage = Map<
  string,
  { readonly key: AccountKey; readonly text: string; readonly revision: number }
>

/** @param storage Default: one of its own */
export function memoryBudgetAccounts(storage: BudgetStorage = new Map()): BudgetAccounts {
  const idOf = ({ tenant, of, name, period }: AccountKey): string =>
    JSON.stringify([tenant, of, name, period])
  return {
    async read(key) {
      const stored = storage.get(idOf(key))
      if (stored === undefined) return { account: newAccount(), revision: 0 }
      const account = readAccount(stored.text)
      if (account === null)
        throw new BeaverError(
          'budget_corrupt',
          `The account ${idOf(key)} cannot be read. It was left as it is.`,
        )
      return { account, revision: stored.revision }
    },
    async write(key, account, revision) {
      if ((storage.get(idOf(key))?.revision ?? 0) !== revision) return null
      storage.set(idOf(key), { key, text: accountText(account), revision: revision + 1 })
      return revision + 1
    },
    list: async (tenant, only) =>
      [...storage.values()]
        .map(({ key }) => key)
        .filter(
          (key) =>
            key.tenant === tenant &&
            (only === undefined || (key.of === only.of && key.period === only.period)) &&
            (only?.name === undefined || key.name === only.name),
        ),
  }
}
