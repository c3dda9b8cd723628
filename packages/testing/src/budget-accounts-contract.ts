// What all BudgetAccounts must do, for the in-memory twin and the adapter on JetStream.
import {
  type Account,
  type AccountKey,
  type BudgetAccounts,
  newAccount,
  noAmounts,
  setEntry,
  type StoredAccount,
} from '@beaver/core/budget'
import { describe, expect, test } from 'vitest'

export interface BudgetAccountsUnderTest {
  /** Two writers of the same storage, like two daemons. */
  readonly accounts: readonly [BudgetAccounts, BudgetAccounts]
  /** Stores something that is not an account. */
  corrupt(key: AccountKey): Promise<void>
}

const keyOf = (tenant: string, more: Partial<AccountKey> = {}): AccountKey => ({
  ...{ tenant, of: 'user', name: 'ada', period: '2026-11', ...more },
})
let tenants = 0
/** An unused tenant. */
const freshTenant = (): string => `会话 .*> ${++tenants}`

/** An account in which one task used a number of tokens. */
function accountWith(task: string, tokens: number): Account {
  const account = newAccount()
  add(account, task, tokens)
  return account
}

function add(account: Account, task: string, tokens: number): void {
  const entry = { session: 's', epoch: 1, used: { ...noAmounts, tokens }, reserved: noAmounts, waits: false }
  setEntry(account, task, { entry, known: false })
}

const fullAccount = (): Account => ({
  ended: { ...noAmounts, usd: 12_345_678_901_234_567_890n, tool_calls: 3 },
  tasks: new Map([
    [
      '任务 .*> 1',
      {
        session: 'web:测试',
        epoch: 7,
        used: { ...noAmounts, usd: 5n, tokens: 1_000 },
        reserved: { ...noAmounts, model_calls: 1 },
        waits: true,
      },
    ],
  ]),
  raises: [{ request_id: 'r1', more: { tokens: 50 }, at: '2026-11-01T00:00:00.000Z', user_id: 'Zoë' }],
  told: new Map([['tokens 100', 80]]),
})

/** @param open opens the accounts under test; called once, before the first test */
export function budgetAccountsContract(name: string, open: () => Promise<BudgetAccountsUnderTest>): void {
  describe(`${name} as the accounts of budgets`, () => {
    let opened: Promise<BudgetAccountsUnderTest> | null = null
    const parts = (): Promise<BudgetAccountsUnderTest> => (opened ??= open())
    const both = async (): Promise<readonly [BudgetAccounts, BudgetAccounts]> => (await parts()).accounts

    test('a missing account is empty, at revision 0', async () => {
      const [one] = await both()
      expect(await one.read(keyOf(freshTenant()))).toEqual({ account: newAccount(), revision: 0 })
    })

    test('what one writer wrote is read by the other at once, as it was', async () => {
      const [one, other] = await both()
      const key = keyOf(freshTenant())
      const revision = await one.write(key, fullAccount(), 0)
      expect(revision).toBeGreaterThan(0)
      expect(await other.read(key)).toEqual({ account: fullAccount(), revision })
      const later = await other.write(key, accountWith('t', 1), revision ?? 0)
      expect(later).toBeGreaterThan(revision ?? 0)
      expect(await one.read(key)).toEqual({ account: accountWith('t', 1), revision: later })
    })

    test('a write over an old revision, or over none, changes nothing', async () => {
      const [one, other] = await both()
      const key = keyOf(freshTenant())
      const first = await one.write(key, accountWith('t', 1), 0)
      expect(await other.write(key, accountWith('t', 100), 0)).toBeNull()
      expect(await one.read(key)).toEqual({ account: accountWith('t', 1), revision: first })
      const second = await one.write(key, accountWith('t', 2), first ?? 0)
      expect(await other.write(key, accountWith('t', 100), first ?? 0)).toBeNull()
      expect(await other.read(key)).toEqual({ account: accountWith('t', 2), revision: second })
    })

    test('a write over a revision that an account never had changes nothing', async () => {
      const [one] = await both()
      const key = keyOf(freshTenant())
      expect(await one.write(key, accountWith('t', 1), 1_000_000)).toBeNull()
      expect(await one.read(key)).toEqual({ account: newAccount(), revision: 0 })
    })

    test('the caller may change an account that it wrote or read, and the stored one stays', async () => {
      const [one, other] = await both()
      const key = keyOf(freshTenant())
      const account = accountWith('t', 1)
      await one.write(key, account, 0)
      add(account, 'u', 5)
      add((await one.read(key)).account, 'v', 5)
      for (const each of [one, other]) expect((await each.read(key)).account).toEqual(accountWith('t', 1))
    })

    test('accounts of other tenants, kinds, names and periods are apart, and are listed by their tenant', async () => {
      const [one, other] = await both()
      const [tenant, stranger] = [freshTenant(), freshTenant()]
      const names = ['ada', '会话 .*> 1', '', '.', '*', '>', '=41', 'A', 'a.b', 'a', 'b', '会'.repeat(128)]
      const keys = [
        ...(['session', 'user', 'profile'] as const).flatMap((of) =>
          names.map((name) => keyOf(tenant, { of, name })),
        ),
        ...['run', '2026-11-29', '2026-10'].map((period) => keyOf(tenant, { period })),
        ...['2026-11', '2026-11-29'].map((period) => keyOf(tenant, { of: 'tenant', name: '', period })),
        keyOf(stranger),
        keyOf(stranger, { of: 'tenant', name: '' }),
      ]
      for (const [i, key] of keys.entries())
        expect(await one.write(key, accountWith('t', i + 1), 0)).not.toBeNull()
      for (const [i, key] of keys.entries())
        expect((await other.read(key)).account).toEqual(accountWith('t', i + 1))
      for (const whose of [tenant, stranger])
        expect(sorted(await other.list(whose))).toEqual(sorted(keys.filter((key) => key.tenant === whose)))
      expect(await one.list(freshTenant())).toEqual([])
    })

    test('are listed by their kind and period, and by their name', async () => {
      const [one, other] = await both()
      const tenant = freshTenant()
      const [ada, bob, ofTenant] = [
        keyOf(tenant, { period: '2026-11-29' }),
        keyOf(tenant, { period: '2026-11-29', name: 'b.*' }),
        keyOf(tenant, { of: 'tenant', name: '' }),
      ]
      const others = [keyOf(tenant), keyOf(tenant, { of: 'profile' }), keyOf(freshTenant())]
      for (const key of [ada, bob, ofTenant, ...others]) await one.write(key, accountWith('t', 1), 0)
      const day = { of: 'user', period: '2026-11-29' } as const
      expect(sorted(await other.list(tenant, day))).toEqual(sorted([ada, bob]))
      expect(await other.list(tenant, { ...day, name: 'b.*' })).toEqual([bob])
      expect(await other.list(tenant, { ...day, name: 'cy' })).toEqual([])
      expect(await other.list(tenant, { of: 'tenant', period: '2026-11' })).toEqual([ofTenant])
    })

    test('two writers that write over what they read lose no entry', async () => {
      const accounts = await both()
      const key = keyOf(freshTenant(), { of: 'tenant', name: '' })
      await Promise.all(accounts.map((each, i) => addForty(each, key, `w${i}`)))
      const { account } = await accounts[0].read(key)
      expect([...account.tasks.keys()].toSorted()).toEqual([...fortyTasks('w0'), ...fortyTasks('w1')])
    })

    test('one of two first writes succeeds', async () => {
      const accounts = await both()
      const key = keyOf(freshTenant())
      const revisions = await Promise.all(
        accounts.map((each, i) => each.write(key, accountWith(`w${i}`, 1), 0)),
      )
      expect(revisions.filter((revision) => revision === null)).toHaveLength(1)
      const winner = revisions.findIndex((revision) => revision !== null)
      expect((await accounts[0].read(key)).account).toEqual(accountWith(`w${winner}`, 1))
    })

    test('a value that cannot be read is reported, and no first write replaces it', async () => {
      const { accounts, corrupt } = await parts()
      const tenant = freshTenant()
      const [known, unknown] = [keyOf(tenant), keyOf(tenant, { name: 'new' })]
      const revision = await accounts[0].write(known, accountWith('t', 1), 0)
      for (const key of [known, unknown]) await corrupt(key)
      for (const each of accounts) {
        expect(await each.write(known, accountWith('t', 2), revision ?? 0)).toBeNull()
        for (const key of [known, unknown]) {
          expect(await each.write(key, accountWith('t', 2), 0)).toBeNull()
          await expect(each.read(key)).rejects.toMatchObject({ code: 'budget_corrupt' })
        }
      }
      expect(await accounts[0].write(keyOf(tenant, { name: 'else' }), accountWith('t', 1), 0)).not.toBeNull()
    })
  })
}

const sorted = (keys: readonly AccountKey[]): string[] =>
  keys.map(({ tenant, of, name, period }) => JSON.stringify([tenant, of, name, period])).toSorted()

const fortyTasks = (writer: string): string[] =>
  Array.from({ length: 40 }, (_, i) => `${writer} ${String(i).padStart(2, '0')}`)

async function addForty(accounts: BudgetAccounts, key: AccountKey, writer: string): Promise<void> {
  for (const task of fortyTasks(writer)) {
    let stored: StoredAccount
    do {
      stored = await accounts.read(key)
      add(stored.account, task, 1)
    } while ((await accounts.write(key, stored.account, stored.revision)) === null)
  }
}
