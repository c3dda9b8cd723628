import { describe, expect, it } from 'vitest'
import { agents, dependencies, graphOf, refuses } from '@beaver/testing'
import { graphWorkflow } from './graph-workflow.ts'

const names = ['collector', 'tactics', 'players', 'media', 'synthesizer']
const football = {
  task: '分析韩国队今早世界杯比赛表现',
  agents: agents(...names),
  edges: [
    ['collector', 'tactics'],
    ['collector', 'players'],
    ['collector', 'media'],
    ['tactics', 'synthesizer'],
    ['players', 'synthesizer'],
    ['media', 'synthesizer'],
  ],
  output_agent: 'synthesizer',
}
const abc = (edges: unknown, more: object = {}) => ({
  task: 'x',
  agents: agents('a', 'b', 'c'),
  edges,
  output_agent: 'c',
  ...more,
})
const refused = (args: object, code: string, path: string, parts: string[]) =>
  refuses(graphWorkflow, args, { code, path, parts })

describe('GraphWorkflow builds', () => {
  it('the graph of WT-60', () => {
    const graph = graphOf(graphWorkflow.plan(football))
    expect(dependencies(graph)).toEqual([
      ['collector', []],
      ['tactics', ['collector']],
      ['players', ['collector']],
      ['media', ['collector']],
      ['synthesizer', ['tactics', 'players', 'media']],
    ])
    expect(graph).toMatchObject({
      workflow: 'GraphWorkflow',
      outputs: ['synthesizer'],
      output: 'synthesizer',
    })
  })

  it('the same graph whatever the order of the edges', () => {
    expect(graphWorkflow.plan({ ...football, edges: football.edges.toReversed() })).toEqual(
      graphWorkflow.plan(football),
    )
  })

  it('a duplicate edge once', () => {
    expect(graphWorkflow.plan({ ...football, edges: [...football.edges, ...football.edges] })).toEqual(
      graphWorkflow.plan(football),
    )
  })

  it('one agent without edges', () => {
    expect(
      graphOf(graphWorkflow.plan({ task: 'x', agents: agents('a'), edges: [], output_agent: 'a' })),
    ).toMatchObject({ outputs: ['a'], output: 'a' })
  })

  it('other sinks beside the output agent, in declared order', () => {
    expect(
      graphOf(
        graphWorkflow.plan(
          abc([
            ['a', 'c'],
            ['a', 'b'],
          ]),
        ),
      ),
    ).toMatchObject({ outputs: ['b', 'c'], output: 'c' })
  })

  it('an output agent that is not a sink', () => {
    expect(
      graphOf(
        graphWorkflow.plan(
          abc(
            [
              ['a', 'b'],
              ['b', 'c'],
            ],
            { output_agent: 'b' },
          ),
        ),
      ),
    ).toMatchObject({ outputs: ['c'], output: 'b' })
  })

  it('an agent that is connected only against the direction of the edges', () => {
    expect(
      dependencies(
        graphOf(
          graphWorkflow.plan(
            abc([
              ['a', 'c'],
              ['a', 'b'],
            ]),
          ),
        ),
      ),
    ).toEqual([
      ['a', []],
      ['b', ['a']],
      ['c', ['a']],
    ])
  })

  it('islands, and an output agent alone, when allow_disconnected says so', () => {
    expect(graphOf(graphWorkflow.plan(abc([['b', 'c']], { allow_disconnected: true })))).toMatchObject({
      outputs: ['a', 'c'],
      output: 'c',
    })
    expect(graphOf(graphWorkflow.plan(abc([['a', 'b']], { allow_disconnected: true })))).toMatchObject({
      outputs: ['b', 'c'],
      output: 'c',
    })
  })
})

describe('GraphWorkflow refuses', () => {
  it.each([undefined, null])('edges_required: %j', (edges) =>
    refused(abc(edges), 'edges_required', 'edges', ['"edges" is missing']),
  )

  it.each([true, false])('edges_required: no edges with several agents, allow_disconnected %j', (allow) => {
    refused(abc([], { allow_disconnected: allow }), 'edges_required', 'edges', [
      '"a", "b", "c"',
      'ConcurrentWorkflow',
    ])
  })

  it('edges_required: a missing list, for one agent too', () => {
    refused({ task: 'x', agents: agents('a'), output_agent: 'a' }, 'edges_required', 'edges', [
      'for a single agent write []',
    ])
  })

  it.each([
    ['a → b', 'Write "edges": [["a","b"]].'],
    ['[["a","b"]]', 'JSON text inside a string: write the array itself. Write "edges": [["a","b"]].'],
    [{ a: ['b', 'c'], b: 'c' }, 'Write "edges": [["a","b"],["a","c"],["b","c"]].'],
    [7, 'Write "edges": [["<from>", "<to>"], …] with the names of the agents: "a", "b", "c".'],
  ])('edges_shape: %j for the list', (edges, part) =>
    refused(abc(edges), 'edges_shape', 'edges', ['must be an array of [from, to] pairs', part]),
  )

  it.each([
    [{ from: 'b', to: 'c' }, 'Write "edges": [["a","b"],["b","c"]].'],
    [{ source: 'b', target: 'c' }, 'Write "edges": [["a","b"],["b","c"]].'],
    [{ edge: 'b-c' }, 'Write "edges": [["<from>", "<to>"], …]'],
    ['b -> c', 'Write "edges": [["a","b"],["b","c"]].'],
    ['b⇒c', 'Write "edges": [["a","b"],["b","c"]].'],
    ['["b","c"]', 'Write "edges": [["a","b"],["b","c"]].'],
    [['a', 'b', 'c'], 'Write one pair per edge. Write "edges": [["a","b"],["a","b"],["b","c"]].'],
    [['b'], 'Write "edges": [["<from>", "<to>"], …]'],
    [[], 'Write "edges": [["a","b"]].'],
    [['b', 2], 'Write "edges": [["<from>", "<to>"], …]'],
    [null, 'Write "edges": [["<from>", "<to>"], …]'],
  ])('edges_shape: %j for an edge', (edge, part) =>
    refused(abc([['a', 'b'], edge]), 'edges_shape', 'edges.1', ['Edge 1 is', part]),
  )

  it('edges_shape: one pair that is not in a list', () =>
    refused(abc(['b', 'c']), 'edges_shape', 'edges.0', ['[["b","c"]]']))

  it.each([
    [['ghost', 'c'], 'edges.1.0'],
    [['b', 'ghost'], 'edges.1.1'],
  ])('unknown_node: %j', (edge, path) =>
    refused(abc([['a', 'b'], edge]), 'unknown_node', path, ['Edge 1', '"ghost"', '"a", "b", "c"']),
  )

  it('unknown_node: with the agent that was probably meant', () => {
    refused(
      { ...football, edges: [...football.edges, ['media', 'synthesiser']] },
      'unknown_node',
      'edges.6.1',
      ['"synthesiser"', 'Did you mean "synthesizer"?'],
    )
  })

  it('cycle: names its nodes in order, and only them', () => {
    refused(
      abc([
        ['c', 'a'],
        ['a', 'b'],
        ['b', 'a'],
        ['b', 'c'],
      ]),
      'cycle',
      'edges',
      ['"a" -> "b" -> "a"'],
    )
    refused(
      {
        ...abc([
          ['a', 'b'],
          ['b', 'c'],
          ['c', 'b'],
        ]),
        output_agent: 'a',
      },
      'cycle',
      'edges',
      ['cycle: "b" -> "c" -> "b".'],
    )
  })

  it('cycle: a self-loop', () => {
    refused(
      abc([
        ['a', 'b'],
        ['b', 'c'],
        ['b', 'b'],
      ]),
      'cycle',
      'edges',
      ['"b" -> "b"', 'Remove this edge'],
    )
    refused({ task: 'x', agents: agents('a'), edges: [['a', 'a']], output_agent: 'a' }, 'cycle', 'edges', [
      '"a" -> "a"',
    ])
  })

  it('cycle: away from the output agent, allow_disconnected or not', () => {
    refused(
      abc(
        [
          ['a', 'b'],
          ['b', 'a'],
        ],
        { allow_disconnected: true },
      ),
      'cycle',
      'edges',
      ['"a" -> "b" -> "a"'],
    )
  })

  it.each([undefined, false])(
    'island: names every agent that is not connected, allow_disconnected %j',
    (allow) => {
      const args = {
        task: 'x',
        agents: agents('a', 'b', 'c', 'd'),
        edges: [['a', 'c']],
        output_agent: 'c',
        ...(allow === undefined ? {} : { allow_disconnected: allow }),
      }
      refused(args, 'island', 'agents.1.name', [
        '"b", "d"',
        'output agent "c"',
        '"allow_disconnected" to true',
      ])
    },
  )

  it('island: an output agent that is alone', () =>
    refused(abc([['a', 'b']]), 'island', 'agents.0.name', ['"a", "b"']))

  it('unknown_output_agent', () => {
    refused({ ...football, output_agent: 'synth' }, 'unknown_output_agent', 'output_agent', [
      '"synth"',
      '"collector"',
    ])
    refused({ ...football, output_agent: 'Synthesizer' }, 'unknown_output_agent', 'output_agent', [
      'Did you mean "synthesizer"?',
    ])
  })

  it('unreachable_output_agent: no edge leads to it', () => {
    refused(
      abc([
        ['c', 'a'],
        ['c', 'b'],
      ]),
      'unreachable_output_agent',
      'output_agent',
      ['"c"', 'only leads to "a", "b"'],
    )
    refused(
      abc([
        ['a', 'b'],
        ['c', 'b'],
      ]),
      'unreachable_output_agent',
      'output_agent',
      ['"c"', 'only leads to "b"'],
    )
    refused(abc([['c', 'b']], { allow_disconnected: true }), 'unreachable_output_agent', 'output_agent', [
      '"c"',
    ])
  })

  it('invalid_arguments: a missing output agent, and "true" for true', () => {
    refused({ ...football, output_agent: undefined }, 'invalid_arguments', 'output_agent', [
      '"output_agent" is missing',
    ])
    refused({ ...football, allow_disconnected: 'true' }, 'invalid_arguments', 'allow_disconnected', [
      'Write true without quotes',
    ])
  })

  it('too_many_edges: counts different edges', () => {
    const twice = { ...football, edges: [...football.edges, ...football.edges] }
    expect(graphWorkflow.plan(twice, { limits: { edgesMax: 6 } }).ok).toBe(true)
    refuses(
      graphWorkflow,
      twice,
      { code: 'too_many_edges', path: 'edges', parts: ['6 edges', 'edgesMax is 5'] },
      { limits: { edgesMax: 5 } },
    )
  })
})

it('builds the largest graph the default limits allow, and refuses one edge more', () => {
  const many = Array.from({ length: 512 }, (_, index) => `n${index}`)
  const edges: [string, string][] = []
  for (let from = 0; from < 512; from++)
    for (let step = 1; step <= 17 && from + step < 512; step++) edges.push([`n${from}`, `n${from + step}`])
  const args = (count: number) => ({
    task: 'x',
    agents: agents(...many),
    edges: edges.slice(-count),
    output_agent: 'n511',
    allow_disconnected: true,
  })
  expect(graphOf(graphWorkflow.plan(args(8192))).nodes).toHaveLength(512)
  refuses(graphWorkflow, args(8193), {
    code: 'too_many_edges',
    path: 'edges',
    parts: ['8193', 'edgesMax is 8192'],
  })
})
