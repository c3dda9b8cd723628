import { foreignId, type LogId } from '@beaver/core'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { callerOf, decodeToken, encodeToken, logOf, subjectsOf } from './subjects.ts'

const names = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
  fc.constantFrom(
    'web:会话',
    'a.b',
    '*',
    '>',
    '…',
    '=',
    '=41',
    '\u{1F9AB}',
    'a b',
    '\u0000',
    'é',
    'é',
    'x'.repeat(128),
  ),
)
const logs = fc.record({ tenant: names, session: names, task: names }) as fc.Arbitrary<LogId>
const subjects = subjectsOf('ns')

describe('a foreign id as a token (N1, N2)', () => {
  it('comes back unchanged, whatever it is', () => {
    fc.assert(
      fc.property(names, (id) => {
        expect(decodeToken(encodeToken(id))).toBe(id)
      }),
    )
  })

  it('is one token that NATS takes: not empty, no dot, no wildcard, no space', () => {
    fc.assert(
      fc.property(names, (id) => {
        expect(encodeToken(id)).toMatch(/^[A-Za-z0-9_=-]+$/)
      }),
    )
  })

  it('two ids have two tokens', () => {
    fc.assert(
      fc.property(names, names, (a, b) => {
        expect(encodeToken(a) === encodeToken(b)).toBe(a === b)
      }),
    )
  })

  test.each([
    ['task_01k', 'task_01k'],
    ['web:test', 'web=3Atest'],
    ['a.b', 'a=2Eb'],
    ['*', '=2A'],
    ['=', '=3D'],
    ['会', '=E4=BC=9A'],
    ['\u{1F9AB}', '=F0=9F=A6=AB'],
  ])('%j is %s', (id, token) => expect(encodeToken(id)).toBe(token))

  it('half a character is not a name: it is refused at the boundary, for it could not come back', () => {
    expect(foreignId.safeParse('a\ud800').success).toBe(false)
    expect(foreignId.safeParse('\udc00b').success).toBe(false)
    expect(decodeToken(encodeToken('\ud800'))).toBe('\ufffd')
  })
})

describe('a subject', () => {
  it('of an entry, a wake or an alarm leads back to the log', () => {
    fc.assert(
      fc.property(logs, (log) => {
        for (const subject of [
          subjects.accepted(log),
          subjects.events(log),
          subjects.wake(log),
          subjects.alarm(log),
          subjects.ended(log),
        ])
          expect(logOf(subject)).toEqual(log)
      }),
    )
  })

  it('of two logs differ', () => {
    fc.assert(
      fc.property(logs, logs, (a, b) => {
        expect(subjects.events(a) === subjects.events(b)).toBe(
          a.tenant === b.tenant && a.session === b.session && a.task === b.task,
        )
      }),
    )
  })

  it("of a log is matched by the log's filter, its session's and its acceptance's, and by no other's", () => {
    fc.assert(
      fc.property(logs, logs, (log, other) => {
        const subjects = subjectsOf('ns', { tenant: log.tenant })
        const same = log.tenant === other.tenant && log.session === other.session
        for (const subject of [subjects.accepted(log), subjects.events(log)]) {
          expect(matches(subjects.log(log), subject)).toBe(true)
          expect(subjects.entries.filter((filter) => matches(filter, subject))).toHaveLength(1)
        }
        expect(matches(subjects.acceptances, subjects.accepted(log))).toBe(true)
        expect(matches(subjects.acceptances, subjects.events(log))).toBe(false)
        expect(matches(subjects.log(other), subjects.events(log))).toBe(same && log.task === other.task)
        expect(matches(subjects.sessionAccepted(other.tenant, other.session), subjects.accepted(log))).toBe(
          same,
        )
      }),
    )
  })

  it('that claims an id is no entry of any log, and is found with the log in the session of its own name', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const claim = subjects.taskId(log.tenant, log.task)
        const own = { ...log, session: log.task as string as LogId['session'] }
        expect(subjects.entries.some((filter) => matches(filter, claim))).toBe(false)
        expect(matches(subjects.log(own), claim)).toBe(false)
        for (const subject of [claim, subjects.accepted(own), subjects.events(own)]) {
          expect(matches(subjects.taskIdClaims(log.tenant, log.task), subject)).toBe(true)
          expect(matches(subjects.session(log.tenant, own.session), subject)).toBe(true)
        }
      }),
    )
  })

  it('is captured by the journal stream if it is to be kept, and not if it is not', () => {
    const subjects = subjectsOf('ns', { tenant: 't' })
    const log = { tenant: 't', session: 's', task: 'x' } as LogId
    const kept = (subject: string): boolean => subjects.captured.some((filter) => matches(filter, subject))
    expect(
      [subjects.accepted(log), subjects.events(log), subjects.taskId('t', 'x'), subjects.system('keys')].map(
        kept,
      ),
    ).toEqual([true, true, true, true])
    expect(
      [
        subjects.live(log),
        subjects.ended(log),
        subjects.service('task.submit'),
        subjects.query('x'),
        subjects.daemon('d'),
      ].map(kept),
    ).toEqual([false, false, false, false, false])
    expect(
      [subjects.wake(log), subjects.alarm(log)].map((subject) =>
        subjects.capturedWakes.some((filter) => matches(filter, subject)),
      ),
    ).toEqual([true, true])
  })

  it('of the longest ids stays below what a nats-server takes (4,096 bytes a control line)', () => {
    const longest = '会'.repeat(128)
    expect(
      subjects.accepted({ tenant: '会'.repeat(64), session: longest, task: longest } as LogId).length,
    ).toBeLessThan(3_500)
  })

  it('of two tenants never meet, whatever their names', () => {
    const tenant = fc.oneof(
      fc.string({ minLength: 1, maxLength: 64, unit: 'binary' }),
      fc.constantFrom('local', 'WAKE', 'a_b', 'a-b', 'a', '__a', '会'.repeat(64)),
    )
    fc.assert(
      fc.property(tenant, tenant, (a, b) => {
        fc.pre(a !== b)
        const [one, two] = [subjectsOf('ns', { tenant: a }), subjectsOf('ns', { tenant: b })]
        const names = (of: typeof one): string[] => [
          of.stream,
          of.wakeStream,
          of.blobBucket,
          of.memoryBucket,
          of.budgetBucket,
          of.fileName,
        ]
        expect(names(one).filter((name) => names(two).includes(name))).toEqual([])
        for (const name of names(one)) expect(name).toMatch(/^[A-Za-z0-9_-]{1,200}$/)
        const log = { tenant: b, session: 's', task: 'x' } as LogId
        const filters = [
          ...one.captured,
          ...one.capturedWakes,
          ...one.entries,
          one.services('>'),
          one.behalves('>'),
          one.queries('>'),
          one.anyDaemon,
          one.anyLive,
        ]
        const sent = [
          two.accepted(log),
          two.wake(log),
          two.alarm(log),
          two.live(log),
          two.service('x'),
          two.behalf('x'),
          two.serviceOf('d', 'x'),
          two.query('x'),
          two.daemon('d'),
        ]
        expect(sent.filter((subject) => filters.some((filter) => matches(filter, subject)))).toEqual([])
      }),
    )
  })

  it('of a request says who asks, and what is asked for', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 64 }), (caller) => {
        const asked = subjectsOf('ns', { caller }).service('task.submit')
        expect(callerOf(asked)).toBe(caller)
        expect(matches(subjectsOf('ns').services('task.submit'), asked)).toBe(true)
        expect(matches(subjectsOf('ns').services('task.run'), asked)).toBe(false)
      }),
    )
  })

  it('of a request to one daemon says who asks, reaches no other, and is within the right to ask', () => {
    const token = fc.string({ minLength: 1, maxLength: 64 })
    fc.assert(
      fc.property(token, token, (caller, id) => {
        const asked = subjectsOf('ns', { caller }).serviceOf(id, 'actors')
        expect(callerOf(asked)).toBe(caller)
        const { services, servicesOf } = subjectsOf('ns')
        expect([servicesOf(id, 'actors'), services('>')].filter((each) => !matches(each, asked))).toEqual([])
        expect([servicesOf(`${id}2`, 'actors'), services('actors')].filter((each) => matches(each, asked))).toEqual([]) // prettier-ignore
      }),
    )
  })

  it('of a system log is no entry of a task, whatever the ids of tasks are', () => {
    expect([subjects.entryLog(subjects.system('keys')), subjects.isStray(subjects.system('keys'))]).toEqual([
      null,
      false,
    ])
    expect(subjects.systemNameOf(subjects.system('keys'))).toBe('keys')
    expect(subjects.systemNameOf(`${subjects.system('keys')}.more`)).toBeNull()
    fc.assert(fc.property(logs, (log) => subjects.systemNameOf(subjects.accepted(log)) === null))
  })

  it('of two namespaces never meet', () => {
    const log = { tenant: 'local', session: 's', task: 'x' } as LogId
    expect(subjectsOf('other').entries.some((filter) => matches(filter, subjects.accepted(log)))).toBe(false)
    expect(subjectsOf('other').stream).not.toBe(subjects.stream)
  })
})

test.each(['', 'a__b', 'a.b', 'a b', '*', '会', 'x'.repeat(33)])(
  'the namespace %j is refused',
  (namespace) => {
    expect(() => subjectsOf(namespace)).toThrow('namespace')
  },
)

/** As a nats-server matches. */
function matches(filter: string, subject: string): boolean {
  const [wanted, given] = [filter.split('.'), subject.split('.')]
  for (const [i, token] of wanted.entries()) {
    if (token === '>') return given.length > i
    if (token !== '*' && token !== given[i]) return false
  }
  return wanted.length === given.length
}
