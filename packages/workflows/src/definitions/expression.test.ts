import type { JsonObject, JsonValue } from '@beaver/core'
import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stepsMax } from './cost.ts'
import { compileExpression, expressionCharsMax, type Scope } from './expression.ts'

const inputs: JsonObject = {
  text: 'hello',
  n: 3,
  half: 1.5,
  list: ['x', 'y'],
  none: null,
  odd: { constructor: 5, b: [1, { c: 'd' }] },
  名: '中文',
}
const outputs: Readonly<Record<string, string | null>> = {
  a: 'said',
  j: '{"title":"T","tags":["p","q"]}',
  'my node': '[1,2]',
  gone: null,
}
const scope: Scope = {
  inputs,
  nodeField: (id, field) => {
    const text = outputs[id] ?? null
    if (field === 'skipped') return text === null
    if (field === 'output') return text
    return text?.startsWith('s') === false ? (JSON.parse(text) as JsonValue) : null
  },
}

const value = (source: string, of: Scope = scope): JsonValue =>
  compileExpression(source, { inMap: of.item !== undefined }).evaluate(of)

describe('an expression', () => {
  it.each<[string, JsonValue]>([
    ['inputs.text', 'hello'],
    ['inputs["名"] + "!"', '中文!'],
    ['inputs.n + 1', 4],
    ['inputs.n / 2', 1.5],
    ['7 / 2', 3],
    ['inputs.n == 3', true],
    ['-inputs.n', -3],
    ['-(2) + -2', -4],
    ['inputs.half * 2', 3],
    ['inputs.none == null', true],
    ['inputs.n > 2 && inputs.half < 2 ? "yes" : "no"', 'yes'],
    ['inputs.list[1]', 'y'],
    ['inputs.list[inputs.n - 3]', 'x'],
    ['inputs.list.map(x, x + "!")', ['x!', 'y!']],
    ['inputs.list.filter(x, x != "x")', ['y']],
    ['inputs.list.map(x, x != "x", x + x)', ['yy']],
    ['inputs.list.exists(x, x == "y") && inputs.list.all(x, x.size() == 1)', true],
    ['inputs.list.exists_one(x, x == "y")', true],
    ['inputs.list + ["z", 1]', ['x', 'y', 'z', 1]],
    ['"x" in inputs.list', true],
    ['inputs.odd.b[1].c', 'd'],
    ['inputs.odd.constructor', 5],
    ['has(inputs.odd.b) && !has(inputs.odd.q)', true],
    ['{"t": inputs.text, "l": [1, 2.5, null, true]}', { t: 'hello', l: [1, 2.5, null, true] }],
    ['inputs.text.contains("ell") && inputs.text.startsWith("he") && inputs.text.endsWith("o")', true],
    ['inputs.text.matches("^h.*o$")', true],
    ['inputs.text.split("l")', ['he', '', 'o']],
    ['inputs.text.indexOf("l")', 2],
    ['inputs.text.substring(1, int(inputs.n))', 'el'],
    ['inputs.text.upperAscii() + " x ".trim()', 'HELLOx'],
    ['[1, 2.5, "a", true, null].join("-")', '1-2.5-a-true-'],
    ['inputs.list.join()', 'xy'],
    ['string(inputs.n) + string(1.5) + string(true)', '31.5true'],
    ['int("5") + 1', 6],
    ['double("1.5") + 1', 2.5],
    ['size(inputs.list) + size("ab")', 4],
    ['nodes.a.output', 'said'],
    ['nodes.j.json.title', 'T'],
    ['nodes["my node"].json', [1, 2]],
    ['has(nodes.j.json.title) && !has(nodes["my node"].json.title)', true],
    ['nodes.gone.skipped ? "none" : nodes.gone.output', 'none'],
    ['nodes.a.json == null', true],
    ["'a' + \"b\" + r'\\d' + '''c'''", 'ab\\dc'],
    ['0xFF - 1', 254],
    ['0.0 * -1.0', 0],
  ])('%s gives %j', (source, expected) => {
    expect(value(source)).toStrictEqual(expected)
  })

  it('sees item and index in the body of a map, and nowhere else', () => {
    expect(
      value('{"v": item.k, "i": index + 1}', { ...scope, item: { value: { k: 'v' }, index: 4 } }),
    ).toEqual({ v: 'v', i: 5 })
    expect(() => value('item')).toThrow('"item" is not known; the names here are "inputs", "nodes"')
  })

  it('names what it reads', () => {
    const { references, type } = compileExpression(
      'nodes.a.output + nodes["my node"].json[0] + inputs.text + (nodes.a.skipped ? "" : inputs["n"])',
      {
        inMap: false,
      },
    )
    expect([...references.inputs]).toEqual(['text', 'n'])
    expect([...references.nodes].map(([id, fields]) => [id, [...fields]])).toEqual([
      ['a', ['output', 'skipped']],
      ['my node', ['json']],
    ])
    expect(type).toBe('dyn')
  })

  it('gives the same whatever the order of the keys', () => {
    const turned = { ...scope, inputs: { ...inputs, odd: { b: [1, { c: 'd' }], constructor: 5 } } }
    expect(value('inputs.odd.map(k, k)')).toEqual(['b', 'constructor'])
    expect(value('inputs.odd.map(k, k)', turned)).toEqual(['b', 'constructor'])
  })

  it('leaves its values as they were', () => {
    const before = structuredClone(inputs)
    value('inputs.list + [inputs.odd]')
    expect(inputs).toEqual(before)
  })
})

describe('an expression that is wrong says what is, before it is ever evaluated', () => {
  it.each([
    ['', 'empty'],
    ['1 +', 'Unexpected token'],
    ['1 + "a"', 'no such overload: int + string'],
    ['inputs', '"inputs" is incomplete'],
    ['inputs.map(k, k)', '"inputs" is incomplete'],
    ['inputs[inputs.text]', 'must be written out'],
    ['nodes.a', 'nodes.a is incomplete. Add .output'],
    ['nodes', '"nodes" is incomplete'],
    ['nodes.a.text', 'a node has no "text": write nodes.a and .output'],
    ['nodes[inputs.text].output', 'must be written out'],
    ['who', '"who" is not known'],
    ['fetch("x")', 'the function "fetch" is not known'],
    ['inputs.text.split(",", 2)', 'split takes one argument'],
    ['inputs.text.repeat(9)', 'the function "repeat" is not known'],
    ['[1].map(inputs, 1)', '"inputs" is already used'],
    ['b"x"', 'bytes'],
    ['1u', 'unsigned'],
    ['timestamp("2024-01-01T00:00:00Z")', 'the function "timestamp" is not known'],
    ['true ? "a" : 1', 'Ternary branches must have the same type'],
    ['中', 'Unexpected character'],
    ['inputs.text.matches("(")', 'matches: "(" is not a pattern of RE2: missing closing )'],
    [
      "inputs.text.matches('a(?=b)')",
      'matches: "a(?=b)" is not a pattern of RE2: invalid or unsupported Perl syntax',
    ],
    ['inputs.text.matches("a" + (true ? "(" : ")"))', '"a(" is not a pattern of RE2'],
    ['inputs.n > 3 || inputs.list.exists(x, x.matches("[") || x == "y")', '"[" is not a pattern of RE2'],
    ['inputs.text.matches("x".substring(5))', 'substring'],
    ['inputs.text.matches(dyn(3))', 'matches: 3 is not a text'],
    [`inputs.text.matches("${'x'.repeat(501)}")`, 'the pattern has 501 characters; the limit is 500'],
    [`"${'x'.repeat(expressionCharsMax)}"`, `the limit is ${expressionCharsMax}`],
  ])('%s', (source, message) => {
    expect(() => compileExpression(source, { inMap: false })).toThrow(message)
  })
})

describe('an expression that meets the wrong values says so', () => {
  it.each([
    ['inputs.odd.q', 'No such key: q'],
    ['nodes.a.json.title', 'No such key: title; the output of "a" is not JSON'],
    ['nodes.gone.json.title', 'No such key: title; "gone" was skipped'],
    ['inputs.text + inputs.n', 'no such overload'],
    ['inputs.list[5]', 'index out of bounds'],
    ['1 / 0', 'division by zero'],
    ['inputs.half / 0', 'not finite'],
    ['9223372036854775807', 'JSON cannot say exactly'],
    ['inputs.n.contains("x")', 'contains: 3 is not a text'],
    ['inputs.text.matches(inputs.text + "(")', 'matches: "hello(" is not a pattern of RE2'],
    ['["("].exists(p, inputs.text.matches(p))', 'matches: "(" is not a pattern of RE2'],
    ['inputs.text.join()', 'join: "hello" is not a list'],
    ['!inputs.none', 'no such overload: !null'],
  ])('%s', (source, message) => {
    expect(() => value(source)).toThrow(message)
  })
})

describe('a hostile expression', () => {
  it.each([
    'inputs.text.constructor',
    'inputs.list.constructor',
    'inputs.__proto__',
    'inputs["__proto__"]',
    'inputs.list["__proto__"]',
    'inputs.odd.__proto__',
    'inputs.odd["prototype"]',
    'inputs.odd.constructor.constructor',
    'inputs.list.length',
    '[].constructor',
    '{}.constructor',
    '"".constructor',
    '"".constructor.constructor("return 1")()',
    'this',
    'globalThis',
    'process',
    'constructor',
    'toString()',
    'inputs.toString()',
    'valueOf',
    'hasOwnProperty("x")',
    'cel',
    'cel.bind(x, 1, x)',
    'google.protobuf.Timestamp',
    'type(1)',
    'pay(1)',
    'step(1)',
    'join_([1])',
    'inputs.list.push("z")',
    'nodes.__proto__.output.x',
  ])('reaches no prototype, no global and no function of ours: %s', (source) => {
    let got: JsonValue = null
    try {
      got = value(source)
    } catch (error) {
      expect((error as Error).message).toMatch(
        /No such key|not known|is incomplete|RESERVED|Reserved|Unexpected|Expected|reserved|Cannot|no matching|must be/,
      )
    }
    expect(got).toBeNull()
  })

  it('cannot bring an own __proto__ into what it makes', () => {
    const made = value('{"__proto__": {"polluted": true}, "a": inputs.odd}') as Record<string, unknown>
    expect(made['polluted']).toBeUndefined()
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    const brought = JSON.parse('{"o": {"__proto__": {"polluted": true}}}') as JsonObject
    const copied = value('inputs.o', { ...scope, inputs: brought }) as Record<string, unknown>
    expect(Object.getPrototypeOf(copied)).toBe(Object.prototype)
    expect(copied['polluted']).toBeUndefined()
  })

  const hundred = Array.from({ length: 100 }, (_, index) => index)
  const long: Scope = {
    ...scope,
    inputs: { ...inputs, hundred, big: 'a'.repeat(1_000_000), b: `b${'a'.repeat(500_000)}` },
  }
  const nested = (names: string, inner: string): string =>
    names.split('').reduceRight((body, name) => `inputs.hundred.map(${name}, ${body})`, inner)
  const doubled = (start: string, times: number, of: (name: string) => string): string =>
    Array.from({ length: times }, (_, index) => `x${index}`).reduce(
      (text, name) => `${text}.map(${name}, ${of(name)})`,
      `[${start}]`,
    )

  it.each([
    ['loops in loops', nested('abcdef', '1'), 'takes more than'],
    [
      'loops in loops that find nothing',
      'abcdefgh'.split('').reduceRight((body, name) => `inputs.hundred.exists(${name}, ${body})`, 'false'),
      'takes more than',
    ],
    [
      'loops in loops whose errors are passed over',
      'abcdefgh'
        .split('')
        .reduceRight((body, name) => `inputs.hundred.all(${name}, ${body} || true)`, '1 / 0 == 1'),
      'takes more than',
    ],
    [
      'a loop of errors that are passed over',
      `inputs.hundred.exists(a, inputs.hundred.exists(b, ${Array.from({ length: 40 }, () => '1 / 0 == 1').join(' || ')}))`,
      'takes more than',
    ],
    ['a text doubled again and again', doubled('"aaaaaaaa"', 40, (x) => `${x} + ${x}`), 'larger than'],
    ['a list doubled again and again', doubled('[1]', 40, (x) => `${x} + ${x}`), 'larger than'],
    [
      'a structure that holds itself twice, again and again',
      doubled('"a"', 40, (x) => `[${x}, ${x}]`),
      'larger than',
    ],
    [
      'such structures compared',
      `${doubled('"a"', 30, (x) => `[${x}, ${x}]`)} == ${doubled('"a"', 30, (x) => `[${x}, ${x}]`)}`,
      'larger than',
    ],
    ['a long text searched for a long one', 'inputs.big.contains(inputs.b)', 'takes more than'],
    ['a long text cut at a long one', 'inputs.big.split(inputs.b)', 'takes more than'],
    ['a list joined by a long text', 'inputs.big.split("").join(inputs.big)', 'larger than'],
    ['a long text cut into letters', 'inputs.big.split("")', 'larger than'],
    ['a long pattern', 'inputs.text.matches(inputs.big)', 'the limit is 500'],
  ])('ends soon: %s', async (_, source, message) => {
    // Far more than it takes, far less than what is not bounded.
    expect(await ownMs(() => expect(() => value(source, long)).toThrow(message))).toBeLessThan(5_000)
  })

  it.each(['(a+)+$', '(a|a)*$', '(.*a){20}', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
    'a pattern that takes for ever elsewhere ends: %s',
    async (pattern) => {
      const inputs = { t: `${'a'.repeat(5_000)}!`, p: pattern }
      const work = (): void =>
        expect(typeof value('inputs.t.matches(inputs.p)', { ...scope, inputs })).toBe('boolean')
      expect(await ownMs(work)).toBeLessThan(5_000)
    },
  )

  it.each([
    ['brackets', `${'('.repeat(900)}1${')'.repeat(900)}`],
    ['lists', `${'['.repeat(900)}${']'.repeat(900)}`],
    ['signs', `${'!'.repeat(1_500)}true`],
    ['minus signs', `${'-'.repeat(1_500)}1`],
    ['sums', Array.from({ length: 900 }, () => '1').join('+')],
    ['choices', `${'true?1:'.repeat(250)}1`],
    ['places', `inputs.odd${'[0]'.repeat(600)}`],
  ])('that is deep or long is refused when it is read: %s', (_, source) => {
    expect(() => compileExpression(source, { inMap: false })).toThrow(/Exceeded max/)
  })

  it('has its bounds just there', () => {
    expect(value(`${'('.repeat(40)}1${')'.repeat(40)}`)).toBe(1)
    expect(() => compileExpression(`${'('.repeat(60)}1${')'.repeat(60)}`, { inMap: false })).toThrow(
      'Exceeded maxDepth (50)',
    )
    expect(() =>
      compileExpression(`[${Array.from({ length: 201 }, () => '1').join()}]`, { inMap: false }),
    ).toThrow('Exceeded maxListElements (200)')
    const sum = (count: number): string => `[${Array.from({ length: count }, () => '1+1').join()}]`
    expect(value(sum(160))).toHaveLength(160)
    expect(() => compileExpression(sum(170), { inMap: false })).toThrow('Exceeded maxAstNodes (500)')
  })

  it('a value that is deep is refused', () => {
    const deep = JSON.parse(`${'['.repeat(2_000)}${']'.repeat(2_000)}`) as JsonValue
    expect(() => value('inputs.deep', { ...scope, inputs: { deep } })).toThrow('nested deeper than')
  })

  it('a budget that was used up is whole again for the next', () => {
    expect(() => value(nested('abcdef', '1'), long)).toThrow(`more than ${stepsMax} steps`)
    expect(value('inputs.hundred.map(x, x + 1).size()', long)).toBe(100)
  })

  it('never throws anything but a fault that says something, whatever it is made of', () => {
    const token = fc.constantFrom(
      'inputs',
      'nodes',
      '.a',
      '.text',
      '.output',
      '(',
      ')',
      '[',
      ']',
      '"',
      "'",
      '1',
      '+',
      '?',
      ':',
      '{',
      '}',
      ',',
      'x',
      '.map',
      'in',
      '!',
      '\\',
      ' ',
      '中',
      '\n',
      '__proto__',
    )
    fc.assert(
      fc.property(fc.array(token, { maxLength: 30 }), (tokens) => {
        try {
          value(tokens.join(''))
        } catch (error) {
          expect((error as Error).constructor.name).toBe('ExpressionFault')
          expect((error as Error).message).toMatch(/\S/)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

it('texts, numbers and lists come out as they went in', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (json) => {
      const brought = JSON.parse(JSON.stringify(json)) as JsonValue
      expect(value('inputs.v', { ...scope, inputs: { v: brought } })).toEqual(normal(brought))
    }),
    { numRuns: 500 },
  )
})

/** Without the sign of zero. */
const normal = (json: JsonValue): JsonValue => JSON.parse(JSON.stringify(json)) as JsonValue
