import type { AgentState } from '@beaver/core/task-view'
import { describe, expect, test } from 'vitest'
import { symbolsOf } from '../text/style.ts'
import { teamProgress, type TreeAgent, treeRows, type TreeTeam } from './agent-tree.ts'

interface Agent extends TreeAgent<Agent> {}

const agent = (name: string, state: AgentState = 'completed', below: Partial<Agent> = {}): Agent => ({
  name,
  isNode: true,
  kind: 'agent',
  state,
  teams: [],
  others: [],
  ...below,
})
const team = (nodes: readonly Agent[], more: Partial<TreeTeam<Agent>> = {}): TreeTeam<Agent> => ({
  workflow: 'W',
  nodes,
  nodeCount: nodes.length,
  nodesAtStart: nodes.length,
  notes: [],
  ...more,
})
const symbols = symbolsOf({ utf8: true, turning: false })
const drawn = (...args: Parameters<typeof treeRows<Agent>>): string[] =>
  treeRows(...args).map((row) => {
    const text = {
      agent: () => (row.kind === 'agent' ? row.agent.name : ''),
      team: () => 'team',
      note: () => 'note',
      folded: () => 'folded',
    }[row.kind]()
    return row.prefix + text
  })

describe('the progress of a team', () => {
  test('counts what is known of all its nodes', () => {
    expect(
      teamProgress(team([agent('a'), agent('b', 'failed'), agent('c', 'skipped')], { nodesAtStart: 2 })),
    ).toBe('1 of 3 agents completed, 1 skipped, 1 failed; grew by 1')
  })

  test('is that of the whole team if only some of its nodes are known', () => {
    const counts = { completed: 297, failed: 2, waiting: 1 }
    expect(
      teamProgress(team([agent('a'), agent('b', 'failed')], { nodeCount: 300, nodesAtStart: 300, counts })),
    ).toBe('297 of 300 nodes completed, 2 failed')
  })
})

test('a run that was called without a team stands below its caller, after the teams', () => {
  const root = agent('root', 'completed', {
    isNode: false,
    teams: [team([agent('a')])],
    others: [agent('other')],
  })
  expect(drawn({ agents: [root], teams: [] }, symbols, { all: false, notes: true })).toEqual([
    'root',
    '├─ team',
    '│  └─ a',
    '└─ other',
  ])
})

test('notes end the list of a team, after what is folded', () => {
  const nodes = Array.from({ length: 30 }, (_, i) => agent(`n${i}`))
  const noted = team(nodes, { notes: [{ kind: 'note', text: 'x' }] })
  expect(drawn({ agents: [], teams: [noted] }, symbols, { all: false, notes: true }).slice(-2)).toEqual([
    '├─ folded',
    '└─ note',
  ])
  expect(drawn({ agents: [], teams: [noted] }, symbols, { all: true, notes: false })).toHaveLength(31)
})
