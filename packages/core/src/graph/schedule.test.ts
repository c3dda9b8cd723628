import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { graph, node } from '../../test/log.ts'
import type { ExecutionGraph } from './execution-graph.ts'
import { decideTeam, type NodeStates, type NodeStatus, teamOutcome } from './schedule.ts'

const given = (statuses: Record<string, NodeStatus>): NodeStates => new Map(Object.entries(statuses).map(([id, status]) => [id, { status, runId: null }]))

function decided(
  of: ExecutionGraph,
  statuses: Record<string, NodeStatus>,
  limits: { concurrentNodesMax: number; stopping?: boolean } = { concurrentNodesMax: 16 },
) {
  const { start, block, done } = decideTeam(of, given(statuses), limits)
  return { start: start.map((each) => each.node_id), block: block.map((each) => [each.node.node_id, each.causeNodeId]), done }
}

const diamond = graph(node('a'), node('b', 'a'), node('c', 'a'), node('d', 'b', 'c'))
const wide = graph(node('a'), node('b'), node('c'), node('d'))

describe('dataflow (D1)', () => {
  it('starts what depends on nothing', () => expect(decided(diamond, {})).toEqual({ start: ['a'], block: [], done: false }))

  it('starts a node when all it depends on are completed', () => {
    expect(decided(diamond, { a: 'completed' }).start).toEqual(['b', 'c'])
    expect(decided(diamond, { a: 'completed', b: 'completed', c: 'running' }).start).toEqual([])
    expect(decided(diamond, { a: 'completed', b: 'completed', c: 'completed' }).start).toEqual(['d'])
  })

  it('waits for no layer: a ready node starts while a node of an earlier layer runs', () => {
    const two = graph(node('slow'), node('fast'), node('after', 'fast'))
    expect(decided(two, { slow: 'running', fast: 'completed' }).start).toEqual(['after'])
  })

  it('does not start again what runs or has ended', () => {
    expect(decided(wide, { a: 'running', b: 'completed', c: 'failed', d: 'cancelled' })).toEqual({ start: [], block: [], done: false })
  })

  it('is done when every node has ended, and not before', () => {
    expect(decided(diamond, { a: 'completed', b: 'completed', c: 'completed', d: 'running' }).done).toBe(false)
    expect(decided(diamond, { a: 'completed', b: 'completed', c: 'completed', d: 'completed' })).toEqual({ start: [], block: [], done: true })
  })
})

describe('bounded concurrency', () => {
  it('starts at most as many as are free, the first declared ones', () => {
    expect(decided(wide, {}, { concurrentNodesMax: 2 }).start).toEqual(['a', 'b'])
    expect(decided(wide, { d: 'running' }, { concurrentNodesMax: 2 }).start).toEqual(['a'])
  })

  it('starts none while all places are taken, even more than allowed', () => {
    expect(decided(wide, { a: 'running', b: 'running' }, { concurrentNodesMax: 2 }).start).toEqual([])
    expect(decided(wide, { a: 'running', b: 'running', c: 'running' }, { concurrentNodesMax: 2 }).start).toEqual([])
  })
})

describe('blocking (D2)', () => {
  const chain = graph(node('a'), node('b', 'a'), node('c', 'b'), node('d'))

  it.each(['failed', 'cancelled'] as const)('a %s node blocks all that depend on it, transitively, with itself as the cause, and nothing else', (status) => {
    expect(decided(chain, { a: status })).toEqual({
      start: ['d'],
      block: [
        ['b', 'a'],
        ['c', 'a'],
      ],
      done: false,
    })
  })

  it('a running node downstream of another failure is not blocked', () => {
    expect(decided(chain, { a: 'completed', b: 'running', d: 'failed' })).toEqual({ start: [], block: [], done: false })
  })

  it('blocks a node as soon as one of several dependencies failed, while the others run', () => {
    expect(decided(diamond, { a: 'completed', b: 'running', c: 'failed' })).toEqual({ start: [], block: [['d', 'c']], done: false })
  })

  it('names the first declared failure when there are several', () => {
    expect(decided(diamond, { a: 'completed', b: 'failed', c: 'failed' }).block).toEqual([['d', 'b']])
  })

  it('does not block again what is blocked, and goes on through it', () => {
    expect(decided(chain, { a: 'failed', b: 'blocked' }).block).toEqual([['c', 'a']])
    expect(decided(chain, { a: 'failed', b: 'blocked', c: 'blocked', d: 'completed' })).toEqual({ start: [], block: [], done: true })
  })

  it('is done in the decision that blocks the last waiting nodes', () => {
    expect(decided(chain, { a: 'failed', d: 'completed' })).toEqual({
      start: [],
      block: [
        ['b', 'a'],
        ['c', 'a'],
      ],
      done: true,
    })
  })
})

describe('stopping', () => {
  it('starts nothing, and is not done while a node waits or runs', () => {
    expect(decided(wide, { a: 'completed' }, { concurrentNodesMax: 16, stopping: true })).toEqual({ start: [], block: [], done: false })
    expect(decided(wide, { a: 'running', b: 'cancelled', c: 'cancelled', d: 'cancelled' }, { concurrentNodesMax: 16, stopping: true }).done).toBe(false)
  })

  it('is done when what waited was cancelled and what ran has ended', () => {
    expect(decided(wide, { a: 'completed', b: 'cancelled', c: 'cancelled', d: 'cancelled' }, { concurrentNodesMax: 16, stopping: true }).done).toBe(true)
  })
})

describe('teamOutcome (D-35)', () => {
  it.each([
    [{ a: 'completed', b: 'completed', c: 'completed', d: 'completed' }, 'complete'],
    [{ a: 'completed', b: 'completed', c: 'failed', d: 'completed' }, 'incomplete'],
    [{ a: 'completed', b: 'completed', c: 'failed', d: 'blocked' }, 'incomplete'],
    [{ a: 'completed', b: 'cancelled', c: 'failed', d: 'cancelled' }, 'cancelled'],
    [{ a: 'completed', b: 'completed', c: 'completed' }, 'incomplete'],
  ] as const)('%j is %s', (statuses, outcome) => expect(teamOutcome(wide, given(statuses))).toBe(outcome))
})

interface Driven {
  readonly statuses: Map<string, NodeStatus>
  readonly order: string[]
  readonly mostRunning: number
  readonly decisions: number
}

/** Runs a graph to its end, as a supervisor would: start, end one running node, decide again. */
function drive(of: ExecutionGraph, concurrentNodesMax: number, end: (running: string[]) => readonly [id: string, status: 'completed' | 'failed']): Driven {
  const states = new Map<string, { status: NodeStatus; runId: null }>()
  const order: string[] = []
  const running: string[] = []
  let [mostRunning, decisions] = [0, 0]
  for (;;) {
    const { start, block, done } = decideTeam(of, states, { concurrentNodesMax })
    decisions++
    for (const each of block) states.set(each.node.node_id, { status: 'blocked', runId: null })
    for (const each of start) {
      expect(each.depends_on.every((id) => states.get(id)?.status === 'completed')).toBe(true)
      states.set(each.node_id, { status: 'running', runId: null })
      running.push(each.node_id)
      order.push(each.node_id)
    }
    mostRunning = Math.max(mostRunning, running.length)
    if (done) break
    expect(running.length).toBeGreaterThan(0)
    const [id, status] = end(running)
    running.splice(running.indexOf(id), 1)
    states.set(id, { status, runId: null })
  }
  return { statuses: new Map([...states].map(([id, state]) => [id, state.status])), order, mostRunning, decisions }
}

describe('driven to the end', () => {
  const first = (running: string[]) => [running[0] ?? '', 'completed'] as const

  it('a chain of 2,000 nodes completes in order, quickly', { timeout: 10_000 }, () => {
    const nodes = Array.from({ length: 2000 }, (_, index) => (index === 0 ? node('n0') : node(`n${index}`, `n${index - 1}`)))
    const { order, mostRunning, decisions } = drive(graph(...nodes), 16, first)
    expect(order).toEqual(nodes.map((each) => each.node_id))
    expect({ mostRunning, decisions }).toEqual({ mostRunning: 1, decisions: 2001 })
  })

  it('a failure at the head of a chain of 2,000 nodes blocks the rest in one decision', () => {
    const nodes = Array.from({ length: 2000 }, (_, index) => (index === 0 ? node('n0') : node(`n${index}`, `n${index - 1}`)))
    const { statuses, decisions } = drive(graph(...nodes), 16, ([id = '']) => [id, 'failed'])
    expect([...statuses.values()].filter((status) => status === 'blocked')).toHaveLength(1999)
    expect(decisions).toBe(2)
  })

  it('a fan-in of 500 starts the collector last, never more than 16 at once', { timeout: 10_000 }, () => {
    const sources = Array.from({ length: 500 }, (_, index) => node(`s${index}`))
    const { order, mostRunning } = drive(graph(...sources, node('collector', ...sources.map((each) => each.node_id))), 16, (running) => [
      running.at(-1) ?? '',
      'completed',
    ])
    expect(order).toHaveLength(501)
    expect(order.at(-1)).toBe('collector')
    expect(mostRunning).toBe(16)
  })

  it('every graph ends; a node is blocked exactly when something it rests on failed, and all else runs once', () => {
    const arbitrary = fc.integer({ min: 1, max: 12 }).chain((count) =>
      fc.record({
        nodes: fc.tuple(
          ...Array.from({ length: count }, (_, index) =>
            fc.subarray(Array.from({ length: index }, (__, other) => `n${other}`)).map((needed) => node(`n${index}`, ...needed)),
          ),
        ),
        failing: fc.subarray(Array.from({ length: count }, (_, index) => `n${index}`)),
        picks: fc.array(fc.nat(100), { minLength: count, maxLength: count }),
        concurrentNodesMax: fc.integer({ min: 1, max: 4 }),
      }),
    )
    fc.assert(
      fc.property(arbitrary, ({ nodes, failing, picks, concurrentNodesMax }) => {
        let turn = 0
        const { statuses, order, mostRunning } = drive(graph(...nodes), concurrentNodesMax, (running) => {
          const id = running[(picks[turn++] ?? 0) % running.length] ?? ''
          return [id, failing.includes(id) ? 'failed' : 'completed']
        })
        expect(mostRunning).toBeLessThanOrEqual(concurrentNodesMax)
        expect(new Set(order).size).toBe(order.length)
        for (const each of nodes) {
          const stuck = each.depends_on.some((id) => statuses.get(id) !== 'completed')
          expect(statuses.get(each.node_id)).toBe(stuck ? 'blocked' : failing.includes(each.node_id) ? 'failed' : 'completed')
        }
      }),
      { seed: 6, numRuns: 200 },
    )
  })
})
