import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from './canonical-json.ts'

const runs = { numRuns: 500 }
const key = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    '10',
    '9',
    '-1',
    '1e3',
    '',
    '\u00e9',
    '\uffff',
    '😀',
  ),
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom(null, true, false, 0, -0, 1e21, 5e-324, 0.1, '\ud800', 'a\udfffb', '\u2028', '"\\\u0000'),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((members) => ownMembers(members)),
  ),
}))

/** An object as JSON.parse makes it: `__proto__` is a member like any other. */
function ownMembers(members: readonly (readonly [string, unknown])[]): object {
  const object = {}
  for (const [name, member] of members)
    Object.defineProperty(object, name, {
      value: member,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  return object
}

const turned = (each: unknown): unknown =>
  Array.isArray(each)
    ? each.map(turned)
    : typeof each === 'object' && each !== null
      ? ownMembers(
          Object.entries(each)
            .map(([name, member]) => [name, turned(member)] as const)
            .toReversed(),
        )
      : each

/** The canonical text by the letter of its definition, key by key. */
function slowly(each: unknown): string {
  if (typeof each === 'string') return JSON.stringify(each.toWellFormed())
  if (typeof each !== 'object' || each === null)
    return each === undefined || (typeof each === 'number' && !Number.isFinite(each))
      ? 'null'
      : JSON.stringify(each)
  if (Array.isArray(each)) return `[${each.map(slowly).join(',')}]`
  const members = new Map<string, unknown>()
  for (const name of Object.keys(each).toSorted((a, b) => (a < b ? -1 : 1)))
    members.set(name.toWellFormed(), (each as Record<string, unknown>)[name])
  const text = [...members]
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${text.map(([name, member]) => `${JSON.stringify(name)}:${slowly(member)}`).join(',')}}`
}

/** The value with its keys in canonical order, as a parse of canonical text leaves them. */
const ordered = (each: unknown): unknown =>
  Array.isArray(each)
    ? each.map(ordered)
    : typeof each === 'object' && each !== null
      ? ownMembers(
          Object.entries(each)
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, member]) => [name, ordered(member)] as const),
        )
      : each

describe('canonicalJson', () => {
  it('gives the same text on the fast path and on the slow path', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(canonicalJson(each)).toBe(slowly(each))
        expect(canonicalJson(ordered(each))).toBe(slowly(each))
      }),
      runs,
    )
    expect(
      canonicalJson({ a: undefined, b: [undefined, Number.NaN], c: { toJSON: () => 'no' }, d: 'a\ud800' }),
    ).toBe('{"b":[null,null],"c":{},"d":"a\ufffd"}')
  })

  it('gives equal values equal text, whatever the order of their keys (J1)', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(canonicalJson(turned(each))).toBe(canonicalJson(each))
      }),
      runs,
    )
  })

  it('gives a text that survives a parse (J2)', () => {
    fc.assert(
      fc.property(value, (each) => {
        const text = canonicalJson(each)
        expect(canonicalJson(JSON.parse(text))).toBe(text)
      }),
      runs,
    )
  })

  it('keeps the meaning of the value, except that lone surrogates are replaced', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(JSON.parse(canonicalJson(each))).toEqual(JSON.parse(JSON.stringify(wellFormed(each))))
      }),
      runs,
    )
  })

  it('gives well-formed text without white space outside strings', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(canonicalJson(each).isWellFormed()).toBe(true)
        expect(canonicalJson(each).replaceAll(/"(?:[^"\\]|\\.)*"/g, '')).not.toMatch(/\s/)
      }),
      runs,
    )
  })

  it('sorts keys by UTF-16 code unit, including integers', () => {
    expect(canonicalJson({ b: 1, 10: 2, 9: 3, a: 4, A: 5 })).toBe('{"10":2,"9":3,"A":5,"a":4,"b":1}')
    expect(canonicalJson({ '\uffff': 1, '😀': 2 })).toBe('{"😀":2,"\uffff":1}')
  })

  it('sorts keys in the same way, however many they are', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { maxLength: 40, size: 'max' }), (keys) => {
        const object = ownMembers(keys.map((key) => [key, 0] as const))
        expect(canonicalJson(object)).toBe(
          `{${keys
            .toSorted()
            .map((key) => `${JSON.stringify(key)}:0`)
            .join(',')}}`,
        )
      }),
      runs,
    )
  })

  it('keeps __proto__ as a member', () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"x":2}}'))).toBe('{"__proto__":{"x":2},"b":1}')
  })

  it('writes a lone surrogate as U+FFFD', () => expect(canonicalJson('a\ud800b')).toBe('"a\ufffdb"'))

  it('treats values that JSON does not have as JSON.stringify does', () => {
    const odd = {
      u: undefined,
      f: () => 1,
      s: Symbol('s'),
      n: Number.NaN,
      i: -Infinity,
      a: [undefined, Infinity, () => 1],
      z: -0,
    }
    expect(JSON.parse(canonicalJson(odd))).toEqual(JSON.parse(JSON.stringify(odd)))
  })

  it('writes numbers as ECMAScript does (RFC 8785)', () => {
    expect(canonicalJson([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0])).toBe(
      '[333333333.3333333,1e+30,4.5,0.002,1e-27,0]',
    )
  })
})

const wellFormed = (each: unknown): unknown =>
  typeof each === 'string'
    ? each.toWellFormed()
    : Array.isArray(each)
      ? each.map(wellFormed)
      : typeof each === 'object' && each !== null
        ? ownMembers(Object.entries(each).map(([name, member]) => [name, wellFormed(member)] as const))
        : each

it('survives a parse if keys contain lone surrogates and sort differently after their replacement (J2)', () => {
  const text = canonicalJson({ '\ud800': 1, '\ue000': 2 })
  expect(canonicalJson(JSON.parse(text))).toBe(text)
})

it('survives a parse if keys become equal after their lone surrogates are replaced (J2)', () => {
  const text = canonicalJson({ '\ud800': 1, '\ud801': 2 })
  expect(canonicalJson(JSON.parse(text))).toBe(text)
})
