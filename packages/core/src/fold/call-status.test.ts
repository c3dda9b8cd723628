import { describe, expect, it } from 'vitest'
import { callWaits, heldBy, shownStatusOfCalls, statusOfCalls } from './call-status.ts'

const free = { approval: null, result: null }
const asked = { approval: 'requested', result: null }
const granted = { approval: 'granted', result: null }
const refused = { approval: 'denied', result: null }
const unbegun = { approval: null, result: null, started: false }
const atClient = { approval: null, result: null, atClient: true }
const asking = { approval: null, result: null, asking: true }
const answeredByClient = { approval: null, result: 'ok', atClient: true }
const done = { approval: null, result: 'ok' }
const askedAndDone = { approval: 'requested', result: 'gone' }

describe('a call', () => {
  it.each([
    ['that nobody is asked about', free, false],
    ['a person is asked about', asked, true],
    ['that was allowed', granted, false],
    ['that was refused', refused, false],
    ['with a result, although a person was asked', askedAndDone, false],
    ['that is with the client', atClient, false],
  ])('%s, with the state %o, waits for a person: %s', (_, call, waits) => expect(callWaits(call)).toBe(waits))
})

describe('a call that has not begun', () => {
  it('is held by the last call before it that waits for a person', () => {
    const [first, second, third] = [{ ...asked }, { ...unbegun }, { ...unbegun }]
    expect(heldBy(third, [first, second, third])).toBe(first)
    expect(heldBy(third, [atClient, second, third])).toBe(atClient)
    expect([
      heldBy(first, [first, second]),
      heldBy(second, [second, first]),
      heldBy(free, [first, free]),
    ]).toEqual([null, null, null])
  })
})

describe('a run', () => {
  it.each([
    ['thinks without calls', [], 'thinking'],
    ['thinks when every call has a result', [done, askedAndDone], 'thinking'],
    ['acts while one call is free', [asked, free], 'acting'],
    ['acts while one call was allowed', [asked, granted], 'acting'],
    ['acts on a refusal', [asked, refused], 'acting'],
    ['waits when a person is asked about each open call', [asked, asked, done], 'waiting_for_approval'],
    ['waits for its client when each open call does', [atClient, done], 'waiting_for_client'],
    ['waits for a person first', [atClient, asking], 'waiting_for_answer'],
    ['waits for a decision before all else', [atClient, asking, asked], 'waiting_for_approval'],
    ['acts while one call is free and another is with the client', [atClient, free], 'acting'],
    ['thinks when the client has answered', [answeredByClient], 'thinking'],
  ])('%s', (_, calls, status) => expect(statusOfCalls(calls)).toBe(status))
})

describe('a screen', () => {
  it.each([
    [
      'says that a run waits whose other calls are held by one that waits',
      [done, asked, unbegun, unbegun],
      'waiting_for_approval',
    ],
    ['says that a run acts while a call before the one that waits has not begun', [unbegun, asked], 'acting'],
    ['says that a run acts when the call that held others was allowed', [granted, unbegun], 'acting'],
    [
      'says that a run acts while a call behind the one that waits is at work',
      [asked, { ...unbegun, started: true }],
      'acting',
    ],
    [
      'says that a run waits whose other calls are held by the client',
      [atClient, unbegun],
      'waiting_for_client',
    ],
    ['says that a run thinks when every call has a result', [done], 'thinking'],
  ])('%s', (_, calls, status) => expect(shownStatusOfCalls(calls)).toBe(status))
})
