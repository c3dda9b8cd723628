import { describe, expect, it, test } from 'vitest'
import { inboxPrefix } from './inbox.ts'
import { isInbox, OpenRequests, RequestRate } from './request-guard.ts'
import { subjectsOf } from './subjects.ts'

const subjects = subjectsOf('ns')

test.each([`${inboxPrefix(null)}.abc.1`, `${inboxPrefix('会 话')}.abc`, '_R_.x.y', '_GR_.abc.def'])(
  '%s is an inbox',
  (subject) => {
    expect(isInbox(subject)).toBe(true)
  },
)

test.each([
  '',
  '_INBOX',
  '_INBOX.>',
  '_INBOX.*.x',
  '_INBOX.a b',
  `_INBOX.${'x'.repeat(600)}`,
  '$JS.API.STREAM.DELETE.BEAVER_ns',
  '$JS.ACK.BEAVER_ns.daemons.1.1.1.1.1',
  '$SYS.REQ.SERVER.PING',
  subjects.service('task.submit'),
  subjects.daemon('d'),
  `${subjects.logs.slice(0, -1)}s.t.events`,
])('%s is none', (subject) => expect(isInbox(subject)).toBe(false))

describe('the open requests of an endpoint', () => {
  it('of one caller are at most three quarters, so that another caller is answered', () => {
    const open = new OpenRequests(8)
    const begun = Array.from({ length: 8 }, () => open.begin('a flood'))
    expect(begun.filter((each) => typeof each === 'function')).toHaveLength(6)
    expect(begun[7]).toMatch(/6 of one caller/)
    const other = [open.begin('another'), open.begin('another')]
    expect(other.every((each) => typeof each === 'function')).toBe(true)
    expect(open.begin('a third')).toMatch(/handles 8 at a time/)
    for (const end of [...begun, ...other]) if (typeof end === 'function') end()
    expect(typeof open.begin('a flood')).toBe('function')
  })
})

describe('the requests of an endpoint in a second', () => {
  const times = (rate: RequestRate, caller: string, count: number): Record<string, number> => {
    const taken = Array.from({ length: count }, () => rate.take(caller))
    return Object.fromEntries(
      ['handle', 'refuse', 'drop'].map((what) => [what, taken.filter((each) => each === what).length]),
    )
  }

  it('of one caller are bounded, some of the others are refused, and the rest is dropped; another caller is handled', () => {
    const rate = new RequestRate(100, () => 0)
    expect(times(rate, 'a flood', 10_000)).toEqual({ handle: 100, refuse: 500, drop: 9_400 })
    expect(times(rate, 'another', 10)).toEqual({ handle: 10, refuse: 0, drop: 0 })
  })

  it('of all callers are bounded, so that a caller with many names gains little', () => {
    const rate = new RequestRate(100, () => 0)
    const taken = Array.from({ length: 10_000 }, (_, i) => rate.take(`name ${i}`))
    expect(taken.filter((each) => each === 'handle')).toHaveLength(200)
  })

  it('are counted anew in the next second', () => {
    let now = 0
    const rate = new RequestRate(100, () => now)
    expect(times(rate, 'a', 200)).toMatchObject({ handle: 100 })
    now = 999
    expect(times(rate, 'a', 200)).toMatchObject({ handle: 0 })
    now = 1_000
    expect(times(rate, 'a', 200)).toMatchObject({ handle: 100, refuse: 100 })
  })

  it('have no bound where the endpoint has none', () =>
    expect(times(new RequestRate(Infinity, () => 0), 'a', 10_000)).toEqual({
      handle: 10_000,
      refuse: 0,
      drop: 0,
    }))
})
