import type { ExecutionNode } from '@beaver/core/graph'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { agents, graphOf } from '@beaver/testing'
import { graphToMermaid } from './mermaid.ts'
import { mixtureOfAgents } from './mixture-of-agents.ts'

const single = (name: string) => ({
  nodes: [
    {
      ...graphOf(mixtureOfAgents.plan({ task: 'x', agents: agents('a'), aggregator: agents('b')[0] }))
        .nodes[0]!,
      node_id: name,
    },
  ],
  outputs: [name],
})

it('draws nodes in declared order, outputs rounded, and an arrow per dependency', () => {
  const graph = graphOf(
    mixtureOfAgents.plan({ task: 'x', agents: agents('战术 分析', 'media-2'), aggregator: agents('end')[0] }),
  )
  expect(graphToMermaid(graph)).toBe(
    'flowchart TD\n  n0["战术 分析"]\n  n1["media-2"]\n  n2(["end"])\n  n0 --> n2\n  n1 --> n2\n',
  )
})

it("draws a tool's call, what is computed, and a quorum", () => {
  const [agent] = single('a').nodes
  const nodes: ExecutionNode[] = [
    { kind: 'code', node_id: 'split', depends_on: [], operation: 'map' },
    { kind: 'tool', node_id: 'find', depends_on: ['split'], tool: 'x', arguments: {} },
    { ...agent!, depends_on: ['split'] },
    { kind: 'code', node_id: 'end', depends_on: ['find', 'a'], quorum: 1, operation: 'join' },
  ]
  expect(graphToMermaid({ nodes, outputs: ['end'] })).toBe(
    'flowchart TD\n  n0{{"split"}}\n  n1[["find"]]\n  n2["a"]\n  n3(["end"])\n  n0 --> n1\n  n0 --> n2\n  n1 -.-> n3\n  n2 -.-> n3\n',
  )
})

it.each([
  ['say "hi"', 'say #34;hi#34;'],
  ['a]b', 'a#93;b'],
  ['<b>', '#60;b#62;'],
  ['`x`', '#96;x#96;'],
  ['#34;', '#35;34#59;'],
  ['1. first', '1#46; first'],
  ['- first', '#45; first'],
  ['v1.2', 'v1.2'],
])('writes %j as %j', (name, label) =>
  expect(graphToMermaid(single(name))).toBe(`flowchart TD\n  n0(["${label}"])\n`),
)

it('keeps its lines whatever a node is called', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      expect(graphToMermaid(single(name))).toMatch(
        /^flowchart TD\n {2}n0\(\["(?:[\p{L}\p{M}\p{Nd} _.-]|#\d+;)*"\]\)\n$/u,
      )
    }),
    { numRuns: 200 },
  )
})
