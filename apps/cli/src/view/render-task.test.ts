import { event } from '@beaver/core'
import type { TaskView } from '@beaver/core/task-view'
import { describe, expect, test } from 'vitest'
import * as log from '../../test/task-events.ts'
import { plainText } from '../text/plain-text.ts'
import { styleOf, symbolsOf } from '../text/style.ts'
import { rowsOf, textWidth } from '../text/width.ts'
import { liveText } from './live-text.ts'
import { renderTask, type TaskOptions } from './render-task.ts'

const options: TaskOptions = {
  now: log.startedAt + 2_000,
  columns: 90,
  rows: 24,
  frame: 0,
  foot: 'Ctrl-C stops watching',
  notice: null,
  command: 'beaver',
  style: styleOf(false),
  symbols: symbolsOf({ utf8: true, turning: true }),
}
const draw = (view: TaskView, changed: Partial<TaskOptions> = {}): string[] =>
  renderTask(view, { ...options, ...changed })
const atWork = (): TaskView => log.foldView(log.recorded(log.teamAtWork))

/** A team of `n` nodes, of which the first one runs. */
const wide = (n: number): TaskView =>
  log.foldView(
    log.recorded([
      ...log.teamAtWork.slice(0, 5),
      log.teamStarted(...Array.from({ length: n }, (_, i) => `agent 代理 ${i}`)),
      log.nodeStarted('agent 代理 0'),
    ]),
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

  test('says whole how much of the evidence is there, whatever the width', () => {
    const view = atWork()
    const [collect] = view.root?.teams[0]?.nodes ?? []
    if (collect !== undefined) collect.evidence = { passed: 12, failed: 0, notChecked: 0 }
    for (let columns = 40; columns < 100; columns++)
      expect(draw(view, { columns }).join('\n')).toContain('evidence 12/12')
  })

  test('shows the last words of what an agent is saying, under it, and nothing that moves the cursor', () => {
    const events = [...log.teamAtWork, log.result('run_count', 'file_stats')]
    const said = liveText()
    const text = 'First line.\n\nThe files are \u001B[2J counted now,\tone after the other, and 中文 too.'
    said.update({ run_id: 'run_count', agent_name: 'count', node_id: 'count', call: 2, offset: 0, text })
    expect(draw(log.foldView(log.recorded(events)), { liveTexts: said, columns: 60 }).slice(5, 10)).toEqual([
      '   ├─ ✔ collect  1 tool call             0.7 s  2,000 tokens',
      '   ├─ ⠋ count    thinking, 1 tool call   0.6 s  1,000 tokens',
      '   │     › First line.',
      '   │     › The files are  counted now, one after the other,',
      '   │     › and 中文 too.',
    ])
  })

  test('shows how far the calls of an agent are, under it', () => {
    const said = liveText()
    const at = log.recorded([...log.teamAtWork])
    for (const each of at) said.event(each)
    const of = {
      run_id: 'run_count',
      agent_name: 'count',
      node_id: 'count',
      call_id: 'run_count.file_stats',
      tool_name: 'file_stats',
    }
    said.update({ ...of, progress: 30, total: 60, message: 'src\u001B[2J/loop' })
    expect(draw(log.foldView(at), { liveTexts: said, columns: 60 })).toContain(
      '   │     › file_stats 50% · src/loop',
    )
  })

  test('is never larger than the terminal with words and questions either, and gives up words first', () => {
    const asked = event(
      'approval_requested',
      { call_id: 'run_count.file_stats', tool_name: 'file_stats', subject: '长'.repeat(300), rule: null },
      'run_count',
    )
    const view = log.foldView(
      log.recorded([
        ...log.teamAtWork,
        log.nodeStarted('write'),
        log.runStarted('run_write', 'write', 'write'),
        log.told('run_write'),
        asked,
      ]),
    )
    const said = liveText()
    said.update({
      run_id: 'run_write',
      agent_name: 'write',
      node_id: 'write',
      call: 1,
      offset: 0,
      text: '长 words '.repeat(300),
    })
    for (const rows of [14, 15, 16, 17, 18, 30])
      expect(draw(view, { columns: 79, rows, liveTexts: said }).at(-1)).toBe('Ctrl-C stops watching')
    for (const columns of [10, 20, 35, 50, 79, 140]) {
      for (const rows of [1, 3, 8, 12, 40]) {
        const lines = draw(view, { columns, rows, liveTexts: said })
        expect(lines.reduce((sum, line) => sum + rowsOf(line, columns), 0)).toBeLessThanOrEqual(rows)
        for (const line of lines.filter((each) => !each.includes('beaver ')))
          expect(textWidth(line)).toBeLessThanOrEqual(columns)
      }
    }
  })

  test('says who asks for what, and what to type', () => {
    const asked = event(
      'approval_requested',
      { call_id: 'run_count.file_stats', tool_name: 'file_stats', subject: 'src', rule: null },
      'run_count',
    )
    const lines = draw(log.foldView(log.recorded([...log.teamAtWork, asked])))
    expect(lines[6]).toBe(
      '   ├─ ? count    asks you    file_stats: src                           0.6 s  1,000 tokens',
    )
    expect(lines.slice(-3)).toEqual([
      '? count asks to call file_stats: src',
      '  allow: beaver approve task_1   refuse: beaver deny task_1',
      'Ctrl-C stops watching',
    ])
    const granted = event('approval_granted', { call_id: 'run_count.file_stats', by: 'anna' }, 'run_count')
    expect(draw(log.foldView(log.recorded([...log.teamAtWork, asked, granted]))).join('\n')).not.toMatch(
      /asks|allow/,
    )
  })

  test('says for which budget the task waits, and what to type', () => {
    const exceeded = event(
      'budget_exceeded',
      {
        ...{ budget: { of: 'task', per: 'run' }, measure: 'usd', limit: 1, used: 0.9, needed: 0.2 },
        ...{ spent_by: [{ agent_name: 'count', node_id: 'count', used: 0.9 }], wait_ms: 60_000 },
      },
      'run_count',
    )
    const view = log.foldView(log.recorded([...log.teamAtWork, exceeded]))
    expect(draw(view, { columns: 140 }).slice(-4)).toEqual([
      '? The task waits: the budget of the task has no place for the next call (used 0.90 of 1.00 USD, needed up to 0.20 USD).',
      '  Most was used by count (0.90 USD).',
      '  give more: beaver budget raise task_1 --usd 0.20   stop: beaver cancel task_1',
      'Ctrl-C stops watching',
    ])
  })

  test('counts the agents that do not fit, and keeps those at work', () => {
    const lines = draw(wide(50), { rows: 14 })
    expect(lines.join('\n')).toContain('agent 代理 0')
    expect(lines.join('\n')).toMatch(/… 4\d more agents: 4\d waiting/)
  })

  test('folds a long list: those at work or in trouble, a count of the others, however high the terminal', () => {
    const ids = Array.from({ length: 100 }, (_, i) => `item ${i}`)
    const nodes = [...ids.map((id) => log.agentNode(id)), log.agentNode('collect', ids)]
    const begun = ids.slice(0, 18).flatMap((id) => [log.nodeStarted(id), log.runStarted(`run_${id}`, id, id)])
    const view = log.foldView(
      log.recorded([
        ...log.teamAtWork.slice(0, 5),
        log.graphStarted({
          workflow: 'ConcurrentWorkflow',
          task: 't',
          nodes,
          outputs: ['collect'],
          output: 'collect',
        }),
        ...begun,
        log.nodeFailed('item 3', 'No list.'),
        ...ids.slice(4, 14).map(log.nodeCompleted),
      ]),
    )
    const lines = draw(view, { rows: 500 })
    expect(lines[4]).toBe('└─ ConcurrentWorkflow  10 of 101 agents completed, 1 failed')
    expect(lines.slice(5, -2).map((line) => line.slice(0, 22).trimEnd())).toEqual(
      [
        '   ├─ ✖ item 3   failed',
        ...[0, 1, 2].map((i) => `   ├─ ⠋ item ${i}   assembli`.slice(0, 22)),
        ...[14, 15, 16, 17].map((i) => `   ├─ ⠋ item ${i}  assembl`.slice(0, 22)),
        '   └─ … 93 more agents: 1',
      ].map((line) => line.slice(0, 22).trimEnd()),
    )
    expect(lines.at(-3)).toBe('   └─ … 93 more agents: 10 completed, 83 waiting')
  })

  test('a long list that has ended shows a few, those that failed among them', () => {
    const ids = Array.from({ length: 60 }, (_, i) => `n${i}`)
    const ended = [...ids.slice(0, -1).map(log.nodeCompleted), log.nodeFailed('n59', 'No list.')]
    const lines = draw(
      log.foldView(log.recorded([...log.teamAtWork.slice(0, 5), log.teamStarted(...ids), ...ended])),
      { rows: 500 },
    )
    expect(lines.filter((line) => line.includes('✖ n59')).length).toBe(1)
    expect(lines.filter((line) => /[├└]─ [✔✖]/.test(line))).toHaveLength(8)
    expect(lines.join('\n')).toContain('… 52 more agents: 52 completed')
  })

  test('says why something failed before what it used', () => {
    const message = 'The tool recount_files was not called, and no other tool was.'
    const line = draw(log.foldView(log.recorded([...log.teamAtWork, log.nodeFailed('count', message)]))).find(
      (each) => each.includes('✖'),
    )
    expect(line).toBe(`   ├─ ✖ count    failed      ${message}`)
  })

  test('a waiting node names what it waits for that has not ended, or counts it, and a place when it is only that', () => {
    const nodes = [
      ...['a', 'b', 'c', 'd', 'e'].map((id) => log.agentNode(id)),
      log.agentNode('two', ['a', 'b']),
      log.agentNode('four', ['a', 'b', 'c', 'd', 'e']),
      { ...log.agentNode('some', ['a', 'b']), quorum: 1 },
    ]
    const graph = { workflow: 'GraphWorkflow', task: 't', nodes, outputs: ['two'], output: 'two' }
    const view = log.foldView(
      log.recorded([
        ...log.teamAtWork.slice(0, 5),
        log.graphStarted(graph),
        log.nodeStarted('a'),
        log.nodeCompleted('a'),
      ]),
    )
    const of = (name: string): string | undefined =>
      new RegExp(`· ${name} +waiting +(.*)`).exec(draw(view).join('\n'))?.[1]
    expect([of('b'), of('two'), of('four'), of('some')]).toEqual([
      'for a free place',
      'for b',
      'for 4 of 5 nodes',
      'for b; 1 of 2 will do',
    ])
  })

  test('a task that is a workflow is its team: computed, skipped, grown, noted, blocked', () => {
    expect(draw(log.foldView(log.recorded(log.workflowAtWork)))).toEqual([
      'Report on this folder',
      'task_1 · 2.0 s',
      '',
      'workflow:map  1 of 7 nodes completed, 1 skipped, 1 failed, 1 blocked; grew by 1; 1 note',
      '├─ ✔ split   completed   computed ["x","y"]',
      '├─ · item    waiting     for a free place',
      '├─ ⠋ find    acting      file_stats                                    1.0 s',
      '├─ ↷ branch  skipped     The condition does not hold.',
      '├─ ✖ broken  failed      No code for this.',
      '├─ ⊘ behind  blocked     by broken',
      '└─ · end     waiting     for item, find; 1 of 3 will do',
      '',
      'Ctrl-C stops watching',
    ])
  })

  test('a task that is a workflow says that it starts', () => {
    const lines = draw(log.foldView(log.recorded(log.workflowAtWork.slice(0, 2))))
    expect(lines).toContain('workflow:map starts …')
  })

  test('gives up columns from the least important on', () => {
    const at = (columns: number): string =>
      draw(atWork(), { columns }).find((line) => line.includes('count')) ?? ''
    expect(
      [80, 64, 50, 42, 24].map((columns) =>
        at(columns)
          .replace(/^ +├─ ⠋ count +/, '')
          .replaceAll(/ {2,}/g, '  '),
      ),
    ).toEqual([
      'acting  file_stats  0.6 s  1,000 tokens',
      'file_stats  0.6 s  1,000 tokens',
      'file_stats  0.6 s',
      'file_stats  0.6 s',
      '  ├─ ⠋ count',
    ])
  })

  test('has no colour and nothing that turns when it may not', () => {
    const still = draw(atWork(), { symbols: symbolsOf({ utf8: true, turning: false }), frame: 3 })
    expect(still[3]).toMatch(/^▸ root/)
    expect(plainText(still.join('\n'))).toBe(still.join('\n'))
  })

  test('cannot be disturbed by what a task or an agent is called', () => {
    const view = log.foldView(
      log.recorded([log.submitted('evil \u001B[2J\ntask'), ...log.teamAtWork.slice(1)]),
    )
    expect(draw(view)[0]).toBe('evil task')
  })

  test('says what it waits for while nothing runs', () => {
    expect(draw(log.foldView(log.recorded([log.submitted()]))).join('\n')).toContain('Waiting for a daemon')
  })
})

test('a command that answers is whole on a narrow terminal, and the frame still fits it', () => {
  const asked = event(
    'approval_requested',
    { call_id: 'run_count.file_stats', tool_name: 'file_stats', subject: 'src', rule: null },
    'run_count',
  )
  const view = log.foldView(log.recorded([...log.teamAtWork, asked]))
  for (const [columns, rows] of [
    [30, 24],
    [40, 12],
    [60, 10],
  ] as const) {
    const lines = draw(view, { columns, rows, command: '../../some/where/beaver/bin/beaver' })
    expect(lines.some((line) => line.includes('../../some/where/beaver/bin/beaver approve task_1'))).toBe(
      true,
    )
    expect(lines.reduce((sum, line) => sum + rowsOf(line, columns), 0)).toBeLessThanOrEqual(rows)
  }
})
