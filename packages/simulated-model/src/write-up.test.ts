import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { figureIn, prose } from './page-report.ts'
import { describeFolder } from './write-up.ts'
import type { FileList } from './known.ts'

const list: FileList = { folder: 'x', path: '.', entries: [], entries_left_out: 0 }
const part = (path: string, text: string) => ({ path, text, encoding: 'utf-8' })
const saidOf = (path: string, text: string): string => describeFolder(list, [part(path, text)]).what_it_is
const noteOn = (path: string, text: string): string | undefined =>
  describeFolder(list, [part(path, text)]).notable_files[0]?.note

describe('what a readme says', () => {
  test.each([
    'Set OPENAI_API_KEY and OPENAI_BASE_URL.',
    'It computes 2*3*4 and 2 * 3 * 4.',
    'It keeps a < 5 and b > 7.',
    'It returns List<String> and Map<K, V>.',
    'It has a __init__ method in src/__init__.py.',
    'It matches **/*.ts and **/*.md.',
    'It calls f(*args, **kwargs).',
    'It costs 1_000_000 or 5~10 or 5~~10~~15.',
    'It reads table[0](x) and a[i][j].',
    'It reads C:\\_a\\_b.',
    'Lines 3*4_5*6 are _not closed.',
  ])('is told without a change: %s', (text) =>
    expect(saidOf('README.md', `# T\n\n${text}\n`)).toBe(`T. ${text}`),
  )

  test.each([
    [
      'Inline `OPENAI_API_KEY` and `2*3*4` and `<b>` and ``a`b``.',
      'Inline OPENAI_API_KEY and 2*3*4 and <b> and a`b.',
    ],
    [
      'A *small* and **big** and ***loud*** and _soft_ and __two words__ and ~~old~~ thing.',
      'A small and big and loud and soft and two words and old thing.',
    ],
    ['A **bold *and* nested** thing.', 'A bold and nested thing.'],
    [
      'See [the docs](https://x.example/a_(b)) and <https://y.example>.',
      'See the docs and https://y.example.',
    ],
    ['It is <b>fast</b> and <a href="x">small</a>.<br/> ![logo](a.png)', 'It is fast and small.'],
  ])('is told without its marks: %s', (text, told) =>
    expect(saidOf('README.md', `# T\n\n${text}\n`)).toBe(`T. ${told}`),
  )
})

describe('what a manifest says', () => {
  it('is told as it is', () => {
    expect(saidOf('package.json', '{"name":"x","description":"Needs `A_B_C`, 2*3*4 and <T>."}')).toBe(
      'Needs `A_B_C`, 2*3*4 and <T>.',
    )
    expect(saidOf('Cargo.toml', 'name = "x"\ndescription = "Reads \\"A_B_C\\" and 2*3*4."\n')).toBe(
      'Reads "A_B_C" and 2*3*4.',
    )
    expect(saidOf('pyproject.toml', "description = 'A_B_C'\n")).toBe('A_B_C.')
  })
})

test('the note on a file is its first line, with the "#" that is no heading', () => {
  expect([
    noteOn('x.sh', '#!/bin/sh\n'),
    noteOn('x.c', '#include <a_b_c.h>\n'),
    noteOn('x.md', '## Two\n'),
  ]).toEqual(['#!/bin/sh', '#include <a_b_c.h>', 'Two'])
})

describe('a report', () => {
  it('shows a word that a viewer would take for emphasis as code', () => {
    expect(prose('Computes 2*3*4, with OPENAI_API_KEY and (__init__).')).toBe(
      'Computes `2*3*4`, with OPENAI_API_KEY and (`__init__`).',
    )
  })

  it('keeps the letters and figures of every text', () => {
    const kept = (text: string): string => text.replace(/[\s`\\]/g, '')
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('a', '7', '*', '_', '~', '`', ' ', '(', ')', '[', ']', '.', '|', '<', '中'),
        }),
        (text) => {
          expect(kept(prose(text))).toBe(kept(text))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('takes no other figure from a cell', () => {
    expect(['1,234.50', '-5 %', '1,2', '12,34', '123456789012345678'].map(figureIn)).toEqual([
      1234.5,
      -5,
      null,
      null,
      null,
    ])
  })
})

it('reads a long readme in little time', async () => {
  const work = (): void => {
    for (const unit of ['*a', '_', '`', '``a`', '[', '[a](', '<a ', '<!--', '**a* ', '~~', '!['])
      saidOf('README.md', `# T\n\n${unit.repeat(100_000 / unit.length)}\n`)
  }
  expect(await ownMs(work)).toBeLessThan(5_000)
})
