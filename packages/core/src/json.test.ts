import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from './json.ts'

const runs = { seed: 11, numRuns: 500 }
const key = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('__proto__', 'constructor', 'toString', '10', '9', '-1', '1e3', '', '\u00e9', '\uffff', '😀'),
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

/** As JSON.parse would: `__proto__` is a member like any other. */
function ownMembers(members: readonly (readonly [string, unknown])[]): object {
  const object = {}
  for (const [name, member] of members) Object.defineProperty(object, name, { value: member, enumerable: true, configurable: true, writable: true })
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
    return each === undefined || (typeof each === 'number' && !Number.isFinite(each)) ? 'null' : JSON.stringify(each)
  if (Array.isArray(each)) return `[${each.map(slowly).join(',')}]`
  const members = new Map<string, unknown>()
  for (const name of Object.keys(each).toSorted((a, b) => (a < b ? -1 : 1))) members.set(name.toWellFormed(), (each as Record<string, unknown>)[name])
  const text = [...members].filter(([, member]) => member !== undefined).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${text.map(([name, member]) => `${JSON.stringify(name)}:${slowly(member)}`).join(',')}}`
}

/** With its keys in canonical order, as a parse of canonical text leaves them. */
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
  it('is the same text whether the engine may write it or not', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(canonicalJson(each)).toBe(slowly(each))
        expect(canonicalJson(ordered(each))).toBe(slowly(each))
      }),
      runs,
    )
    expect(canonicalJson({ a: undefined, b: [undefined, Number.NaN], c: { toJSON: () => 'no' }, d: 'a\ud800' })).toBe('{"b":[null,null],"c":{},"d":"a\ufffd"}')
  })

  it('J1: equal values have equal text, whatever the order of their keys', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(canonicalJson(turned(each))).toBe(canonicalJson(each))
      }),
      runs,
    )
  })

  it('J2: the text survives a parse', () => {
    fc.assert(
      fc.property(value, (each) => {
        const text = canonicalJson(each)
        expect(canonicalJson(JSON.parse(text))).toBe(text)
      }),
      runs,
    )
  })

  it('means the same value, with lone surrogates made readable', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(JSON.parse(canonicalJson(each))).toEqual(JSON.parse(JSON.stringify(wellFormed(each))))
      }),
      runs,
    )
  })

  it('is well-formed text without white space outside strings', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(canonicalJson(each).isWellFormed()).toBe(true)
        expect(canonicalJson(each).replaceAll(/"(?:[^"\\]|\\.)*"/g, '')).not.toMatch(/\s/)
      }),
      runs,
    )
  })

  it('sorts keys by UTF-16 code unit, integers too', () => {
    expect(canonicalJson({ b: 1, 10: 2, 9: 3, a: 4, A: 5 })).toBe('{"10":2,"9":3,"A":5,"a":4,"b":1}')
    expect(canonicalJson({ '\uffff': 1, '😀': 2 })).toBe('{"😀":2,"\uffff":1}')
  })

  it('sorts them so whatever their number', () => {
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

  it('treats what JSON cannot say as JSON.stringify does', () => {
    const odd = { u: undefined, f: () => 1, s: Symbol('s'), n: Number.NaN, i: -Infinity, a: [undefined, Infinity, () => 1], z: -0 }
    expect(JSON.parse(canonicalJson(odd))).toEqual(JSON.parse(JSON.stringify(odd)))
  })

  it('writes numbers as ECMAScript does (RFC 8785)', () => {
    expect(canonicalJson([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0])).toBe('[333333333.3333333,1e+30,4.5,0.002,1e-27,0]')
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

it('J2 for keys that hold lone surrogates and sort differently once made readable', () => {
  const text = canonicalJson({ '\ud800': 1, '\ue000': 2 })
  expect(canonicalJson(JSON.parse(text))).toBe(text)
})

it('J2 for keys that become equal once their lone surrogates are made readable', () => {
  const text = canonicalJson({ '\ud800': 1, '\ud801': 2 })
  expect(canonicalJson(JSON.parse(text))).toBe(text)
})
