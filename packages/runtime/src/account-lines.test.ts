import { BeaverError } from '@beaver/core'
import { type AccountKey, type Account, type BudgetAccounts, noAmounts } from '@beaver/core/budget'
import { memoryBudgetAccounts, until, virtualClock } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { AccountBook, type Changed } from './account-lines.ts'

const key: AccountKey = { tenant: 'local', of: 'user', name: 'ann', period: '2026-11' }
const lineOf = (accounts: BudgetAccounts, clock = virtualClock()) => {
  const told: unknown[] = []
  const book = new AccountBook({ accounts, clock, random: () => 0, told: (error) => told.push(error) })
  return { book, clock, line: book.line(key), told }
}
const spends = (task: string, tokens: number) => (account: Account) => {
  const used = { ...noAmounts, tokens }
  account.tasks.set(task, { session: 's', epoch: 1, used, reserved: noAmounts, waits: false })
  return { kind: 'write', value: account.tasks.size } satisfies Changed<number>
}

describe('the line of an account', () => {
  it('writes changes that come together in one write', async () => {
    const accounts = memoryBudgetAccounts()
    let writes = 0
    const { line } = lineOf({
      ...accounts,
      write: (...of) => {
        writes++
        return accounts.write(...of)
      },
    })
    await line.change(spends('t0', 1))
    expect(await Promise.all([1, 2, 3].map((i) => line.change(spends(`t${i}`, i))))).toEqual([2, 3, 4])
    expect(writes).toBe(2)
  })

  it('applies a change again when another daemon was faster', async () => {
    const accounts = memoryBudgetAccounts()
    const one = lineOf(accounts)
    const two = lineOf(accounts)
    await one.line.change(spends('t1', 1))
    await two.line.change(spends('t2', 1))
    // The first line only remembers the account before the second write.
    const changed = one.line.change(spends('t3', 1))
    await until('it is written', async () => {
      one.clock.advance(100)
      return (await accounts.read(key)).account.tasks.size === 3
    })
    expect(await changed).toBe(3)
  })

  it('asks for a newer account before it refuses', async () => {
    const accounts = memoryBudgetAccounts()
    const one = lineOf(accounts)
    const two = lineOf(accounts)
    await one.line.change(spends('t1', 1))
    await two.line.change(spends('t2', 1))
    const seen: [number, boolean][] = []
    await one.line.change((account, fresh) => {
      seen.push([account.tasks.size, fresh])
      return fresh ? { kind: 'keep', value: null } : { kind: 'look' }
    })
    expect(seen).toEqual([
      [1, false],
      [2, true],
    ])
  })

  it('tries again while the accounts do not answer, and tells of one that cannot be read', async () => {
    const accounts = memoryBudgetAccounts()
    let faults = 2
    const { line, clock, told } = lineOf({
      ...accounts,
      read: (of) =>
        faults-- > 0 ? Promise.reject(new BeaverError('unreachable', 'Away.')) : accounts.read(of),
    })
    const changed = line.change(spends('t', 1))
    await until('it is written', async () => {
      clock.advance(500)
      return (await accounts.read(key)).revision > 0
    })
    expect([await changed, told.length]).toEqual([1, 1])
    const corrupt = lineOf({
      ...accounts,
      read: () => Promise.reject(new BeaverError('budget_corrupt', 'Not an account.')),
    })
    await expect(corrupt.line.change(spends('t', 1))).rejects.toThrow('Not an account.')
  })

  it('tells its listeners what others wrote, while somebody waits for that', async () => {
    const accounts = memoryBudgetAccounts()
    const one = lineOf(accounts)
    let seen = 0
    const leave = one.line.listen(() => (seen = one.line.known?.account.tasks.size ?? 0))
    await one.line.look()
    const stop = one.line.watch()
    await lineOf(accounts).line.change(spends('t', 1))
    await until('it hears of it', () => {
      one.clock.advance(500)
      return seen === 1
    })
    stop()
    leave()
  })
})
