import { describe, expect, test } from 'vitest'
import type { NodeAnswer, RunAnswer, TaskAnswer, TeamAnswer } from '../answers.ts'
import { styleOf, symbolsOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { taskLines } from './show.ts'

const run: RunAnswer = {
  agent_name: 'x',
  status: 'completed',
  started_at: '',
  duration_ms: 1_500,
  tool_calls: 0,
  tool_calls_failed: 0,
  restarts: 0,
  input_tokens: 10,
  output_tokens: 5,
  skills: [],
  failure: null,
  teams: [],
}
const node = (node_id: string, status: string, more: Partial<NodeAnswer> = {}): NodeAnswer => ({
  node_id,
  status,
  kind: 'agent',
  depends_on: [],
  added_after: null,
  tool: null,
  operation: null,
  duration_ms: null,
  evidence_passed: null,
  evidence: [],
  failure: null,
  cause_node_id: null,
  skip_reason: null,
  cancel_reason: null,
  output: null,
  output_chars: null,
  run: null,
  ...more,
})
const team: TeamAnswer = {
  workflow: 'workflow:map',
  status: 'incomplete',
  message: null,
  node_count: 8,
  node_count_at_start: 7,
  diagnostics: [{ taskseq: 34, node_id: 'item', code: 'unknown_member', message: 'Nobody is called z.' }],
  shared_state: { seen: 2 },
  shared_state_changes: 2,
  nodes: [
    node('split', 'completed', { kind: 'code', operation: 'map', output: '["x"]', output_chars: 5 }),
    node('find', 'completed', { kind: 'tool', tool: 'file_stats', run: { ...run, input_tokens: 0, output_tokens: 0, tool_calls: 1 } }),
    node('branch', 'skipped', { skip_reason: 'The condition does not hold.' }),
    node('stop', 'cancelled', { cancel_reason: 'not needed', failure: { class: 'cancelled', message: 'not needed' }, run }),
    node('late', 'running', { cancel_reason: 'not needed', run: { ...run, duration_ms: null, status: 'thinking' } }),
    node('broken', 'failed', { failure: { class: 'internal', message: 'No code for this.' } }),
    node('tail', 'blocked', { cause_node_id: 'stop' }),
    node('item', 'completed', { added_after: 'split', run }),
  ],
}
const answer: TaskAnswer = {
  task: {
    task_id: 't1',
    session_id: 's',
    status: 'incomplete',
    text: 'Map the list',
    skill: null,
    submitted_at: null,
    elapsed_ms: null,
    agents: 1,
    input_tokens: 10,
    output_tokens: 5,
    calls: 1,
    provider: null,
    model: null,
    simulated: null,
    failure: null,
    chain_ok: true,
    workspace: null,
    daemon: null,
    claims: 1,
    cancel_reason: null,
    workflow: 'workflow:map',
    profile: null,
    epoch: 1,
    last_taskseq: 40,
    head_hash: 'a'.repeat(64),
  },
  runs: [],
  teams: [team],
  more: false,
  outputs: [
    { node_id: 'item', output: 'what item made', output_chars: 14 },
    { node_id: 'end', output: '', output_chars: 0 },
  ],
  final_output: '',
  final_output_chars: 0,
  failures: [],
  chain_ok: true,
  findings: [],
}
const screen = (columns: number) => ({ columns, style: styleOf(false), symbols: symbolsOf({ utf8: true, turning: false }), interactive: false })
const section = (title: string, lines: readonly string[]): string[] => {
  const from = lines.indexOf(title) + 1
  const to = lines.indexOf('', from)
  return lines.slice(from, to === -1 ? undefined : to)
}

describe('a task that is a workflow', () => {
  const lines = taskLines(answer, screen(100), 0)

  test('is shown by its team: what each node is, and why it ended as it did', () => {
    expect(section('Agents', lines)).toEqual([
      'workflow:map  incomplete  3 of 8 nodes completed, 1 skipped, 1 failed, 1 blocked, 1 cancelled; grew by 1',
      '├─ split  completed  map = ["x"]',
      '├─ find  completed  tool file_stats, 1.5 s, 1 tool call',
      '├─ branch  skipped  The condition does not hold.',
      '├─ stop  cancelled  not needed; 1.5 s, 15 tokens',
      '├─ late  running  to be cancelled: not needed; 15 tokens',
      '├─ broken  failed  internal: No code for this.',
      '├─ tail  blocked  by stop',
      '├─ item  completed  1.5 s, 15 tokens',
      '├─ note  item: Nobody is called z. (unknown_member, event 34)',
      '└─ shared state  2 changes: {"seen":2}',
    ])
    expect(lines).toContain('Workflow   workflow:map')
  })

  test('keeps what its nodes made, and says it once', () => {
    expect(section('Kept', lines)).toEqual(['  item (14 characters): what item made'])
    const said = { ...answer, final_output: '## item\n\nwhat item made', final_output_chars: 23 }
    expect(taskLines(said, screen(100), 0)).not.toContain('Kept')
    expect(taskLines({ ...answer, task: { ...answer.task, status: 'completed' } }, screen(100), 0)).not.toContain('Kept')
  })

  test('fits 80 columns', () => {
    const wide = node('找'.repeat(10), 'skipped', { skip_reason: '长'.repeat(200) })
    const narrow = taskLines({ ...answer, teams: [{ ...team, nodes: [wide] }] }, screen(80), 0)
    for (const line of section('Agents', narrow).slice(1)) expect(textWidth(line)).toBeLessThanOrEqual(80)
  })
})
