import { describe, expect, it, test } from 'vitest'
import { inboxPrefix } from './inbox.ts'
import { isInbox, OpenRequests } from './request-guard.ts'
import { subjectsOf } from './subjects.ts'

const subjects = subjectsOf('ns')

test.each([`${inboxPrefix(null)}.abc.1`, `${inboxPrefix('会 话')}.abc`, '_R_.x.y', '_GR_.abc.def'])('%s is an inbox', (subject) => {
  expect(isInbox(subject)).toBe(true)
})

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
