import { describe, expect, it, test } from 'vitest'
import { compare, differencesFrom, figureIn } from './page-report.ts'
import { blocksOf, openingOf, pageIn, pageOf, tablesIn, withHeadingsAt } from './pages.ts'

const filing = (company: string, rows: readonly string[], unit = 'million') =>
  pageOf(
    `https://x.example/${company}`,
    `# Results of ${company}\n\n- Company: ${company}\n- Unit: ${unit}\n\n| Metric | FY1 | FY0 |\n|---|--:|---|\n${rows.map((row) => `| ${row} | 0 |`).join('\n')}\n`,
  )

describe('a page', () => {
  it('is a result with a text and a URL or a path, and nothing else', () => {
    expect(pageIn('{"url":"https://x.example/a","title":"T","text":"# H\\n\\nB"}')).toMatchObject({
      title: 'T',
      source: 'https://x.example/a',
      body: 'B',
    })
    expect(pageIn('{"path":"a.md","text":"B","bytes":1}')).toMatchObject({
      title: 'a.md',
      source: 'a.md',
      body: 'B',
    })
    for (const other of ['text', '{"path":"logo.png","text":null}', '{"text":"no source"}', '[]'])
      expect(pageIn(other)).toBeNull()
  })

  it('has facts, and takes neither a URL nor a time for one', () => {
    const { facts } = pageOf(
      'a',
      '- Unit: million\n期间：全年\nhttps://x.example/a\nAt 09:40 it began\n| a: b | c |\n',
    )
    expect(facts).toEqual([
      { label: 'Unit', value: 'million' },
      { label: '期间', value: '全年' },
    ])
  })

  it('has tables, with the text they stand in', () => {
    expect(tablesIn('x\n| a | b \\| c |\n|---|---|\n| 1 | 2 |\n\n| no | rule |\n')).toEqual([
      { head: ['a', 'b | c'], rows: [['1', '2']], text: '| a | b \\| c |\n|---|---|\n| 1 | 2 |' },
    ])
  })

  test.each([
    ['One. Two is 2.5 long! Three?', 'One. Two is 2.5 long!'],
    ['# H\n\n- list\n\n> quote\n\nUnit: x\n\nIn the end.', 'In the end.'],
    ['第一句。第二句！第三句。', '第一句。第二句！'],
    ['At 09:40 it began', 'At 09:40 it began'],
    ['- only\n- lists', ''],
  ])('of %j opens with %j', (text, opening) => expect(openingOf(pageOf('a', text), 2)).toBe(opening))
})

describe('pages side by side', () => {
  it('have the rows all of them have, each cell as it stands there, and name the others', () => {
    expect(
      compare([
        filing('A', ['Revenue | 1,000', 'Share | 5%']),
        filing('B', ['Stores | 3', 'Revenue | 20.50']),
      ]),
    ).toEqual({
      subjects: ['A', 'B'],
      label: 'Metric',
      column: 'FY1',
      rows: [{ label: 'Revenue', values: ['1,000', '20.50'] }],
      facts: [{ label: 'Unit', values: ['million', 'million'] }],
      alone: [
        { subject: 'A', label: 'Share' },
        { subject: 'B', label: 'Stores' },
      ],
    })
  })

  it('say what they differ in', () => {
    expect(compare([filing('A', ['R | 1']), filing('B', ['R | 2'], 'thousand')])?.facts).toEqual([
      { label: 'Unit', values: ['million', 'thousand'] },
    ])
  })

  it('are none without a row in common, for one page, or for the same page twice', () => {
    expect(compare([filing('A', ['R | 1']), filing('B', ['S | 1'])])).toBeNull()
    expect(compare([filing('A', ['R | 1'])])).toBeNull()
    expect(compare([filing('A', ['R | 1']), filing('A', ['R | 1'])])).toBeNull()
  })

  it('show where a received table differs from them', () => {
    const comparison = compare([filing('A', ['R | 1']), filing('B', ['R | 2'])])!
    const received = (cells: string) => tablesIn(`| Metric | A | B |\n|---|---|---|\n| R | ${cells} |`)
    expect(differencesFrom(comparison, received('1 | 2'))).toEqual([])
    expect(differencesFrom(comparison, received('1 | 3'))).toEqual(['B, R: 3 ≠ 2'])
    expect(differencesFrom(comparison, tablesIn('| other | C |\n|---|---|\n| R | 1 |'))).toBeNull()
  })
})

test.each([
  ['10,480', 10_480],
  ['-5.5', -5.5],
  ['27.0%', 27],
  ['about 5', null],
  ['', null],
])('the cell %j is the figure %j', (cell, figure) => expect(figureIn(cell)).toBe(figure))

test('headings move together, and those in fences stay', () => {
  expect(withHeadingsAt(3, '# A\n\n## B\n\n```sh\n# C\n```\n')).toBe('### A\n\n#### B\n\n```sh\n# C\n```\n')
})

test('blocks are parted by blank lines outside of fences', () => {
  expect(blocksOf('a\nb\n\n```\nc\n\nd\n```\n\n\ne')).toEqual(['a\nb', '```\nc\n\nd\n```', 'e'])
})
