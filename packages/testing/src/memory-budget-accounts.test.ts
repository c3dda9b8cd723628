import { budgetAccountsContract } from './budget-accounts-contract.ts'
import { type BudgetStorage, memoryBudgetAccounts } from './memory-budget-accounts.ts'

budgetAccountsContract('memoryBudgetAccounts', async () => {
  const storage: BudgetStorage = new Map()
  const accounts = [memoryBudgetAccounts(storage), memoryBudgetAccounts(storage)] as const
  return {
    accounts,
    corrupt: async (key) => {
      const id = JSON.stringify([key.tenant, key.of, key.name, key.period])
      const revision = (storage.get(id)?.revision ?? 0) + 1
      storage.set(id, { key, text: '{"v":1,"ended":"oops"', revision })
    },
  }
})
