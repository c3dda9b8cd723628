import type { NodeAnswer, NodeDetail, RunAnswer, TaskAnswer, TeamAnswer } from '@beaver/contracts'
import { expect, test } from 'vitest'
import { styleOf, symbolsOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { mergePages } from './show.ts'
import { nodeLines } from './show-node.ts'

const surface = {
  columns: 80,
  style: styleOf(false),
  symbols: symbolsOf({ utf8: true, turning: false }),
  interactive: false,
}
const run = {
  run_id: 'run_1',
  model: 'small',
  input_tokens: 20,
  output_tokens: 10,
  calls: 2,
  skills: [],
} as unknown as RunAnswer
const node = {
  node_id: 'check',
  status: 'failed',
  depends_on: ['gather'],
  tool: null,
  operation: null,
  evidence: [],
  failure: { class: 'evidence_missing', message: 'The tool read_file was not called.' },
  duration_ms: 900,
  run,
} as unknown as NodeAnswer
const detail = {
  task_id: 'task_1',
  team_run_id: 'team_2',
  other_team_run_ids: ['team_1'],
  workflow: 'GraphWorkflow',
  node,
  input: 'Check it.\u001B[2J',
  input_chars: 9,
  output: 'All is well.',
  output_chars: 30_000,
  calls: [
    {
      kind: 'model',
      taskseq: 9,
      purpose: 'answer',
      success: true,
      model: 'small',
      duration_ms: 40,
      input_tokens: 10,
      output_tokens: 5,
      text: null,
      finish_reason: 'tool_calls',
      failure: null,
    },
    {
      kind: 'tool',
      taskseq: 9,
      tool: 'list_files',
      arguments: '{"path":"."}',
      duration_ms: 7,
      success: false,
      error: 'not_found',
      result: '长'.repeat(200),
      result_chars: 200,
    },
  ],
  more: false,
} as unknown as NodeDetail

test('a usage has its parts, in all and for each call', () => {
  const parts = { cached_input_tokens: 9, cache_write_tokens: 1, reasoning_tokens: 4 }
  const calls = detail.calls.map((call) => (call.kind === 'model' ? { ...call, ...parts } : call))
  const lines = nodeLines(
    { ...detail, node: { ...node, run: { ...run, ...parts } }, calls },
    surface,
    'beaver',
  )
  expect(lines[8]).toBe(
    'Usage      30 tokens (20 in, 10 out; 45% of the input from a cache, 1 written to a cache, 4 of the output thoughts) in 2 calls',
  )
  expect(lines.find((line) => line.includes('10 in'))).toContain(
    '10 in, 5 out; 90% of the input from a cache',
  )
})

test('a node is shown with its input, its calls and its output, and where it is cut the command for the whole text', () => {
  const lines = nodeLines(detail, surface, 'beaver')
  expect(lines).toEqual([
    'Node       check of GraphWorkflow',
    'Task       task_1',
    'Team run   team_2 (also in team_1: --team <id> shows it)',
    'Status     failed (evidence_missing: The tool read_file was not called.)',
    'Run        run_1',
    'Model      small',
    'After      gather',
    'Took       0.9 s',
    'Usage      30 tokens (20 in, 10 out) in 2 calls',
    '',
    'Input',
    'Check it.',
    '',
    'Calls (2)',
    '  #9 ✔ small  0.0 s  10 in, 5 out  finish reason tool_calls',
    expect.stringMatching(/^  #9 ✖ list_files \{"path":"\."\}  0\.0 s  not_found  200 characters: 长+…$/),
    '',
    'Output',
    'All is well.',
    '(30,000 characters; the whole text: beaver events task_1 --node check --json)',
  ])
  expect(textWidth(lines[15] ?? '')).toBeLessThanOrEqual(80)
})

test('the pages of a task are joined: each node once, in declared order, what a later page says', () => {
  const page = (indexes: readonly number[], status: string): TaskAnswer => {
    const nodes = indexes.map(
      (n) => ({ node_id: `n${n}`, declared_index: n, status, run: null }) as unknown as NodeAnswer,
    )
    const team = { team_run_id: 'team', nodes } as unknown as TeamAnswer
    return { runs: [{ run_id: 'root', teams: [team] }], teams: [] } as unknown as TaskAnswer
  }
  const merged = mergePages(
    mergePages(page([0, 1, 9], 'running'), page([2, 3], 'running')),
    page([8, 9], 'completed'),
  )
  expect(merged.runs).toHaveLength(1)
  expect(merged.runs[0]?.teams[0]?.nodes.map((each) => `${each.node_id} ${each.status}`)).toEqual([
    'n0 running',
    'n1 running',
    'n2 running',
    'n3 running',
    'n8 completed',
    'n9 completed',
  ])
})

test('a call without a result says what it waits for', () => {
  const call = {
    kind: 'tool',
    taskseq: 12,
    tool: 'write_file',
    call_id: 'c1',
    arguments: '{}',
    result: null,
    result_chars: 0,
    success: null,
    error: null,
    duration_ms: null,
  }
  const calls = [
    { ...call, waits_for_call_id: 'c1' },
    { ...call, tool: 'read_file', call_id: 'c2', waits_for_call_id: 'c1' },
    { ...call, tool: 'echo', call_id: 'c3' },
    { ...call, tool: 'colour', call_id: 'c4', waits_for_call_id: 'c4', waits_for_client: true },
    { ...call, tool: 'deploy', call_id: 'c5', waits_for_call_id: 'c4', waits_for_client: true },
  ] as unknown as NodeDetail['calls']
  const lines = nodeLines({ ...detail, calls } as unknown as NodeDetail, surface, 'beaver').join('\n')
  expect(lines).toMatch(
    /write_file \{\} {2}waits for your approval\n.*read_file \{\} {2}waits until you decide about write_file \(c1\)\n.*echo \{\} {2}no result yet\n.*colour \{\} {2}waits for the client\n.*deploy \{\} {2}waits until the client has made colour \(c4\)/,
  )
})
