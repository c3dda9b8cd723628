import { describe, expect, test } from 'vitest'
import { briefIds } from './brief-ids.ts'
import { type Column, table } from './table.ts'
import { textWidth } from './width.ts'

interface Row {
  readonly id: string
  readonly tokens: string
  readonly text: string
}

const columns: readonly Column<Row>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'TOKENS', cell: (row) => row.tokens, align: 'right', optional: 1 },
  { title: 'TEXT', cell: (row) => row.text, flexible: true },
]
const rows: readonly Row[] = [
  { id: 'task_1', tokens: '12', text: '报告这个文件夹里有什么文件，多少行，多少字' },
  { id: 'task_22', tokens: '1,204', text: 'short' },
]

describe('a table', () => {
  test('cuts only the flexible column, by columns of the terminal', () => {
    const lines = table(columns, rows, { width: 44 })
    expect(lines).toEqual([
      'ID       TOKENS  TEXT',
      'task_1       12  报告这个文件夹里有什么文件…',
      'task_22   1,204  short',
    ])
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(44)
  })

  test('shortens what may be brief before it leaves anything out', () => {
    const ids = ['task_01m8fjr1hgcshxvc0g86yz5df0', 'task_01m8fjr1hgcsh1111111111111', 'mine']
    const brief = briefIds(ids)
    const of = (width: number): string[] =>
      table<string>(
        [
          { title: 'TASK', cell: String, brief },
          { title: 'TOOK', cell: () => '1.0 s', optional: 1 },
        ],
        ids,
        { width },
      )
    expect(of(40)[1]).toBe('task_01m8fjr1hgcshxvc0g86yz5df0  1.0 s')
    expect(of(30)).toEqual([
      'TASK                 TOOK',
      'task_01m8fjr1hgcshx  1.0 s',
      'task_01m8fjr1hgcsh1  1.0 s',
      'mine                 1.0 s',
    ])
    expect(of(20)[2]).toBe('task_01m8fjr1hgcsh1')
    expect(brief(`${ids[0]}.retry-2`)).toBe('task_01m8fjr1hgcshx.retry-2')
  })

  test("shortens an id of one's own as it does others, and keeps it different and its retry readable", () => {
    const long = 'quarterly-report-of-the-north'
    const brief = briefIds([
      long,
      `${long}-and-south`,
      `${long}.retry-1`,
      'mine',
      'task_01m8fjr1hgcshxvc0g86yz5df0',
    ])
    expect([brief('mine'), brief('task_01m8fjr1hgcshxvc0g86yz5df0')]).toEqual(['mine', 'task_01m8fjr1hgcs'])
    expect([brief(long), brief(`${long}-and-south`), brief(`${long}.retry-1`)]).toEqual([
      long,
      `${long}-`,
      `${long}.retry-1`,
    ])
    expect(briefIds([long])(`${long}.retry-1`)).toBe('quarterly-report-of-the-.retry-1')
  })

  test('leaves out optional columns when there is no room', () => {
    expect(table(columns, rows, { width: 36 })[0]).toBe('ID       TEXT')
  })

  test('leaves out the flexible column rather than show one character of it', () => {
    expect(table(columns, rows, { width: 12 })).toEqual(['ID', 'task_1', 'task_22'])
    expect(table(columns, rows, { width: 13 })).toEqual(['ID       TEXT', 'task_1   报…', 'task_22  sho…'])
    expect(table(columns, [{ id: 'task_1', tokens: '', text: 'x' }], { width: 12 })[1]).toBe('task_1  x')
  })

  test('cuts nothing on what is no terminal', () => {
    expect(table(columns, rows, { width: Infinity })[1]).toContain('多少字')
  })

  test('never grows wider than the terminal, however narrow', () => {
    for (let width = 12; width < 90; width++)
      for (const line of table(columns, rows, { width })) expect(textWidth(line)).toBeLessThanOrEqual(width)
  })
})
