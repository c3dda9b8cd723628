import { describe, expect, it } from 'vitest'
import {
  type AccountEntry,
  accountTotals,
  closeEntry,
  newAccount,
  periodAt,
  periodEndMs,
  raisedBy,
  setEntry,
} from './account.ts'
import { accountText, readAccount } from './stored-account.ts'
import { noAmounts, usdUnits } from './amounts.ts'

const tokens = (count: number) => ({ ...noAmounts, tokens: count })
const entry = (over: Partial<AccountEntry> = {}): AccountEntry => ({
  ...{ session: 's', epoch: 1, used: tokens(5), reserved: tokens(2), waits: false },
  ...over,
})

describe('an account', () => {
  it('holds what each open task used and reserved, and what the ended ones used', () => {
    const account = newAccount()
    setEntry(account, 't1', { entry: entry(), known: false })
    setEntry(account, 't2', { entry: entry({ used: tokens(7), reserved: noAmounts }), known: false })
    expect(accountTotals(account)).toEqual({ used: tokens(12), reserved: tokens(2) })
    expect(closeEntry(account, 't1', tokens(6))).toBe(true)
    expect(closeEntry(account, 't1', tokens(6))).toBe(false)
    expect(accountTotals(account)).toEqual({ used: tokens(13), reserved: noAmounts })
  })

  it('replaces an entry only for the same or a later owner', () => {
    const account = newAccount()
    setEntry(account, 't', { entry: entry({ epoch: 2 }), known: false })
    expect(setEntry(account, 't', { entry: entry({ epoch: 1 }), known: true })).toBe('superseded')
    expect(setEntry(account, 't', { entry: entry({ epoch: 2 }), known: true })).toBe('same')
    expect(setEntry(account, 't', { entry: entry({ epoch: 3 }), known: false })).toBe('changed')
    expect(account.tasks.get('t')?.epoch).toBe(3)
  })

  it('takes nothing more from an owner whose entry is gone, because the task has ended', () => {
    const account = newAccount()
    expect(setEntry(account, 't', { entry: entry(), known: false })).toBe('changed')
    closeEntry(account, 't', tokens(5))
    expect(setEntry(account, 't', { entry: entry(), known: true })).toBe('superseded')
    expect(accountTotals(account)).toEqual({ used: tokens(5), reserved: noAmounts })
  })

  it('gets no entry without an amount, unless the task waits', () => {
    const account = newAccount()
    const none = entry({ used: noAmounts, reserved: noAmounts })
    expect(setEntry(account, 't', { entry: none, known: false })).toBe('same')
    expect(setEntry(account, 't', { entry: { ...none, waits: true }, known: false })).toBe('changed')
    expect(setEntry(account, 't', { entry: none, known: true })).toBe('changed')
    expect(account.tasks.get('t')).toEqual(none)
  })

  it('is the same after it was stored', () => {
    const account = newAccount()
    setEntry(account, '任务 "1"', {
      entry: entry({ used: { ...tokens(3), usd: usdUnits(123_456_789.25) }, waits: true }),
      known: false,
    })
    account.raises.push({ request_id: 'q', more: { usd: 2, tokens: 4 }, at: '2026-11-29T00:00:00Z' })
    account.raises.push({ request_id: 'r', more: { usd: 1 }, at: '2026-11-29T00:00:01Z', by: 'ann' })
    account.told.set('usd 5', 80)
    expect(readAccount(accountText(account))).toEqual(account)
    expect(raisedBy(account)).toEqual({ usd: 3, tokens: 4 })
  })

  it.each(['', '[]', '{"v":2}', '{"v":1,"ended":{"usd":"x"},"tasks":{},"raises":[],"told":{}}'])(
    'cannot be read from %s',
    (text) => {
      expect(readAccount(text)).toBeNull()
    },
  )
})

describe('a period', () => {
  const at = Date.parse('2026-12-31T23:59:59.999Z')

  it('is a day or a month of UTC, or the whole life', () => {
    expect([periodAt('day', at), periodAt('month', at), periodAt('run', at)]).toEqual([
      ...['2026-12-31', '2026-12', 'run'],
    ])
  })

  it('ends where the next one begins', () => {
    expect([periodEndMs('day', at), periodEndMs('month', at), periodEndMs('run', at)]).toEqual([
      ...[at + 1, at + 1, Infinity],
    ])
    expect(periodEndMs('month', Date.parse('2026-02-01T00:00:00Z'))).toBe(Date.parse('2026-03-01T00:00:00Z'))
  })
})
