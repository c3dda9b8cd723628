import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { node } from '../../test/log.ts'
import {
  type Edge,
  findCycle,
  graphFault,
  reachable,
  sinksOf,
  topologyOf,
  weakComponents,
} from './topology.ts'

const diamond = topologyOf(
  ['a', 'b', 'c', 'd'],
  [
    ['a', 'b'],
    ['a', 'c'],
    ['b', 'd'],
    ['c', 'd'],
  ],
)

const anyEdges = fc.integer({ min: 1, max: 12 }).chain((count) => {
  const nodes = Array.from({ length: count }, (_, index) => `n${index}`)
  const node = fc.constantFrom(...nodes)
  return fc.record({ nodes: fc.constant(nodes), edges: fc.array(fc.tuple(node, node), { maxLength: 24 }) })
})
const runs = { numRuns: 200 }

describe('topologyOf', () => {
  it('lists both directions in declared order, whatever the order of the edges', () => {
    const other = topologyOf(
      ['a', 'b', 'c', 'd'],
      [
        ['c', 'd'],
        ['b', 'd'],
        ['a', 'c'],
        ['a', 'b'],
      ],
    )
    expect(other.dependenciesOf.get('d')).toEqual(['b', 'c'])
    expect(other.dependentsOf.get('a')).toEqual(['b', 'c'])
    expect(other).toEqual(diamond)
  })

  it('counts a repeated edge once', () => {
    const twice = topologyOf(
      ['a', 'b'],
      [
        ['a', 'b'],
        ['a', 'b'],
      ],
    )
    expect(twice.edgeCount).toBe(1)
    expect(twice.dependenciesOf.get('b')).toEqual(['a'])
  })

  it('throws for an end that is not declared, and for a node that is declared twice', () => {
    expect(() => topologyOf(['a'], [['a', 'ghost']])).toThrow('a -> ghost')
    expect(() => topologyOf(['a'], [['ghost', 'a']])).toThrow('ghost -> a')
    expect(() => topologyOf(['a', 'a'], [])).toThrow('twice')
  })

  it('distinguishes nodes that have the names of object members', () => {
    const odd = topologyOf(['__proto__', 'constructor'], [['__proto__', 'constructor']])
    expect(odd.dependenciesOf.get('constructor')).toEqual(['__proto__'])
    expect(odd.dependenciesOf.get('__proto__')).toEqual([])
  })
})

describe('findCycle', () => {
  it('finds no cycle in a diamond', () => expect(findCycle(diamond)).toBeNull())

  it('returns exactly the nodes of the cycle, without the path to it', () => {
    expect(
      findCycle(
        topologyOf(
          ['in', 'a', 'b', 'c', 'out'],
          [
            ['in', 'a'],
            ['a', 'b'],
            ['b', 'c'],
            ['c', 'a'],
            ['c', 'out'],
          ],
        ),
      ),
    ).toEqual(['a', 'b', 'c'])
  })

  it('finds a self-loop as a cycle of one node', () =>
    expect(findCycle(topologyOf(['a'], [['a', 'a']]))).toEqual(['a']))

  it('walks a chain of 20,000 nodes without recursion', () => {
    const nodes = Array.from({ length: 20_000 }, (_, index) => `n${index}`)
    const chain = nodes.slice(1).map((node, index): Edge => [nodes[index] as string, node])
    expect(findCycle(topologyOf(nodes, chain))).toBeNull()
    expect(findCycle(topologyOf(nodes, [...chain, ['n19999', 'n0']]))).toHaveLength(20_000)
  })

  it('visits a node once, however many paths lead to it', () => {
    const nodes = Array.from({ length: 120 }, (_, index) => `n${index}`)
    const ladder = nodes
      .flatMap((from, index) => [2, 3].map((step) => [from, nodes[index - (index % 2) + step]] as const))
      .filter((edge): edge is Edge => edge[1] !== undefined)
    expect(findCycle(topologyOf(nodes, ladder))).toBeNull()
  })

  it('finds a cycle exactly if some node reaches itself, and what it returns is a cycle', () => {
    fc.assert(
      fc.property(anyEdges, ({ nodes, edges }) => {
        const topology = topologyOf(nodes, edges)
        const cycle = findCycle(topology)
        expect(cycle !== null).toBe(
          nodes.some((node) => reachable(topology, node, 'downstream').includes(node)),
        )
        for (const [index, node] of (cycle ?? []).entries()) {
          expect(topology.dependentsOf.get(node)).toContain(cycle?.[(index + 1) % cycle.length])
        }
      }),
      runs,
    )
  })

  it('gives the same answer for every order of the edges', () => {
    fc.assert(
      fc.property(anyEdges, ({ nodes, edges }) => {
        expect(findCycle(topologyOf(nodes, edges.toReversed()))).toEqual(findCycle(topologyOf(nodes, edges)))
      }),
      runs,
    )
  })
})

describe('weakComponents', () => {
  it('ignores the direction of edges, and lists components and nodes in declared order', () => {
    const topology = topologyOf(
      ['e', 'a', 'x', 'b', 'c'],
      [
        ['b', 'a'],
        ['b', 'c'],
        ['x', 'e'],
      ],
    )
    expect(weakComponents(topology)).toEqual([
      ['e', 'x'],
      ['a', 'b', 'c'],
    ])
  })

  it('divides the nodes so that no edge crosses between components', () => {
    fc.assert(
      fc.property(anyEdges, ({ nodes, edges }) => {
        const components = weakComponents(topologyOf(nodes, edges))
        expect(components.flat().toSorted()).toEqual(nodes.toSorted())
        const componentOf = new Map(
          components.flatMap((members, index) => members.map((node) => [node, index] as const)),
        )
        for (const [from, to] of edges) expect(componentOf.get(from)).toBe(componentOf.get(to))
      }),
      runs,
    )
  })
})

describe('reachable and sinksOf', () => {
  it('walk upstream and downstream, and leave the start out', () => {
    expect(reachable(diamond, 'd', 'upstream')).toEqual(['a', 'b', 'c'])
    expect(reachable(diamond, 'b', 'downstream')).toEqual(['d'])
    expect(reachable(diamond, 'a', 'upstream')).toEqual([])
  })

  it('include the start if it is in a cycle', () => {
    expect(
      reachable(
        topologyOf(
          ['a', 'b'],
          [
            ['a', 'b'],
            ['b', 'a'],
          ],
        ),
        'a',
        'downstream',
      ),
    ).toEqual(['a', 'b'])
  })

  it('return the nodes on which no node depends as sinks, in declared order', () => {
    expect(sinksOf(topologyOf(['z', 'a', 'm'], [['a', 'm']]))).toEqual(['z', 'm'])
  })
})

describe('graphFault', () => {
  it('accepts a graph that keeps the invariants', () => {
    expect(graphFault({ nodes: [node('b', 'a'), node('a')], outputs: ['b'], output: 'b' })).toBeNull()
  })

  it('names the broken invariant', () => {
    expect(graphFault({ nodes: [node('a'), node('a')], outputs: ['a'], output: null })).toBe(
      'two nodes are called a',
    )
    expect(graphFault({ nodes: [node('a', 'ghost')], outputs: ['a'], output: null })).toBe(
      'a depends on ghost, which is not a node of the graph',
    )
    expect(graphFault({ nodes: [node('a')], outputs: ['ghost'], output: null })).toBe(
      'the output ghost is not a node of the graph',
    )
    expect(graphFault({ nodes: [node('a')], outputs: ['a'], output: 'ghost' })).toBe(
      'the output ghost is not a node of the graph',
    )
    expect(graphFault({ nodes: [node('a', 'b'), node('b', 'a')], outputs: ['a'], output: 'a' })).toBe(
      'a -> b -> a is a cycle',
    )
  })
})
