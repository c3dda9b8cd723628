import { stripVTControlCharacters } from 'node:util'
import type { TaskSummary } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import { styleOf, symbolsOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { keyOf, sortedTasks, topAnswer, topLines, type TopLook, type TopOptions } from './render-top.ts'

const now = Date.parse('2026-11-29T12:00:00Z')
const task = (id: string, more: Partial<TaskSummary> = {}): TaskSummary =>
  ({
    task_id: id,
    session_id: 's',
    status: 'running',
    submitted_at: '2026-11-29T11:59:00Z',
    ended_at: null,
    elapsed_ms: null,
    title: null,
    text: `work of ${id}`,
    input_tokens: 1_000,
    output_tokens: 200,
    cost_usd: 0.01,
    usage_by_model: [
      { provider: 'p', model: 'm', input_tokens: 1, output_tokens: 1, calls: 1, cost_usd: 0.01 },
    ],
    waiting: 0,
    waits_for: null,
    wait: null,
    model: 'small',
    ...more,
  }) as TaskSummary
const sums = { atMs: now, calls: 0, tokens: 0, usd: 0, ended: 0 }
const looked = (tasks: readonly TaskSummary[], more: Partial<TopLook> = {}): TopLook => ({
  atMs: now,
  by_status: { running: tasks.length },
  oldest_submitted_at: null,
  behind: 0,
  daemons: [{ daemon: 'd1', slots: { tasks: 1, tasks_max: 8, threads: 1, threads_max: 2 } }],
  tasks,
  steps: new Map(
    tasks.map((each) => [
      keyOf(each),
      { by: 'clerk', text: 'clerk reads a file', at: '2026-11-29T11:59:55Z' },
    ]),
  ),
  sums,
  ...more,
})
const options: TopOptions = {
  columns: 79,
  rows: 23,
  style: styleOf(false),
  symbols: symbolsOf({ utf8: true, turning: false }),
  now,
  sort: 'state',
  sums: [],
  notice: null,
  foot: 'q quits',
}
const hostile = 'a \u001b]0;t\u0007\u001b[2J\u009b31m\u202egnp\rb'
// oxlint-disable-next-line no-control-regex
const obeyed = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/u

describe('what runs now', () => {
  it('has a line for each figure, and two for each task', () => {
    const lines = topLines(
      looked([task('t1')], {
        by_status: { completed: 4, running: 1, submitted: 2 },
        oldest_submitted_at: '2026-11-29T11:59:30Z',
      }),
      {
        ...options,
        sums: [
          { ...sums, atMs: now - 30_000 },
          { ...sums, calls: 6, tokens: 600, usd: 0.5, ended: 1 },
        ],
      },
    )
    expect(lines.slice(1)).toEqual([
      'tasks   1 running, 2 submitted, 4 completed',
      'queue   2 tasks, the oldest for 30.0 s',
      'slots   1 of 8 used, 1 of 2 threads, 1 daemon',
      'minute  12 calls, 1,200 tokens, $1.00, 2 tasks ended',
      '',
      'TASK  STATUS          AGE  TOKENS   COST  MODEL  REQUEST',
      't1    running  1 min 00 s   1,200  $0.01  small  work of t1',
      '  5.0 s  clerk reads a file',
      '2 more: beaver tasks --status open',
      'q quits',
    ])
  })

  it('says so if nothing runs and no daemon is there', () => {
    const lines = topLines(looked([], { by_status: {}, daemons: [] }), options)
    expect(lines.slice(1)).toEqual([
      'tasks   none yet',
      'queue   empty',
      'slots   no daemon is there',
      '',
      'No task is open.',
      'q quits',
    ])
  })

  it.each([1, 2, 5, 24, 60])('fits %i rows, whatever there is of it', (rows) => {
    const many = looked(
      Array.from({ length: 200 }, (_, i) => task(`t${i}`)),
      { by_status: { running: 10_000 } },
    )
    const lines = topLines(many, { ...options, rows, notice: 'It is away.' })
    expect(lines.length).toBeLessThanOrEqual(rows)
    if (rows >= 24) expect(lines.at(-2)).toMatch(/^9,9\d\d more: beaver tasks --status open$/)
    if (rows >= 24) expect(lines.at(-1)).toBe('q quits')
  })

  it.each([10, 20, 40, 79, 120])('fits %i columns, with wide characters and hostile text', (columns) => {
    const odd = task(`報告${hostile}`, { title: `作業${hostile}`.repeat(9), model: hostile, status: hostile })
    const look = looked([odd, task('t2')], {
      by_status: { running: 2, [hostile]: 1 },
      steps: new Map([[keyOf(odd), { by: hostile, text: `資料${hostile}`.repeat(9), at: 'never' }]]),
      daemons: [{ daemon: hostile, slots: null }],
    })
    const lines = topLines(look, { ...options, columns, notice: hostile })
    for (const line of lines) {
      expect(textWidth(stripVTControlCharacters(line))).toBeLessThanOrEqual(columns)
      expect(line).not.toMatch(obeyed)
    }
  })

  it('is sorted by state, by age, by tokens or by cost', () => {
    const tasks = [
      task('queued', {
        status: 'submitted',
        submitted_at: '2026-11-29T10:00:00Z',
        input_tokens: 0,
        cost_usd: 0,
      }),
      task('asks', { waiting: 1, input_tokens: 9_000 }),
      task('runs', { cost_usd: null, cost_usd_known: 3 }),
    ]
    const ids = (by: 'state' | 'age' | 'tokens' | 'cost'): string[] =>
      sortedTasks(tasks, by).map((each) => each.task_id)
    expect([ids('state'), ids('age')[0], ids('tokens')[0], ids('cost')[0]]).toEqual([
      ['runs', 'asks', 'queued'],
      'queued',
      'asks',
      'runs',
    ])
  })

  it('tells a program the same: each task with its step, and how many are left out', () => {
    const look = looked([task('t1'), task('t2')], { by_status: { running: 5, failed: 1, quarantined: 1 } })
    expect(topAnswer(look, { sort: 'age', limit: 1 })).toMatchObject({
      at: '2026-11-29T12:00:00.000Z',
      queue_age_ms: null,
      tasks: [{ task_id: 't1', step: { by: 'clerk', text: 'clerk reads a file' } }],
      tasks_left_out: 4,
    })
  })
})
