import type { AskedCallAnswer, NodeAnswer, RunAnswer, TaskAnswer, TeamAnswer } from '@beaver/contracts'
import { describe, expect, test } from 'vitest'
import { styleOf, symbolsOf } from '../text/style.ts'
import { textWidth } from '../text/width.ts'
import { taskLines } from './show.ts'

const run: RunAnswer = {
  run_id: 'run_x',
  parent_run_id: null,
  agent_name: 'x',
  node_id: null,
  team_run_id: 'team',
  attempt_index: 1,
  execution_mode: null,
  status: 'completed',
  started_at: '',
  ended_at: null,
  duration_ms: 1_500,
  tool_iterations: 0,
  tool_calls: 0,
  tool_calls_failed: 0,
  restarts: 0,
  input_tokens: 10,
  output_tokens: 5,
  calls: 1,
  usage_by_model: [],
  provider: null,
  model: null,
  finish_reason: null,
  output: null,
  output_chars: 0,
  skills: [],
  skill_selection: null,
  context: null,
  first_input_tokens: null,
  results_compacted: 0,
  history_dropped: 0,
  summaries: 0,
  failure: null,
  teams: [],
}
const node = (node_id: string, status: string, more: Partial<NodeAnswer> = {}): NodeAnswer => ({
  node_id,
  declared_index: 0,
  status,
  kind: 'agent',
  depends_on: [],
  quorum: null,
  added_after: null,
  use_skill: null,
  tool: null,
  operation: null,
  run_id: null,
  started_at: null,
  ended_at: null,
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
  team_run_id: 'team',
  run_id: null,
  call_id: null,
  task: 'Map the list',
  started_at: '',
  ended_at: null,
  duration_ms: null,
  output_nodes: ['end'],
  workflow: 'workflow:map',
  status: 'incomplete',
  message: null,
  node_count: 8,
  node_count_at_start: 7,
  nodes_by_status: { blocked: 1, cancelled: 1, completed: 3, failed: 1, running: 1, skipped: 1 },
  diagnostics: [{ taskseq: 34, node_id: 'item', code: 'unknown_member', message: 'Nobody is called z.' }],
  shared_state: { seen: 2 },
  shared_state_changes: 2,
  nodes: [
    node('split', 'completed', { kind: 'code', operation: 'map', output: '["x"]', output_chars: 5 }),
    node('find', 'completed', {
      kind: 'tool',
      tool: 'file_stats',
      run: { ...run, input_tokens: 0, output_tokens: 0, tool_calls: 1 },
    }),
    node('branch', 'skipped', { skip_reason: 'The condition does not hold.' }),
    node('stop', 'cancelled', {
      cancel_reason: 'not needed',
      failure: { class: 'cancelled', message: 'not needed' },
      run,
    }),
    node('late', 'running', {
      cancel_reason: 'not needed',
      run: { ...run, duration_ms: null, status: 'thinking' },
    }),
    node('broken', 'failed', { failure: { class: 'internal', message: 'No code for this.' } }),
    node('tail', 'blocked', { cause_node_id: 'stop' }),
    node('item', 'completed', { added_after: 'split', run }),
  ],
}
const asked: AskedCallAnswer = {
  task_id: 't1',
  session_id: 's',
  run_id: 'r',
  agent_name: 'Root agent',
  node_id: null,
  call_id: 'c',
  tool: 'run_command',
  subject: '',
  call_hash: null,
  preview: null,
  rule: null,
  arguments: null,
  state: 'waiting',
  requested_at: null,
  taskseq: 9,
  by: null,
  user_id: null,
  reason: null,
  decided_at: null,
}
const answer: TaskAnswer = {
  steers: [],
  task: {
    task_id: 't1',
    session_id: 's',
    title: null,
    tenant: 'local',
    status: 'incomplete',
    wait: null,
    text: 'Map the list',
    skill: null,
    retry_of: null,
    submitted_at: null,
    started_at: null,
    ended_at: null,
    elapsed_ms: null,
    agents: 1,
    input_tokens: 10,
    output_tokens: 5,
    calls: 1,
    usage_by_model: [],
    waiting: 0,
    waits_for: null,
    provider: null,
    model: null,
    simulated: null,
    failure: null,
    chain_ok: true,
    workspace: null,
    source: null,
    submitted_by: 'anna',
    user_id: 'ben',
    previous_task_id: null,
    root_run_id: null,
    dead_lettered: false,
    daemon: null,
    budgets: [],
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
  next: null,
  approvals: [],
  outputs: [
    { node_id: 'item', output: 'what item made', output_chars: 14 },
    { node_id: 'end', output: '', output_chars: 0 },
  ],
  final_output: '',
  final_output_chars: 0,
  failures: [],
  more_failures: false,
  chain_ok: true,
  unsigned: 0,
  findings: [],
  more_findings: false,
  redactions: [],
  archives: [],
}
const screen = (columns: number) => ({
  columns,
  style: styleOf(false),
  symbols: symbolsOf({ utf8: true, turning: false }),
  interactive: false,
})
const options = {
  now: 0,
  all: false,
  command: 'beaver',
  record: { state: 'verified', messages: [] },
} as const
const section = (title: string, lines: readonly string[]): string[] => {
  const from = lines.indexOf(title) + 1
  const to = lines.indexOf('', from)
  return lines.slice(from, to === -1 ? undefined : to)
}

describe('a task that is a workflow', () => {
  const lines = taskLines(answer, screen(100), options)

  test('is shown by its team: what each node is, and why it ended as it did', () => {
    expect(section('Agents', lines)).toEqual([
      'workflow:map  incomplete  3 of 8 nodes completed, 1 skipped, 1 failed, 1 blocked, 1 cancelled; grew by 1',
      '├─ split  completed  map = ["x"]',
      '├─ item  completed  1.5 s, 15 tokens',
      '├─ find  completed  tool file_stats, 1.5 s, 1 tool call',
      '├─ branch  skipped  The condition does not hold.',
      '├─ stop  cancelled  not needed; 1.5 s, 15 tokens',
      '├─ late  thinking  to be cancelled: not needed; 15 tokens',
      '├─ broken  failed  internal: No code for this.',
      '├─ tail  blocked  by stop',
      '├─ note  item: Nobody is called z. (unknown_member, event 34)',
      '└─ shared state  2 changes: {"seen":2}',
      'Show one node: beaver show t1 --node <id>',
    ])
    expect(lines).toContain('Workflow   workflow:map')
  })

  test('has the word of all screens for a team that completed', () => {
    const done = taskLines({ ...answer, teams: [{ ...team, status: 'complete' }] }, screen(100), options)
    expect(section('Agents', done)[0]).toMatch(/^workflow:map  completed  /)
  })

  test('keeps what its nodes made, and says it once', () => {
    expect(section('Kept', lines)).toEqual(['  item (14 characters): what item made'])
    const said = { ...answer, final_output: '## item\n\nwhat item made', final_output_chars: 23 }
    expect(taskLines(said, screen(100), options)).not.toContain('Kept')
    expect(
      taskLines({ ...answer, task: { ...answer.task, status: 'completed' } }, screen(100), options),
    ).not.toContain('Kept')
  })

  test('fits 80 columns', () => {
    const wide = node('找'.repeat(10), 'skipped', { skip_reason: '长'.repeat(200) })
    const narrow = taskLines({ ...answer, teams: [{ ...team, nodes: [wide] }] }, screen(80), options)
    for (const line of section('Agents', narrow).slice(1)) expect(textWidth(line)).toBeLessThanOrEqual(80)
  })
})

describe('a large team', () => {
  const nodes = Array.from({ length: 100 }, (_, n) =>
    node(`n${n}`, n === 60 ? 'failed' : n > 90 ? 'blocked' : 'completed', { cause_node_id: 'n60', run }),
  )
  const large = {
    ...answer,
    teams: [
      {
        ...team,
        nodes,
        node_count: 100,
        node_count_at_start: 100,
        nodes_by_status: { blocked: 9, completed: 90, failed: 1 },
      },
    ],
  }

  test('is folded: what failed, a few others, a count of the rest', () => {
    const shown = section('Agents', taskLines(large, screen(100), options))
    expect(shown).toHaveLength(1 + 8 + 1 + 2 + 1)
    expect(shown.filter((line) => line.includes('n60  failed'))).toHaveLength(1)
    expect(shown[9]).toBe('├─ … 92 more agents: 90 completed, 2 blocked (--all shows them)')
  })

  test('is counted whole, whatever part of it the answer has', () => {
    const part = {
      ...large,
      more: true,
      next: 9,
      teams: [
        {
          ...large.teams[0]!,
          nodes: nodes.slice(0, 30),
          node_count: 300,
          nodes_by_status: { completed: 298, failed: 1, waiting: 1 },
        },
      ],
    }
    const shown = section('Agents', taskLines(part, screen(100), options))
    expect(shown[0]).toContain('298 of 300 nodes completed, 1 failed')
    expect(shown[9]).toBe('├─ … 292 more nodes: 290 completed, 1 failed, 1 waiting (--all shows them)')
  })

  test('is printed whole with --all', () => {
    expect(section('Agents', taskLines(large, screen(100), { ...options, all: true }))).toHaveLength(
      1 + 100 + 2,
    )
  })
})

test('a long computed value is cut, with its length, also where nothing bounds the line', () => {
  const long = node('split', 'completed', {
    kind: 'code',
    operation: 'map',
    output: 'x'.repeat(300),
    output_chars: 12_000,
  })
  const [, line] = section(
    'Agents',
    taskLines({ ...answer, teams: [{ ...team, nodes: [long] }] }, screen(Infinity), options),
  )
  expect(line).toBe(`├─ split  completed  map = ${'x'.repeat(59)}… (12,000 characters)`)
})

test('the first prompt of an agent is told by its parts, largest first, beside what the provider counted', () => {
  const context = [
    { part: 'base', tokens_estimated: 70 },
    { part: 'memory', tokens_estimated: 0 },
    { part: 'tools', tokens_estimated: 3_500 },
  ]
  const root = { ...run, agent_name: 'root', context, first_input_tokens: 3_700 }
  const lines = taskLines({ ...answer, runs: [root], teams: [] }, screen(80), options)
  expect(section('Context (tokens of the first prompt)', lines)).toEqual([
    'AGENT  ESTIMATE   COUNTED  PARTS',
    'root      3,570     3,700  tools 3,500, base 70',
  ])
})

test('what agents cost is said, and what was left out of their conversations', () => {
  const cost = { cost_usd: 2 }
  const model = {
    provider: 'p',
    model: 'cheap',
    input_tokens: 1_000_000,
    output_tokens: 0,
    calls: 1,
    ...cost,
  }
  const used = { ...cost, usage_by_model: [model] }
  const root = { ...run, ...used, agent_name: 'root', results_compacted: 2, summaries: 1 }
  const task = { ...answer.task, ...used }
  const lines = taskLines({ ...answer, task, runs: [root], teams: [] }, screen(100), options)
  expect(section('Agents', lines)).toEqual([
    'root  completed  1.5 s, 15 tokens, $2.00, 2 tool results left out, 1 summary',
  ])
  expect(lines).toContain('Usage      15 tokens (10 in, 5 out) in 1 call, $2.00')
})

test('what waits is shown with the commands that answer, then what was decided by whom', () => {
  const approvals = [
    { ...asked, call_id: 'c2', subject: 'rm -rf build', state: 'waiting' },
    { ...asked, call_id: 'c1', subject: 'ls', state: 'denied', by: 'ben', reason: 'not now' },
  ]
  const lines = taskLines(
    { ...answer, task: { ...answer.task, status: 'running', waiting: 1 }, approvals },
    screen(100),
    options,
  )
  expect(section('Approvals', lines)).toEqual([
    '? Root agent asks to call run_command: rm -rf build',
    '  allow: beaver approve t1   refuse: beaver deny t1',
    '✖ ben refused run_command: ls (Root agent, asked in event 9) not now',
  ])
  expect(lines).toContain('Status     running, waits for an approval of 1 call')
})

test('a task that waits has the words of the other screens, and the simulated model has its name before the task has ended', () => {
  const waits = {
    ...answer.task,
    status: 'waiting_for_provider',
    provider: 'simulated',
    model: 'beaver-simulated-1',
  }
  const lines = taskLines({ ...answer, task: waits }, screen(100), options)
  expect(lines).toContain('Status     waits for a provider')
  expect(lines).toContain('Model      simulated model (beaver-simulated-1)')
})

test('who decided, steered or submitted over a gateway is named first', () => {
  const of = { by: 'gateway', user_id: 'bob' }
  const shown = {
    ...answer,
    task: { ...answer.task, submitted_by: 'gateway', user_id: 'bob' },
    approvals: (['granted', 'denied'] as const).map((state) => ({
      ...asked,
      ...of,
      call_id: state,
      subject: 'ls',
      state,
      reason: null,
    })),
    steers: [
      {
        taskseq: 4,
        request_id: 's',
        given_taskseq: 5,
        text: 'Be brief.',
        text_chars: 9,
        at: '2026-01-01T00:00:00Z',
        ...of,
      },
    ],
  }
  const lines = taskLines(shown, screen(100), options)
  expect(section('Approvals', lines)).toEqual([
    '✔ bob (over gateway) allowed run_command: ls (Root agent, asked in event 9)',
    '✖ bob (over gateway) refused run_command: ls (Root agent, asked in event 9)',
  ])
  expect(section('Steering', lines)).toEqual(['✔ bob (over gateway): Be brief. (given in event 5)'])
  expect(lines.find((line) => line.startsWith('Submitted'))).toContain('by bob (over gateway)')
})

test('what a person is asked, and what was decided, is shown to its end', () => {
  const subject = `sh -c '${'echo a line; '.repeat(40)}rm -rf /'`
  const call = { ...asked, agent_name: 'root', by: 'ann', subject }
  for (const state of ['waiting', 'granted']) {
    const shown = section(
      'Approvals',
      taskLines({ ...answer, approvals: [{ ...call, call_id: 'c', state }] }, screen(80), options),
    )
    expect(shown.join(' ').replaceAll(/\s+/g, ' ')).toContain(subject)
    for (const line of shown) expect(line.length).toBeLessThanOrEqual(80)
  }
})
