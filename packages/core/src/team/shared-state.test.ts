import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../json.ts'
import {
  changeSharedState,
  readSharedState,
  type SharedStateChange,
  sharedStateBytesMax,
  sharedStateChange,
} from './shared-state.ts'

/** The state after changes that must all fit. */
function after(state: JsonObject, ...changes: SharedStateChange[]): JsonObject {
  for (const change of changes) {
    const changed = changeSharedState(state, change)
    if (!changed.ok) throw new Error(changed.message)
    state = changed.state
  }
  return state
}
const refusal = (state: JsonObject, change: SharedStateChange): string => {
  const before = structuredClone(state)
  const changed = changeSharedState(state, change)
  expect(state).toEqual(before)
  return changed.ok ? `done: ${JSON.stringify(changed.state)}` : changed.message
}
type Path = SharedStateChange['path']
const set = (path: Path, value: JsonValue): SharedStateChange => ({ action: 'set', path, value })
const increment = (path: Path, by = 1): SharedStateChange => ({ action: 'increment', path, by })
const append = (path: Path, value: JsonValue): SharedStateChange => ({ action: 'append', path, value })
const remove = (path: Path): SharedStateChange => ({ action: 'delete', path })

describe('a change', () => {
  it('sets a value and makes the objects on its path', () => {
    expect(after({}, set('a.b.c', [1]), set('a.b.d', null), set('a.b.c', 'x'))).toEqual({
      a: { b: { c: 'x', d: null } },
    })
  })

  it('increments a missing value, and by any number', () => {
    expect(after({}, increment('n'), increment('n', 4), increment('n', -2.5))).toEqual({ n: 2.5 })
  })

  it('appends to a missing value and to a list', () =>
    expect(after({}, append('l', 1), append('l', [2]))).toEqual({ l: [1, [2]] }))

  it('deletes a member or an item of a list, and ignores a missing one', () => {
    expect(
      after(
        { a: { b: 1, c: 2 }, l: ['x', 'y', 'z'] },
        remove('a.b'),
        remove('l.1'),
        remove('ghost.x.y'),
        remove('a.ghost'),
      ),
    ).toEqual({
      a: { c: 2 },
      l: ['x', 'z'],
    })
  })

  it('reaches into lists by index, and sets at their end', () => {
    expect(
      after(
        { l: [{ n: 1 }, 5] },
        set('l.0.n', 2),
        increment('l.1'),
        set('l.2', 'end'),
        append('l.0.more', 1),
      ),
    ).toEqual({
      l: [{ n: 2, more: [1] }, 6, 'end'],
    })
  })

  it('accepts a path as a list of keys, so that a key may contain a dot', () => {
    const state = after(
      {},
      set(['member_outputs', 'v1.2'], 'x'),
      increment(['n']),
      append('n2', 1),
      append(['n2'], 2),
      set('a.b', 0),
      remove(['a', 'b']),
    )
    expect(state).toEqual({ member_outputs: { 'v1.2': 'x' }, n: 1, n2: [1, 2], a: {} })
    expect(readSharedState(state, ['member_outputs', 'v1.2'])).toBe('x')
    expect(refusal(state, increment(['member_outputs', 'v1.2']))).toBe(
      '"member_outputs.v1.2" is a string, not a number, so it cannot be incremented.',
    )
  })

  it('returns the new value, and null after a delete', () => {
    expect(changeSharedState({ n: 1 }, increment('n', 2))).toMatchObject({ ok: true, value: 3 })
    expect(changeSharedState({ n: 1 }, append('l', 2))).toMatchObject({ ok: true, value: [2] })
    expect(changeSharedState({ n: 1 }, remove('n'))).toEqual({ ok: true, state: {}, value: null })
  })

  it.each<[SharedStateChange, string]>([
    [increment('text'), '"text" is a string, not a number, so it cannot be incremented.'],
    [increment('list'), '"list" is a list, not a number, so it cannot be incremented.'],
    [increment('nothing'), '"nothing" is null, not a number, so it cannot be incremented.'],
    [increment('big', Number.MAX_VALUE), '"big" would no longer be a finite number.'],
    [append('object', 1), '"object" is an object, not a list, so nothing can be appended.'],
    [set('text.x', 1), '"text" is a string, so it cannot have members.'],
    [set('nothing.x.y', 1), '"nothing" is null, so it cannot have members.'],
    [
      set('list.7', 1),
      '"list" is a list of 2; "7" is not a place in it. To add at its end, use append on the list.',
    ],
    [
      set('list.01', 1),
      '"list" is a list of 2; "01" is not a place in it. To add at its end, use append on the list.',
    ],
    [
      set('list.length', 0),
      '"list" is a list of 2; "length" is not a place in it. To add at its end, use append on the list.',
    ],
    [set('list.x.y', 1), '"list" is a list and has no place "x".'],
    [
      remove('list.length'),
      '"list" is a list of 2; "length" is not a place in it. To add at its end, use append on the list.',
    ],
    [set('a..b', 1), 'The path "a..b" is not valid: join keys with dots.'],
    [set('.', 1), 'The path "." is not valid: join keys with dots.'],
  ])('is refused for %j with a reason, and changes nothing (H2)', (change, message) => {
    const state = { text: 'x', list: [1, 2], nothing: null, object: {}, big: Number.MAX_VALUE }
    expect(refusal(state, change)).toBe(message)
  })

  it('is refused if it makes the state larger than its bound, but not if it makes the state smaller', () => {
    const full = { text: '字'.repeat(sharedStateBytesMax / 3 - 20) }
    expect(refusal(full, set('more', 'x'.repeat(100)))).toMatch(
      /^The shared state would be \d+ bytes; the limit is 262144\. Store less, or delete something\.$/,
    )
    expect(after(full, set('text', 'short'))).toEqual({ text: 'short' })
  })

  it('is refused if it is nested deeper than a record may be', () => {
    let deep: JsonValue = 0
    for (let i = 0; i < 999; i++) deep = { d: deep }
    expect(refusal({ a: {} }, set('a.b.c', deep))).toBe(
      'The value is nested too deeply. Store it flatter, or as text.',
    )
  })

  it('is not a change if it has another action or more fields', () => {
    for (const wrong of [
      { action: 'replace', path: 'a', value: 1 },
      { ...set('a', 1), by: 2 },
      set('', 1),
      set('a'.repeat(501), 1),
      { action: 'increment', path: 'a', by: Infinity },
    ]) {
      expect(sharedStateChange.safeParse(wrong).success).toBe(false)
    }
  })
})

describe('reading', () => {
  const state = { a: { b: [10, { c: null }] }, text: 'xyz' }
  it.each<[string, JsonValue | undefined]>([
    ['', state],
    ['a.b.0', 10],
    ['a.b.1.c', null],
    ['a.b.2', undefined],
    ['a.b.length', undefined],
    ['text.length', undefined],
    ['a.toString', undefined],
    ['__proto__', undefined],
    ['constructor.name', undefined],
  ])('%j', (path, value) => expect(readSharedState(state, path)).toEqual(value))
})

describe('a hostile path (H3)', () => {
  const names = ['__proto__', 'constructor', 'prototype']
  const paths = names.flatMap((name) => [
    name,
    `${name}.polluted`,
    `a.${name}`,
    `a.${name}.polluted`,
    `list.0.${name}.x`,
  ])

  it.each(paths)('%j is refused by every change', (path) => {
    for (const at of [path, path.split('.')]) {
      for (const change of [set(at, 1), increment(at), append(at, 1), remove(at)]) {
        expect(refusal({ a: {}, list: [{}] }, change)).toBe(
          `The path ${JSON.stringify(at)} is not valid: join keys with dots.`,
        )
      }
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('treats a name that every object inherits as an ordinary key', () => {
    expect(
      after(
        {},
        increment('toString'),
        append('valueOf', 1),
        set('hasOwnProperty', 2),
        remove('isPrototypeOf'),
      ),
    ).toEqual({
      toString: 1,
      valueOf: [1],
      hasOwnProperty: 2,
    })
  })

  it('keeps a value with such a key a value: no object gets another prototype', () => {
    const value = JSON.parse('{"__proto__": {"polluted": true}}') as JsonObject
    const state = after({}, set('a', value), set('a.b', 1))
    expect((state['a'] as { polluted?: unknown }).polluted).toBeUndefined()
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

const key = fc.constantFrom('a', 'b', 'c', '0', '1', 'list', '__proto__', 'constructor', 'toString', '字')
const anyPath: fc.Arbitrary<Path> = fc
  .tuple(fc.array(key, { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([keys, whole]) => (whole ? keys.join('.') : keys))
const anyValue = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>
const anyChange: fc.Arbitrary<SharedStateChange> = fc.oneof(
  fc.tuple(anyPath, anyValue).map(([path, value]) => set(path, value)),
  fc.tuple(anyPath, fc.integer({ min: -9, max: 9 })).map(([path, by]) => increment(path, by)),
  fc.tuple(anyPath, anyValue).map(([path, value]) => append(path, value)),
  anyPath.map(remove),
)

describe('any changes of members', () => {
  it('lose nothing: increments and appends of members add up, however they interleave (H1)', () => {
    const member = fc.array(
      fc.oneof(
        fc.integer({ min: -100, max: 100 }).map((by) => increment('n', by)),
        fc.nat(99).map((n) => append('log', n)),
      ),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(
        fc.array(member, { minLength: 1, maxLength: 5 }),
        fc.infiniteStream(fc.nat(4)),
        (members, picks) => {
          const queues = members.map((changes, who) => changes.map((change) => ({ who, change })))
          const order: { who: number; change: SharedStateChange }[] = []
          for (const pick of picks) {
            const open = queues.filter((queue) => queue.length > 0)
            if (open.length === 0) break
            order.push(open[pick % open.length]!.shift()!)
          }
          const state = after(
            { n: 0, log: [] },
            ...order.map(({ who, change }) =>
              change.action === 'append' ? append('log', [who, change.value]) : change,
            ),
          )
          const all = members.flat()
          expect(state['n']).toBe(
            all.reduce((sum, change) => sum + (change.action === 'increment' ? change.by : 0), 0),
          )
          const log = state['log'] as readonly (readonly [number, JsonValue])[]
          members.forEach((changes, who) => {
            expect(log.filter(([by]) => by === who).map(([, n]) => n)).toEqual(
              changes.flatMap((change) => (change.action === 'append' ? [change.value] : [])),
            )
          })
        },
      ),
      { numRuns: 300 },
    )
  })

  it('never affect the state before them, and each answer is what can be read afterwards', () => {
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 15 }), (changes) => {
        let state: JsonObject = {}
        for (const change of changes) {
          const before = structuredClone(state)
          const changed = changeSharedState(state, change)
          expect(state).toEqual(before)
          if (!changed.ok) {
            expect(changed.message).toMatch(/^\S.{10,}\.$/)
            continue
          }
          if (change.action !== 'delete')
            expect(readSharedState(changed.state, change.path)).toEqual(changed.value)
          state = changed.state
        }
        expect(({} as Record<string, unknown>)['a']).toBeUndefined()
        expect(Object.getPrototypeOf(state)).toBe(Object.prototype)
      }),
      { numRuns: 500 },
    )
  })

  it('give the same state after they were written and read', () => {
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 15 }), (changes) => {
        const fold = (all: readonly SharedStateChange[]): JsonObject => {
          let state: JsonObject = {}
          for (const change of all) {
            const changed = changeSharedState(state, change)
            if (changed.ok) state = changed.state
          }
          return state
        }
        const read = changes.map((change) => sharedStateChange.parse(JSON.parse(JSON.stringify(change))))
        expect(JSON.stringify(fold(read))).toBe(JSON.stringify(fold(changes)))
      }),
      { numRuns: 300 },
    )
  })
})
