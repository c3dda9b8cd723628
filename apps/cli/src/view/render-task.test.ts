import { describe, expect, test } from 'vitest'
import * as log from '../../test/task-events.ts'
import { plainText } from '../text/plain-text.ts'
import { styleOf, symbolsOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { renderTask, type TaskOptions } from './render-task.ts'
import { foldView, type TaskView } from './task-view.ts'

const options: TaskOptions = {
  now: log.startedAt + 2_000,
  columns: 90,
  rows: 24,
  frame: 0,
  foot: 'Ctrl-C stops watching',
  notice: null,
  style: styleOf(false),
  symbols: symbolsOf({ utf8: true, turning: true }),
}
const draw = (view: TaskView, changed: Partial<TaskOptions> = {}): string[] => renderTask(view, { ...options, ...changed })
const atWork = (): TaskView => foldView(log.recorded(log.teamAtWork))

/** A team of `n`, of which the first runs. */
const wide = (n: number): TaskView =>
  foldView(
    log.recorded([...log.teamAtWork.slice(0, 5), log.teamStarted(...Array.from({ length: n }, (_, i) => `agent 代理 ${i}`)), log.nodeStarted('agent 代理 0')]),
  )

describe('the live view', () => {
  test('is a tree with state, tool, time and tokens', () => {
    expect(draw(atWork())).toEqual([
      'Report on this folder',
      'task_1 · simulated model (beaver-simulated-1) · 2.0 s · 4,000 tokens',
      '',
      '⠋ root           acting      SequentialWorkflow                        1.8 s  1,000 tokens',
      '└─ SequentialWorkflow  1 of 3 agents completed',
      '   ├─ ✔ collect  completed   1 tool call                               0.7 s  2,000 tokens',
      '   ├─ ⠋ count    acting      file_stats                                0.6 s  1,000 tokens',
      '   └─ · write    waiting     for count',
      '',
      'Ctrl-C stops watching',
    ])
  })

  test('is never larger than the terminal, whatever its size and however many agents', () => {
    for (const view of [atWork(), wide(200)]) {
      for (const columns of [10, 20, 35, 50, 79, 140]) {
        for (const rows of [1, 3, 8, 12, 40]) {
          const lines = draw(view, { columns, rows, notice: '通知 something is wrong' })
          expect(lines.length).toBeLessThanOrEqual(rows)
          for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns)
        }
      }
    }
  })

  test('counts the agents that do not fit, and keeps those at work', () => {
    const lines = draw(wide(50), { rows: 14 })
    expect(lines.join('\n')).toContain('agent 代理 0')
    expect(lines.join('\n')).toMatch(/… 4\d more agents: 4\d waiting/)
  })

  test('gives up columns from the least important on', () => {
    const at = (columns: number): string => draw(atWork(), { columns }).find((line) => line.includes('count')) ?? ''
    expect(at(64)).toMatch(/acting +file_stats +0\.6 s +1,000 tokens$/)
    expect(at(50)).toMatch(/acting +file_stats +0\.6 s$/)
    expect(at(42)).toMatch(/acting +file_stats$/)
    expect(at(24)).toMatch(/count$/)
  })

  test('has no colour and nothing that turns when it may not', () => {
    const still = draw(atWork(), { symbols: symbolsOf({ utf8: true, turning: false }), frame: 3 })
    expect(still[3]).toMatch(/^▸ root/)
    expect(plainText(still.join('\n'))).toBe(still.join('\n'))
  })

  test('cannot be disturbed by what a task or an agent is called', () => {
    const view = foldView(log.recorded([log.submitted('evil \u001B[2J\ntask'), ...log.teamAtWork.slice(1)]))
    expect(draw(view)[0]).toBe('evil task')
  })

  test('says what it waits for while nothing runs', () => {
    expect(draw(foldView(log.recorded([log.submitted()]))).join('\n')).toContain('Waiting for a supervisor daemon')
  })
})
