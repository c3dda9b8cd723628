// Each type of zod either works as the answer of a task, or is refused before the task costs anything. Works:
// a fitting answer passes Beaver's check and becomes the value, and an unfitting one does not pass the check,
// so the model is asked again.
import { BeaverError, type JsonObject } from '@beaver/core'
import { judgeOutput } from '@beaver/core/evidence'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readOutput, UnfitOutputError, wireTask } from './typed-output.ts'

const tree: z.ZodType = z.object({
  name: z.email(),
  get children() {
    return z.array(tree)
  },
})
const mail = { name: 'a@b.org', children: [] }
const choice = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('a'), n: z.number() }),
  z.object({ kind: z.literal('b'), text: z.string().startsWith('b') }),
])

/**
 * A type, an answer that fits, what the program gets (absent: the answer itself), and answers that do not
 * fit.
 */
interface Works {
  readonly type: z.ZodType
  readonly fits: unknown
  readonly gives?: unknown
  readonly not: readonly unknown[]
}

const v4 = '9b2f1d1e-3c4b-4d5a-8f6e-7a8b9c0d1e2f'
const v7 = '019ab3a4-9b7c-7c3e-8f5a-1b2c3d4e5f60'
const texts: Readonly<Record<string, Works>> = {
  'z.email()': { type: z.email(), fits: 'a@b.org', not: ['a', 'a@b'] },
  'z.email() with a wider pattern': {
    type: z.email({ pattern: z.regexes.html5Email }),
    fits: 'a!b@localhost',
    not: ['a'],
  },
  'z.email().endsWith()': { type: z.email().endsWith('.org'), fits: 'a@b.org', not: ['a@b.com', '.org'] },
  'z.url()': { type: z.url(), fits: 'https://b.org/x', not: ['b.org'] },
  'z.url().startsWith()': {
    type: z.url().startsWith('https://'),
    fits: 'https://b.org',
    not: ['http://b.org', 'https://'],
  },
  'z.uuid()': { type: z.uuid(), fits: v7, not: ['00000000-0000-9000-0000-000000000001'] },
  'z.uuidv4()': { type: z.uuidv4(), fits: v4, not: [v7] },
  'z.uuidv7()': { type: z.uuidv7(), fits: v7, not: [v4] },
  'z.uuidv4().optional()': {
    type: z.object({ id: z.uuidv4().optional() }),
    fits: { id: v4 },
    not: [{ id: v7 }],
  },
  'z.uuidv4().nullable()': { type: z.uuidv4().nullable(), fits: null, not: [v7] },
  'z.guid()': { type: z.guid(), fits: '00000000-0000-9000-0000-000000000001', not: ['1'] },
  'z.ipv4()': { type: z.ipv4(), fits: '10.0.0.1', not: ['10.0.0.256'] },
  'z.ipv6()': { type: z.ipv6(), fits: '2001:db8::1', not: ['2001:db8'] },
  'z.cidrv4()': { type: z.cidrv4(), fits: '10.0.0.0/8', not: ['10.0.0.0'] },
  'z.cidrv6()': { type: z.cidrv6(), fits: '2001:db8::/32', not: ['2001:db8::'] },
  'z.mac()': { type: z.mac(), fits: '00:1a:2b:3c:4d:5e', not: ['00:1a'] },
  'z.hostname()': { type: z.hostname(), fits: 'b.org', not: ['b_org'] },
  'z.iso.date()': { type: z.iso.date(), fits: '2026-02-28', not: ['2026-02-29'] },
  'z.iso.time()': { type: z.iso.time(), fits: '12:30:00', not: ['25:00:00'] },
  'z.iso.datetime()': {
    type: z.iso.datetime(),
    fits: '2026-11-27T12:00:00Z',
    not: ['2026-11-27T12:00:00+01:00', '2026-11-27'],
  },
  'z.iso.datetime() with offsets': {
    type: z.iso.datetime({ offset: true }),
    fits: '2026-11-27T12:00:00+01:00',
    not: ['2026-11-27T12:00:00'],
  },
  'z.iso.datetime() of a place': {
    type: z.iso.datetime({ local: true }),
    fits: '2026-11-27T12:00:00',
    not: ['2026-11-27'],
  },
  'z.iso.datetime() with milliseconds': {
    type: z.iso.datetime({ precision: 3 }),
    fits: '2026-11-27T12:00:00.123Z',
    not: ['2026-11-27T12:00:00Z'],
  },
  'z.iso.duration()': { type: z.iso.duration(), fits: 'P3DT4H', not: ['3 days'] },
  'z.base64()': { type: z.base64(), fits: 'aGk=', not: ['aGk', '?'] },
  'z.base64url()': { type: z.base64url(), fits: 'aGk_', not: ['aGk/'] },
  'z.e164()': { type: z.e164(), fits: '+41441234567', not: ['0441234567'] },
  'z.cuid()': { type: z.cuid(), fits: 'cjld2cjxh0000qzrmn831i7rn', not: ['x'] },
  'z.cuid2()': { type: z.cuid2(), fits: 'tz4a98xxat96iws9zmbrgj3a', not: ['TZ-'] },
  'z.ulid()': { type: z.ulid(), fits: '01ARZ3NDEKTSV4RRFFQ69G5FAV', not: ['01ARZ'] },
  'z.nanoid()': { type: z.nanoid(), fits: 'V1StGXR8_Z5jdHi6B-myT', not: ['V1'] },
  'z.xid()': { type: z.xid(), fits: '9m4e2mr0ui3e8a215n4g', not: ['9m4'] },
  'z.ksuid()': { type: z.ksuid(), fits: '0ujtsYcgvSTl8PAuAdqWYSMnLOv', not: ['0uj'] },
  'z.hex()': { type: z.hex(), fits: 'c0ffee', not: ['coffee'] },
  'z.hash()': { type: z.hash('sha256'), fits: 'a'.repeat(64), not: ['a'] },
  'a format of the program': { type: z.stringFormat('order', /^A-\d+$/), fits: 'A-1', not: ['B-1'] },
  'lowercase()': { type: z.string().lowercase(), fits: 'abc', not: ['Abc'] },
  'uppercase()': { type: z.string().uppercase(), fits: 'ABC', not: ['Abc'] },
  'startsWith().endsWith()': {
    type: z.string().startsWith('a').endsWith('c'),
    fits: 'abc',
    not: ['ab', 'bc'],
  },
  'includes()': { type: z.string().includes('a.c'), fits: 'xa.cx', not: ['abc'] },
  'regex()': { type: z.string().regex(/^a+$/), fits: 'aa', not: ['AA'] },
  'regex() with flags': { type: z.string().regex(/^a.b$/is), fits: 'A\nB', not: ['a'] },
  'regex().regex()': { type: z.string().regex(/^a/).regex(/B$/i), fits: 'a b', not: ['A b', 'a c'] },
  'min().max()': { type: z.string().min(2).max(3), fits: 'ab', not: ['a', 'abcd'] },
  'z.templateLiteral()': { type: z.templateLiteral(['v', z.int()]), fits: 'v12', not: ['v1.5', '12'] },
}

const others: Readonly<Record<string, Works>> = {
  'z.int()': { type: z.int(), fits: 3, not: [3.5, '3'] },
  'multipleOf().multipleOf()': { type: z.number().multipleOf(2).multipleOf(3), fits: 6, not: [4] },
  'z.coerce.number()': { type: z.coerce.number(), fits: 3, not: ['3'] },
  'z.coerce.bigint()': {
    type: z.coerce.bigint(),
    fits: '12345678901234567890',
    gives: 12_345_678_901_234_567_890n,
    not: [3, '3.5'],
  },
  'z.coerce.date()': {
    type: z.coerce.date(),
    fits: '2026-11-27T12:00:00Z',
    gives: new Date('2026-11-27T12:00:00Z'),
    not: ['today', 3],
  },
  'z.coerce.date().optional()': {
    type: z.object({ at: z.coerce.date().optional() }),
    fits: {},
    not: [{ at: 'today' }],
  },
  'a codec': {
    type: z.codec(z.iso.datetime(), z.date(), {
      decode: (text) => new Date(text),
      encode: (date) => date.toISOString(),
    }),
    fits: '2026-11-27T12:00:00Z',
    gives: new Date('2026-11-27T12:00:00Z'),
    not: ['today'],
  },
  'z.literal()': { type: z.literal('a'), fits: 'a', not: ['b'] },
  'z.literal() of several': { type: z.literal(['a', 1, null]), fits: null, not: ['b', 2] },
  'z.enum()': { type: z.enum(['a', 'b']), fits: 'b', not: ['c'] },
  'z.enum() of numbers': { type: z.enum({ low: 1, high: 2 }), fits: 2, not: [3, 'low'] },
  'z.enum().nullable()': { type: z.enum(['a']).nullable(), fits: null, not: ['b'] },
  'z.null()': { type: z.null(), fits: null, not: [0] },
  'z.any()': { type: z.any(), fits: [1, { a: null }], not: [] },
  'z.json()': { type: z.json(), fits: [1, { a: null }], not: [] },
  'z.strictObject()': {
    type: z.strictObject({ a: z.string() }),
    fits: { a: '' },
    not: [{ a: '', b: 1 }, {}],
  },
  'catchall()': {
    type: z.object({ a: z.string() }).catchall(z.number()),
    fits: { a: '', b: 1 },
    not: [{ a: '', b: 'c' }],
  },
  'a field that is never there': {
    type: z.object({ a: z.string(), b: z.never().optional() }),
    fits: { a: '' },
    not: [{ a: '', b: 1 }],
  },
  'z.discriminatedUnion()': {
    type: choice,
    fits: { kind: 'b', text: 'b' },
    not: [{ kind: 'b', n: 1 }, { kind: 'b', text: 'a' }, { kind: 'c' }],
  },
  'z.discriminatedUnion().nullable()': {
    type: z.object({ choice: choice.nullable() }),
    fits: { choice: null },
    not: [{ choice: { kind: 'a' } }],
  },
  'z.union()': {
    type: z.union([z.string(), z.object({ a: z.email() })]),
    fits: { a: 'a@b.org' },
    not: [{ a: 'a' }, 1],
  },
  'z.intersection()': {
    type: z.intersection(z.object({ a: z.string() }), z.object({ b: z.e164() })),
    fits: { a: '', b: '+41441234567' },
    not: [{ a: '', b: '1' }],
  },
  'z.intersection() with a union': {
    type: z.intersection(choice, z.object({ at: z.iso.date() })),
    fits: { kind: 'a', n: 1, at: '2026-01-01' },
    not: [{ kind: 'a', n: 1 }],
  },
  'z.record()': { type: z.record(z.string(), z.number()), fits: { a: 1 }, not: [{ a: 'b' }] },
  'z.record() with a pattern': {
    type: z.record(z.string().startsWith('a'), z.number()),
    fits: { a1: 1 },
    not: [{ b1: 1 }],
  },
  'z.record() with uuids': { type: z.record(z.uuidv4(), z.number()), fits: { [v4]: 1 }, not: [{ [v7]: 1 }] },
  'z.record() with known keys': {
    type: z.record(z.enum(['a', 'b']), z.object({ n: z.number() })),
    fits: { a: { n: 1 }, b: { n: 2 } },
    not: [{ a: { n: 1 } }, { a: { n: 1 }, b: { n: 2 }, c: { n: 3 } }, { a: { n: 1 }, b: 2 }],
  },
  'z.record() of itself': {
    type: z.object({ next: z.lazy(() => z.record(z.literal('a'), tree)) }),
    fits: { next: { a: mail } },
    not: [{ next: {} }, { next: { a: { name: 'x', children: [] } } }],
  },
  'z.partialRecord()': {
    type: z.partialRecord(z.enum(['a', 'b']), z.number()),
    fits: { a: 1 },
    not: [{ c: 1 }],
  },
  'z.record() with numbers': { type: z.record(z.number(), z.string()), fits: { 1: 'a' }, not: [{ a: 'a' }] },
  'z.tuple()': {
    type: z.tuple([z.string(), z.number()]),
    fits: ['a', 1],
    not: [['a'], ['a', 1, 2], [1, 'a']],
  },
  'z.tuple() with a rest': { type: z.tuple([z.string()], z.number()), fits: ['a', 1, 2], not: [['a', 'b']] },
  'z.array().min().max()': {
    type: z.array(z.email()).min(1).max(2),
    fits: ['a@b.org'],
    not: [[], ['a'], Array(3).fill('a@b.org')],
  },
  'optional()': { type: z.object({ a: z.string().optional() }), fits: {}, not: [{ a: null }] },
  'nullish()': { type: z.object({ a: z.string().nullish() }), fits: { a: null }, not: [{ a: 1 }] },
  'default()': {
    type: z.object({ a: z.string().lowercase().default('x') }),
    fits: {},
    gives: { a: 'x' },
    not: [{ a: 'X' }],
  },
  'default() of a function': {
    type: z.object({ a: z.array(z.string()).default(() => ['x']) }),
    fits: {},
    gives: { a: ['x'] },
    not: [{ a: 'x' }],
  },
  'prefault()': {
    type: z.object({ a: z.string().trim().prefault(' x ') }),
    fits: {},
    gives: { a: 'x' },
    not: [{ a: 1 }],
  },
  'catch()': { type: z.object({ a: z.number().catch(0) }), fits: { a: 1 }, not: [{}, { a: '1' }] },
  'readonly()': {
    type: z.object({ a: z.array(z.string()).readonly() }).readonly(),
    fits: { a: [] },
    not: [{}],
  },
  'transform()': { type: z.string().transform((text) => text.length), fits: 'abc', gives: 3, not: [3] },
  'transform() that waits': {
    type: z.string().transform(async (text) => text.length),
    fits: 'abc',
    gives: 3,
    not: [3],
  },
  'pipe()': {
    type: z.string().regex(/^\d+$/).pipe(z.coerce.number()),
    fits: '12',
    gives: 12,
    not: [12, 'a'],
  },
  'preprocess()': { type: z.preprocess((value) => value ?? 0, z.number().min(0)), fits: 3, not: [-1, 'a'] },
  'refine()': { type: z.number().refine((n) => n % 2 === 0), fits: 4, not: ['4'] },
  'refine() that waits': { type: z.number().refine(async (n) => n % 2 === 0), fits: 4, not: ['4'] },
  'brand()': { type: z.string().brand<'id'>(), fits: 'a', not: [1] },
  'a getter that refers to its object': {
    type: tree,
    fits: { name: 'a@b.org', children: [mail] },
    not: [{ name: 'a@b.org', children: [{ name: 'a', children: [] }] }],
  },
  'z.lazy()': { type: z.lazy(() => tree), fits: mail, not: [{ name: 'a' }] },
  'meta() for another tool': {
    type: z.string().meta({ id: 'Name', 'x-order': 1, format: 'color', description: 'A name.' }),
    fits: 'a',
    not: [1],
  },
}

const schemaOf = (type: z.ZodType): JsonObject =>
  wireTask({ task: 'x', output: type }).output_schema as JsonObject
const answered = (value: unknown) => ({
  task_id: 'task_1',
  output_text: JSON.stringify(value),
  output: value as never,
})

describe.each(Object.entries({ ...texts, ...others }))(
  '%s as the answer of a task',
  (_name, { type, fits, not, ...rest }) => {
    it('passes a fitting answer, and no other', async () => {
      const schema = schemaOf(type)
      expect([schema, judgeOutput(schema, JSON.stringify(fits))]).toMatchObject([schema, { kind: 'fits' }])
      expect(await readOutput(type, answered(fits))).toEqual('gives' in rest ? rest.gives : fits)
      for (const each of not)
        expect([schema, each, judgeOutput(schema, JSON.stringify(each)).kind]).toEqual([
          schema,
          each,
          'faulty',
        ])
    })
  },
)

/** A type that is refused, where, and what the sentence says to do. */
const refusals: Readonly<Record<string, readonly [z.ZodType, string, string]>> = {
  'z.bigint()': [z.object({ n: z.bigint() }), 'output.properties.n', 'z.coerce.bigint()'],
  'z.int64()': [z.int64(), 'output', 'z.coerce.bigint()'],
  'z.date()': [z.array(z.date()), 'output.items', 'z.coerce.date()'],
  'z.set()': [z.set(z.string()), 'output', 'new Set'],
  'z.map()': [z.map(z.string(), z.number()), 'output', 'new Map'],
  'z.undefined()': [z.object({ a: z.undefined() }), 'output.properties.a', '.optional()'],
  'z.nan()': [z.nan(), 'output', 'z.number()'],
  'z.symbol()': [z.symbol(), 'output', '.transform()'],
  'z.literal() of a bigint': [z.literal(1n), 'output', 'a type that JSON has'],
  'z.custom()': [z.custom<string>((value) => value === 'a'), 'output', '.refine()'],
  'z.instanceof()': [z.instanceof(URL), 'output', '.refine()'],
  'z.transform()': [z.transform(String), 'output', 'a type that JSON has'],
  'z.file()': [z.file(), 'output', 'z.string().refine()'],
  'z.jwt()': [z.object({ token: z.jwt() }), 'output.properties.token', 'z.string().refine()'],
  'z.jwt().startsWith()': [z.jwt().startsWith('e'), 'output', 'z.string().refine()'],
  'z.emoji()': [z.object({ face: z.emoji() }), 'output.properties.face.pattern', '.refine()'],
  'a lookahead': [z.string().regex(/^(?=a)/), 'output.pattern', '.refine()'],
  'z.looseRecord()': [
    z.looseRecord(z.string().startsWith('a'), z.number()),
    'output.patternProperties',
    'Leave it out',
  ],
  'catch() that throws': [
    z.number().catch(() => {
      throw new RangeError('no number')
    }),
    'output',
    'a value in place of a function',
  ],
}

describe.each(Object.entries(refusals))('%s', (_name, [type, path, says]) => {
  it('is refused before anything is paid for, with what to do', () => {
    const error = thrown(() => schemaOf(type))
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      problems: [{ path, message: expect.stringContaining(says) }],
    })
    expect(error?.message).toContain(path)
  })
})

function thrown(act: () => unknown): BeaverError | null {
  try {
    act()
    return null
  } catch (error) {
    return error as BeaverError
  }
}

describe('an answer that only the program refuses', () => {
  const failing = async (type: z.ZodType, value: unknown): Promise<unknown> =>
    readOutput(type, answered(value)).catch((error: unknown) => error)

  it('is in the error, with its task and the place', async () => {
    const error = await failing(
      z.object({ list: z.array(z.number().refine((n) => n % 2 === 0, 'must be even')) }),
      { list: [2, 3] },
    )
    expect(error).toBeInstanceOf(UnfitOutputError)
    expect(error).toBeInstanceOf(BeaverError)
    expect(error).toMatchObject({
      code: 'output_invalid',
      message:
        'The task task_1 completed. Its answer fits its JSON Schema, but not its type: output.list.1: must be even',
      problems: [{ path: 'output.list.1', message: 'must be even' }],
      task_id: 'task_1',
      output_text: '{"list":[2,3]}',
      output: { list: [2, 3] },
    })
  })

  it('is in the error if a transform throws', async () => {
    const broken = new Error('no such place')
    const error = await failing(
      z.string().transform(() => {
        throw broken
      }),
      'a',
    )
    expect(error).toMatchObject({
      code: 'output_invalid',
      output: 'a',
      problems: [{ path: 'output', message: expect.stringContaining('no such place') }],
    })
    expect((error as Error).cause).toBe(broken)
  })
})
