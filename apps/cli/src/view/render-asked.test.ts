import { describe, expect, test } from 'vitest'
import { plainText } from '../text/plain-text.ts'
import { styleOf, symbolsOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { askedLines, type ShownCall } from './render-asked.ts'

const call = (callId: string, more: Partial<ShownCall> = {}): ShownCall => ({
  runId: 'run_1',
  callId,
  agent: 'root',
  tool: 'run_command',
  subject: 'rm -rf build',
  callHash: null,
  preview: null,
  ...more,
})
const surface = (columns = 100) => ({
  columns,
  style: styleOf(false),
  symbols: symbolsOf({ utf8: true, turning: false }),
})
const lines = (calls: readonly ShownCall[], columns?: number): string[] =>
  askedLines({ taskId: 'task_1', command: 'beaver', calls }, surface(columns))

describe('a call that waits', () => {
  test('is shown with the commands that answer; the only one needs no name', () => {
    expect(lines([call('call_9')])).toEqual([
      '? root asks to call run_command: rm -rf build',
      '  allow: beaver approve task_1   refuse: beaver deny task_1',
    ])
  })

  test('is named when several wait, with its run where ids are equal', () => {
    expect(lines([call('a'), call('b')])[1]).toBe(
      '  allow: beaver approve task_1 a   refuse: beaver deny task_1 a',
    )
    expect(lines([call('a'), call('a', { runId: 'run_2' })])[3]).toBe(
      '  allow: beaver approve task_1 run_2/a   refuse: beaver deny task_1 run_2/a',
    )
  })

  test('cannot put a command of its own into the one a person copies', () => {
    expect(lines([call('x; rm -rf ~'), call("it's $(x)")])[1]).toContain(
      "beaver approve task_1 'x; rm -rf ~'",
    )
    expect(lines([call('x'), call("it's $(x)")])[3]).toContain(`beaver approve task_1 'it'\\''s $(x)'`)
  })

  test('cannot move the cursor, and fits the terminal however long what it asks, except for commands, which are whole', () => {
    const asked = [
      call('a', { subject: `\u001B[2J${'长'.repeat(900)}`, agent: 'ag\rent' }),
      call('b'),
      call('c'),
      call('d'),
    ]
    for (const columns of [20, 60, 80]) {
      const shown = lines(asked, columns)
      expect(shown.length).toBeLessThanOrEqual(3 * 6 + 1)
      const [commands, others] = [
        shown.filter((line) => line.includes('beaver ')),
        shown.filter((line) => !line.includes('beaver ')),
      ]
      for (const line of others) expect(textWidth(line)).toBeLessThanOrEqual(columns)
      expect(
        commands.filter((line) => line.includes('allow:') && /beaver approve task_1 [abc]\b/.test(line)),
      ).toHaveLength(3)
      expect(commands.at(-1)).toMatch(/beaver approve task_1$/)
      expect(plainText(shown.join(''))).toBe(shown.join(''))
    }
    expect(lines(asked).at(-1)).toContain('and 1 more')
  })
})
