import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { type FrontMatterRead, readFrontMatter } from './read-front-matter.ts'

const read = (text: string): FrontMatterRead => readFrontMatter(Buffer.from(text))
const between = (yaml: string): FrontMatterRead => read(`---\n${yaml}\n---\nbody`)
const reasonOf = (found: FrontMatterRead): string =>
  found.ok ? `read: ${JSON.stringify(found.fields)}` : found.reason
const ran = globalThis as { ran?: boolean }

describe('front matter', () => {
  test.each([
    ['JavaScript', '---js\nglobalThis.ran = true\n---\n', '"---js"'],
    ['JavaScript after a space', '--- javascript\nglobalThis.ran = true\n---\n', '"--- javascript"'],
    ['JSON', '---json\n{"description": "d"}\n---\n', '"---json"'],
    ['JSON between ";;;"', ';;;\n{"description": "d"}\n;;;\n', '";;;"'],
    ['TOML', '+++\ndescription = "d"\n+++\n', '"+++"'],
    ['CoffeeScript', '---coffee\nprocess.exit 1\n---\n', '"---coffee"'],
  ])('of %s is refused by its mark, and nothing is executed', (_, text, mark) => {
    expect(reasonOf(read(text))).toContain(`begins with ${mark}. Only YAML`)
    expect(ran.ran).toBeUndefined()
  })

  test('with tags of JavaScript holds their text, and nothing is executed', () => {
    const found = between(
      "a: !!js/function 'function(){ globalThis.ran = true }'\nb: !!python/object:os.system x",
    )
    expect(found).toMatchObject({ ok: true, fields: { a: 'function(){ globalThis.ran = true }', b: 'x' } })
    expect(ran.ran).toBeUndefined()
  })

  test.each([
    [
      'an alias bomb',
      'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b]',
      'it uses aliases more than',
    ],
    ['an alias of nothing', 'a: *b', 'Unresolved alias'],
    ['lists in lists without end', `a: ${'['.repeat(8_000)}${']'.repeat(8_000)}`, 'nested too deeply'],
    ['a field twice', 'name: a\nname: b', 'it has a field twice (line 3)'],
    ['a tab as indentation', 'a:\n\tb: c', 'Tabs are not allowed as indentation (line 3)'],
    ['two documents', 'a: b\n...\nc: d', ''],
    ['a list', '- a', 'it must contain fields'],
    ['a text', 'just text', 'it must contain fields'],
    ['more than it may have', `a: ${'x'.repeat(20_000)}`, 'has 20003 characters. Beaver reads at most 16384'],
  ])('that holds %s is refused, in one sentence', (_, yaml, words) => {
    const found = between(yaml)
    expect(reasonOf(found)).toContain(words)
    expect(found.ok).toBe(false)
    expect(reasonOf(found)).toMatch(/^[^\n]{10,300}\.$/)
  })

  test('as large as it may be, of as many fields as fit, is read in bounded time', async () => {
    const yaml = Array.from({ length: 1_800 }, (_, i) => `k${i}: 1`).join('\n')
    expect(await ownMs(() => expect(between(yaml).ok).toBe(true))).toBeLessThan(3_000)
  })

  test.each([
    ['description: Use when: it fits', 'Use when: it fits'],
    ['description: Use when: "it" fits', 'Use when: "it" fits'],
    ['name: x\ndescription: a: b: c\nlicense: MIT', 'a: b: c'],
  ])('%j, which only lacks quotes, is read and told', (yaml, description) => {
    const found = between(yaml)
    expect(found).toMatchObject({ ok: true, fields: { description } })
    expect(found.ok && found.warnings.join()).toContain('must be in quotes')
  })

  test('that names __proto__ changes no prototype', () => {
    const found = between('__proto__: { description: polluted }\nconstructor: 1')
    expect(found.ok && Object.getPrototypeOf(found.fields)).toBe(Object.prototype)
    expect((found.ok ? found.fields : {})['description']).toBeUndefined()
  })

  test('of bytes that are not UTF-8 is read with a warning', () => {
    const found = readFrontMatter(
      Buffer.concat([Buffer.from('---\ndescription: caf'), Buffer.from([0xe9]), Buffer.from('\n---\n')]),
    )
    expect(found).toMatchObject({
      ok: true,
      fields: { description: 'caf\uFFFD' },
      warnings: [expect.stringContaining('not UTF-8')],
    })
  })

  it('is read or refused, whatever the bytes: nothing is thrown', () => {
    const yamlish = fc.string({
      unit: fc.constantFrom(
        'a',
        ':',
        ' ',
        '\n',
        '-',
        '[',
        ']',
        '{',
        '}',
        '&',
        '*',
        '!',
        '|',
        '>',
        '"',
        "'",
        '#',
        '%',
        '?',
        ',',
        '\t',
      ),
      maxLength: 60,
    })
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 80 }),
      yamlish.map((text) => Buffer.from(`---\n${text}\n---\nb`)),
    )
    fc.assert(
      fc.property(bytes, (given) => {
        const found = readFrontMatter(given)
        return found.ok
          ? typeof found.fields === 'object' && typeof found.body === 'string'
          : found.reason.length > 10 && !found.reason.includes('\n')
      }),
      { numRuns: 3_000 },
    )
  })
})
