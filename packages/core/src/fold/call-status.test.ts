import { describe, expect, it } from 'vitest'
import { callWaits, statusOfCalls } from './call-status.ts'

const free = { approval: null, result: null }
const asked = { approval: 'requested', result: null }
const granted = { approval: 'granted', result: null }
const refused = { approval: 'denied', result: null }
const done = { approval: null, result: 'ok' }
const askedAndDone = { approval: 'requested', result: 'gone' }

describe('a call', () => {
  it.each([
    ['that nobody is asked about', free, false],
    ['a person is asked about', asked, true],
    ['that was allowed', granted, false],
    ['that was refused', refused, false],
    ['with a result, although a person was asked', askedAndDone, false],
  ])('%s, with the state %o, waits for a person: %s', (_, call, waits) => expect(callWaits(call)).toBe(waits))
})

describe('a run', () => {
  it.each([
    ['thinks without calls', [], 'thinking'],
    ['thinks when every call has a result', [done, askedAndDone], 'thinking'],
    ['acts while one call is free', [asked, free], 'acting'],
    ['acts while one call was allowed', [asked, granted], 'acting'],
    ['acts on a refusal', [asked, refused], 'acting'],
    ['waits when a person is asked about each open call', [asked, asked, done], 'waiting_for_approval'],
  ])('%s', (_, calls, status) => expect(statusOfCalls(calls)).toBe(status))
})
