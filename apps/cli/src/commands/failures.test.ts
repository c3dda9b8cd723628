import type { QueryOutput } from '@beaver/contracts'
import { expect, it } from 'vitest'
import { styleOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { failuresTable } from './failures.ts'

type Groups = QueryOutput<'failures'>['groups']
const now = Date.parse('2026-11-29T12:00:00Z')
const group = (more: Partial<Groups[number]>): Groups[number] =>
  ({
    failure_class: 'tool_timeout',
    pattern: 'read_file took <n> s.',
    message: 'read_file took 9 s.',
    tasks: 3,
    first_at: '2026-11-28T08:00:00Z',
    last_at: '2026-11-29T11:00:00Z',
    task_ids: ['task_01m8mar5xg01a767m94jytavra'],
    mostly: [{ kind: 'workflow', name: 'map', tasks: 3 }],
    ...more,
  }) as Groups[number]
const groups = [
  group({}),
  group({
    failure_class: 'provider_refused',
    tasks: 1,
    pattern: `報告${' too long'.repeat(40)}`,
    mostly: [],
  }),
  group({ tasks: 996, pattern: 'a \u001b]0;t\u0007\u001b[2Jb', task_ids: [], mostly: [] }),
]
const tableIn = (columns: number): string[] =>
  failuresTable({ tasks: 1_000, groups }, { columns, style: styleOf(false) }, { now, command: 'beaver' })

it('has the number, the share, both times, the message and the command for the newest task', () => {
  const lines = tableIn(80)
  expect(lines[0]).toMatch(/^TASKS  SHARE  CLASS +FIRST +LAST +MOSTLY$/)
  expect(lines[1]).toMatch(/^    3    <1%  tool_timeout +2026-11-2[789] \d\d:\d\d +\d\S+(?: \d\S+)? +work/)
  expect(lines.slice(2, 4)).toEqual(['       read_file took <n> s.', '       beaver show task_01m8mar5xg01'])
  expect(lines.slice(7)).toEqual([expect.stringMatching(/^  996    99%/), '       a b'])
})

it.each([40, 60, 80, 120])('fits %i columns, without what a terminal obeys', (columns) => {
  for (const line of tableIn(columns)) {
    expect(textWidth(line)).toBeLessThanOrEqual(columns)
    // oxlint-disable-next-line no-control-regex
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/u)
  }
})

it('has whole ids where nothing is cut', () => {
  expect(tableIn(Infinity)[3]).toContain('beaver show task_01m8mar5xg01a767m94jytavra')
})
