import { expect, it } from 'vitest'
import { itemsOf, type Node, type Run, type Team } from './tree.ts'
import type { CompactNode, WholeGraph } from './whole-graph.ts'

// Only the fields that the tree reads.
const run = (id: string, over: Partial<Run> = {}): Run =>
  ({
    ...{
      run_id: id,
      parent_run_id: null,
      agent_name: id,
      status: 'thinking',
      started_at: 'a',
      ended_at: null,
    },
    ...{ duration_ms: null, input_tokens: 1, output_tokens: 2, tool_calls: 0, failure: null, teams: [] },
    ...over,
  }) as unknown as Run
const node = (id: string, over: Partial<Node> = {}): Node =>
  ({
    ...{
      node_id: id,
      kind: 'agent',
      depends_on: [],
      status: 'running',
      run_id: null,
      run: null,
      evidence: [],
    },
    ...{ tool: null, operation: null, started_at: null, ended_at: null, duration_ms: null, failure: null },
    ...{ cause_node_id: null, skip_reason: null, cancel_reason: null },
    ...over,
  }) as unknown as Node
const team = (id: string, nodes: Node[]): Team =>
  ({
    ...{ team_run_id: id, workflow: id, node_count: nodes.length, status: 'running', nodes, message: null },
    ...{ started_at: 'a', ended_at: null, duration_ms: null },
  }) as unknown as Team
const compact = (at: number, id: string, over: Partial<CompactNode> = {}): CompactNode => ({
  ...{ node_id: id, team: 0, declared_index: at, kind: 'agent', depends_on: [], status: 'running' },
  ...{ run_id: null, agent_name: null, started_at: null, ended_at: null, failure_class: null, waits: false },
  ...{ tokens: 0, calls: 0, tool_calls: 0, tool_calls_failed: 0, changed_taskseq: 1 },
  ...over,
})
const outline = (
  answer: Parameters<typeof itemsOf>[0],
  known: Parameters<typeof itemsOf>[1] = {},
): string[] =>
  itemsOf(answer, known).map(({ depth, name, status }) => `${'  '.repeat(depth)}${name} ${status}`)

const failed = node('b', {
  status: 'failed',
  failure: { class: 'deadline_exceeded', message: 'Too late.' } as Node['failure'],
})
const answer = {
  runs: [run('root', { teams: [team('t', [node('a', { run_id: 'ra', run: run('ra') }), failed])] })],
  teams: [],
}
const graph: WholeGraph = {
  last: 9,
  teams: [
    { team_run_id: 't', run_id: 'root', workflow: 't', status: 'running', nodes: 3 },
    { team_run_id: 'inner', run_id: 'rc', workflow: 'inner', status: 'running', nodes: 1 },
  ],
  nodes: [
    compact(0, 'a', { run_id: 'ra', status: 'completed' }),
    compact(1, 'b', { status: 'failed', failure_class: 'deadline_exceeded' }),
    compact(2, 'c', { run_id: 'rc', depends_on: [0, 1], waits: true }),
    compact(0, 'd', { team: 1 }),
  ],
}

it('has the parts that the answer has', () =>
  expect(outline(answer)).toEqual(['Root agent thinking', '  t running', '    a running', '    b failed']))

it('has all nodes of a large task, with what the answer says of some of them', () => {
  expect(outline(answer, { graph })).toEqual([
    'Root agent thinking',
    '  t running',
    '    a completed',
    '    b failed',
    '    c waiting_for_approval',
    '      inner running',
    '        d running',
  ])
  const items = itemsOf(answer, { graph })
  const named = (id: string) => items.find(({ nodeId }) => nodeId === id)
  expect(named('c')).toMatchObject({ dependsOn: ['a', 'b'], node: null, runId: 'rc', teamRunId: 't' })
  expect(named('b')?.why).toBe('Too late.')
  // The answer is older than the graph here.
  expect(named('a')?.node).toBeNull()
})

it('says of a run and its node that a budget has no place for the next call', () =>
  expect(outline(answer, { withoutBudget: new Set(['root', 'ra']) })).toEqual([
    'Root agent waiting_for_budget',
    '  t running',
    '    a waiting_for_budget',
    '    b failed',
  ]))

it('a node is kept if it completed in the task that was retried', () => {
  const ended = (id: string, at: string, status = 'completed'): Node =>
    node(id, { status, ended_at: `2026-11-29T15:46:${at}Z` })
  const nodes = [
    ended('copied', '29.588'),
    ended('later', '29.606'),
    ended('failed', '29.588', 'failed'),
    node('works'),
  ]
  const kept = (keptUntil: string | null): string[] =>
    itemsOf({ runs: [], teams: [team('t', nodes)] }, { keptUntil })
      .filter(({ isKept }) => isKept)
      .map(({ name }) => name)
  expect(kept('2026-11-29T15:46:29.588Z')).toEqual(['copied'])
  expect(kept(null)).toEqual([])
})
