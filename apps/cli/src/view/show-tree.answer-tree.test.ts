import type { NodeAnswer, TeamAnswer } from '@beaver/contracts'
import { expect, test } from 'vitest'
import { teamProgress } from './agent-tree.ts'
import { answerTree } from './show-tree.ts'

const run = { agent_name: 'a', status: 'completed', teams: [] } as unknown as NonNullable<NodeAnswer['run']>
const node = {
  node_id: 'a',
  kind: 'agent',
  status: 'running',
  run,
  evidence: [],
  added_after: null,
} as unknown as NodeAnswer
const team = {
  workflow: 'W',
  status: 'running',
  node_count: 1,
  node_count_at_start: 1,
  diagnostics: [],
  shared_state: {},
  shared_state_changes: 0,
}
const treeOf = (only: NodeAnswer) =>
  answerTree({ runs: [], teams: [{ ...team, nodes: [only] } as unknown as TeamAnswer] }).teams[0]!

test.each([
  ['thinking', 'thinking'],
  ['waiting_for_approval', 'waiting_for_approval'],
  // The run has ended, and the gate has not yet decided about the node.
  ['completed', 'finalizing'],
  ['failed', 'finalizing'],
  ['cancelled', 'finalizing'],
])('a node that runs, with a run that is %s, is %s', (status, state) => {
  expect(treeOf({ ...node, run: { ...run, status } as typeof run }).nodes[0]?.state).toBe(state)
})

test('a node whose run completed does not count before the gate has decided', () => {
  expect(teamProgress(treeOf(node))).toBe('0 of 1 agent completed')
})
