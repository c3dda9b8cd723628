import type { ExecutionGraph } from '@beaver/core/graph'
import { describe, expect, test } from 'vitest'
import * as log from '../../test/task-events.ts'
import { styleOf } from '../text/style.ts'
import { shownPlan } from '@beaver/workflows'
import { planLines } from './plan.ts'

const lines = (graph: ExecutionGraph, columns = 110): string[] =>
  planLines(graph, { columns, style: styleOf(false) }, { budget: { usd: 10, tokens: 5_000 } })

const flow: ExecutionGraph = {
  workflow: 'workflow:map',
  task: 'Map the list',
  nodes: [
    { ...log.codeNode('split'), settings: { list: '$.items' } },
    {
      kind: 'tool',
      node_id: 'find',
      depends_on: ['split'],
      tool: 'file_stats',
      arguments: { path: '.' },
      deadline_ms: 5_000,
    },
    log.agentNode('write', ['split']),
    { ...log.agentNode('end', ['find', 'write']), quorum: 1 },
  ],
  outputs: ['end'],
  output: 'end',
  deadline_ms: 90_000,
  shared_state: { seen: 0 },
}

describe('a plan', () => {
  test('tells the kind of every node, what it does, its quorum and its bounds', () => {
    expect(lines(flow)).toEqual([
      'workflow:map: 4 nodes (2 agents, 1 tool call, 1 computed), 4 edges, 3 steps',
      'Task    Map the list',
      'Output  end',
      'Spends  at least 2 calls of models, at most 10.00 USD and 5,000 tokens',
      'Bound   1 min 30 s for all of it',
      'Shared  {"seen":0}',
      '',
      'STEP  NODE   KIND   AFTER             TOOLS  CHECKS  WHAT',
      '   1  split  code   -                 -           -  map {"list":"$.items"}',
      '   2  find   tool   split             -           -  file_stats {"path":"."} (within 5.0 s)',
      '   2  write  agent  split             any         0  Do write.',
      '   3  end    agent  1 of find, write  any         0  Do end.',
    ])
  })

  test('tells which nodes run only if a condition is true, and how far the graph grows', () => {
    const nodes = [
      log.agentNode('a'),
      { ...log.agentNode('b', ['a']), settings: { scope: '', when: '{{ nodes.a.output != "" }}' } },
    ]
    const planned = lines({ workflow: 'workflow:w', task: 't', nodes, outputs: ['b'], output: 'b' }, 160)
    expect(planned).toContain('Skips   1 node if its condition is false')
    expect(planned.at(-1)).toContain('when {{ nodes.a.output != "" }}: Do b.')
    const settings = { rounds_max: 1, delegations_max: 2 }
    expect(
      lines({
        workflow: 'HierarchicalWorkflow',
        task: 't',
        nodes: [log.agentNode('a')],
        outputs: ['a'],
        output: 'a',
        settings,
      }),
    ).toContain('Grows   while it runs, to at most 6 agents and tools')
  })

  test('says the same as JSON: the growth, and which nodes have a condition', () => {
    const nodes = [
      log.agentNode('a'),
      { ...log.agentNode('b', ['a']), settings: { scope: '', when: 'nodes.a.output != ""' } },
    ]
    const graph = { workflow: 'workflow:w', task: 't', nodes, outputs: ['b'], output: 'b' }
    expect(shownPlan(graph)).toEqual({
      ok: true,
      graph,
      grows_to_max: null,
      conditions: [{ node_id: 'b', when: 'nodes.a.output != ""' }],
    })
    const settings = { rounds_max: 1, delegations_max: 2 }
    const growing = {
      workflow: 'HierarchicalWorkflow',
      task: 't',
      nodes: [log.agentNode('a')],
      outputs: ['a'],
      output: 'a',
      settings,
    }
    expect(shownPlan(growing)).toEqual({ ok: true, graph: growing, grows_to_max: 6, conditions: [] })
  })

  test('of agents alone has no kinds', () => {
    const [head, , , , , titles] = lines({
      workflow: 'W',
      task: 't',
      nodes: [log.agentNode('a')],
      outputs: ['a'],
      output: 'a',
    })
    expect(head).toBe('W: 1 agent, 0 edges, 1 step')
    expect(titles).toMatch(/^STEP +AGENT +AFTER +TOOLS +CHECKS +INSTRUCTION$/)
  })

  test('names as many dependencies as there is room for, and counts the others', () => {
    const ids = Array.from({ length: 100 }, (_, i) => `item ${i}`)
    const nodes = [...ids.map((id) => log.agentNode(id)), log.agentNode('collect', ids)]
    expect(
      lines({ workflow: 'W', task: 't', nodes, outputs: ['collect'], output: 'collect' }).at(-1),
    ).toMatch(/^ +2 +collect +item 0, item 1, item 2, item 3, item 4 and 95 more +any/)
  })
})
