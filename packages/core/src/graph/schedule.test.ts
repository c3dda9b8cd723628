import { ownMs } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { code, graph, node, quorum } from '../../test/log.ts'
import type { ExecutionGraph } from './execution-graph.ts'
import { decideTeam, type NodeStates, type NodeStatus, teamOutcome } from './schedule.ts'

const given = (statuses: Record<string, NodeStatus>): NodeStates =>
  new Map(Object.entries(statuses).map(([id, status]) => [id, { status, runId: null }]))

function decided(
  of: ExecutionGraph,
  statuses: Record<string, NodeStatus>,
  limits: { concurrentNodesMax: number; stopping?: boolean } = { concurrentNodesMax: 16 },
) {
  const { start, block, skip, done } = decideTeam(of, given(statuses), limits)
  return {
    start: start.map((each) => each.node_id),
    block: block.map((each) => [each.node.node_id, each.causeNodeId]),
    ...(skip.length === 0 ? {} : { skip: skip.map((each) => each.node_id) }),
    done,
  }
}

const diamond = graph(node('a'), node('b', 'a'), node('c', 'a'), node('d', 'b', 'c'))
const wide = graph(node('a'), node('b'), node('c'), node('d'))

describe('dataflow (D1)', () => {
  it('starts a node without dependencies', () =>
    expect(decided(diamond, {})).toEqual({ start: ['a'], block: [], done: false }))

  it('starts a node when all its dependencies have completed', () => {
    expect(decided(diamond, { a: 'completed' }).start).toEqual(['b', 'c'])
    expect(decided(diamond, { a: 'completed', b: 'completed', c: 'running' }).start).toEqual([])
    expect(decided(diamond, { a: 'completed', b: 'completed', c: 'completed' }).start).toEqual(['d'])
  })

  it('does not wait for layers: a ready node starts while a node of an earlier layer runs', () => {
    const two = graph(node('slow'), node('fast'), node('after', 'fast'))
    expect(decided(two, { slow: 'running', fast: 'completed' }).start).toEqual(['after'])
  })

  it('does not start a node again that runs or has ended', () => {
    expect(decided(wide, { a: 'running', b: 'completed', c: 'failed', d: 'cancelled' })).toEqual({
      start: [],
      block: [],
      done: false,
    })
  })

  it('is done when every node has ended, and not before', () => {
    expect(decided(diamond, { a: 'completed', b: 'completed', c: 'completed', d: 'running' }).done).toBe(
      false,
    )
    expect(decided(diamond, { a: 'completed', b: 'completed', c: 'completed', d: 'completed' })).toEqual({
      start: [],
      block: [],
      done: true,
    })
  })
})

describe('bounded concurrency', () => {
  it('starts no more nodes than there are free places, the first declared ones', () => {
    expect(decided(wide, {}, { concurrentNodesMax: 2 }).start).toEqual(['a', 'b'])
    expect(decided(wide, { d: 'running' }, { concurrentNodesMax: 2 }).start).toEqual(['a'])
  })

  it('starts none while all places are taken, even if more nodes run than allowed', () => {
    expect(decided(wide, { a: 'running', b: 'running' }, { concurrentNodesMax: 2 }).start).toEqual([])
    expect(
      decided(wide, { a: 'running', b: 'running', c: 'running' }, { concurrentNodesMax: 2 }).start,
    ).toEqual([])
  })
})

describe('blocking (D2)', () => {
  it('does not count a lost dependency twice, as cancelled and as blocked by a later failure', () => {
    const of = graph(node('a'), node('b', 'a'), quorum(0, 'c', 'b'), node('d', 'c'))
    expect(decided(of, { a: 'failed', b: 'cancelled', c: 'completed' })).toMatchObject({
      start: ['d'],
      block: [],
    })
  })

  const chain = graph(node('a'), node('b', 'a'), node('c', 'b'), node('d'))

  it.each(['failed', 'cancelled'] as const)(
    'blocks all nodes that depend on a %s node, transitively, with that node as the cause, and no other node',
    (status) => {
      expect(decided(chain, { a: status })).toEqual({
        start: ['d'],
        block: [
          ['b', 'a'],
          ['c', 'a'],
        ],
        done: false,
      })
    },
  )

  it('does not block a running node downstream of another failure', () => {
    expect(decided(chain, { a: 'completed', b: 'running', d: 'failed' })).toEqual({
      start: [],
      block: [],
      done: false,
    })
  })

  it('blocks a node as soon as one of its dependencies failed, while the others run', () => {
    expect(decided(diamond, { a: 'completed', b: 'running', c: 'failed' })).toEqual({
      start: [],
      block: [['d', 'c']],
      done: false,
    })
  })

  it('names the first declared failure if there are several', () => {
    expect(decided(diamond, { a: 'completed', b: 'failed', c: 'failed' }).block).toEqual([['d', 'b']])
  })

  it('does not block a blocked node again, but blocks the nodes behind it', () => {
    expect(decided(chain, { a: 'failed', b: 'blocked' }).block).toEqual([['c', 'a']])
    expect(decided(chain, { a: 'failed', b: 'blocked', c: 'blocked', d: 'completed' })).toEqual({
      start: [],
      block: [],
      done: true,
    })
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
    expect(decided(wide, { a: 'completed' }, { concurrentNodesMax: 16, stopping: true })).toEqual({
      start: [],
      block: [],
      done: false,
    })
    expect(
      decided(
        wide,
        { a: 'running', b: 'cancelled', c: 'cancelled', d: 'cancelled' },
        { concurrentNodesMax: 16, stopping: true },
      ).done,
    ).toBe(false)
  })

  it('is done when all waiting nodes were cancelled and all running nodes have ended', () => {
    expect(
      decided(
        wide,
        { a: 'completed', b: 'cancelled', c: 'cancelled', d: 'cancelled' },
        { concurrentNodesMax: 16, stopping: true },
      ).done,
    ).toBe(true)
  })
})

describe('a quorum (D4)', () => {
  const two = graph(node('a'), node('b'), node('c'), quorum(2, 'join', 'a', 'b', 'c'), node('after', 'join'))

  it('waits until all dependencies have ended, even if enough have completed', () => {
    expect(decided(two, { a: 'completed', b: 'completed', c: 'running' })).toEqual({
      start: [],
      block: [],
      done: false,
    })
  })

  it('starts the node when all dependencies have ended and enough have completed', () => {
    expect(decided(two, { a: 'completed', b: 'failed', c: 'completed' }).start).toEqual(['join'])
    expect(decided(two, { a: 'completed', b: 'completed', c: 'completed' }).start).toEqual(['join'])
    expect(decided(two, { a: 'completed', b: 'cancelled', c: 'completed' }).start).toEqual(['join'])
  })

  it('blocks neither the node nor the nodes behind it while enough dependencies may still complete', () => {
    expect(decided(two, { a: 'failed', b: 'running', c: 'running' })).toEqual({
      start: [],
      block: [],
      done: false,
    })
  })

  it('blocks the node and all behind it as soon as too few can complete; the cause is the failure that made them too few', () => {
    expect(decided(two, { a: 'failed', b: 'running', c: 'failed' }).block).toEqual([
      ['join', 'c'],
      ['after', 'c'],
    ])
  })

  it('counts a blocked dependency as lost, once', () => {
    const through = graph(
      node('x'),
      node('a', 'x'),
      node('b', 'x'),
      node('c'),
      quorum(1, 'join', 'a', 'b', 'c'),
    )
    expect(decided(through, { x: 'failed', c: 'running' }).block).toEqual([
      ['a', 'x'],
      ['b', 'x'],
    ])
    expect(decided(through, { x: 'failed', a: 'blocked', b: 'blocked', c: 'completed' }).start).toEqual([
      'join',
    ])
    expect(decided(through, { x: 'failed', a: 'blocked', b: 'blocked', c: 'failed' }).block).toEqual([
      ['join', 'c'],
    ])
  })

  it('starts the node when all dependencies have ended, whatever their outcome, if it is zero', () => {
    const any = graph(node('a'), node('b', 'a'), quorum(0, 'join', 'a', 'b'))
    expect(decided(any, { a: 'failed', b: 'blocked' }).start).toEqual(['join'])
    expect(decided(any, { a: 'running' }).start).toEqual([])
  })

  it('asks for all dependencies if it is larger than their number', () => {
    const all = graph(node('a'), node('b'), quorum(5, 'join', 'a', 'b'))
    expect(decided(all, { a: 'completed', b: 'completed' }).start).toEqual(['join'])
    expect(decided(all, { a: 'completed', b: 'failed' }).block).toEqual([['join', 'b']])
  })

  it.each([
    [{ a: 'skipped', b: 'failed', c: 'completed' }, 'blocked by b'],
    [{ a: 'skipped', b: 'skipped', c: 'completed' }, 'starts'],
    [{ a: 'skipped', b: 'skipped', c: 'failed' }, 'blocked by c'],
    [{ a: 'skipped', b: 'completed', c: 'completed' }, 'starts'],
    [{ a: 'skipped', b: 'skipped', c: 'skipped' }, 'is skipped'],
  ] as const)(
    'of two over %j %s: it counts only dependencies that were not skipped, and asks for all of them if they are fewer',
    (statuses, says) => {
      const { start, block, skip } = decided(two, statuses)
      const said = start.includes('join')
        ? 'starts'
        : skip?.includes('join')
          ? 'is skipped'
          : `blocked by ${block[0]?.[1]}`
      expect(said).toBe(says)
    },
  )
})

describe('skipping (D5)', () => {
  const fork = graph(
    node('a'),
    node('yes', 'a'),
    node('no', 'a'),
    node('after-no', 'no'),
    node('join', 'yes', 'after-no'),
  )

  it('skips a node if all its dependencies were skipped', () => {
    expect(decided(fork, { a: 'completed', yes: 'running', no: 'skipped' })).toEqual({
      start: [],
      block: [],
      skip: ['after-no'],
      done: false,
    })
  })

  it('starts a join when the branches that were not skipped have completed', () => {
    expect(
      decided(fork, { a: 'completed', yes: 'running', no: 'skipped', 'after-no': 'skipped' }).start,
    ).toEqual([])
    expect(
      decided(fork, { a: 'completed', yes: 'completed', no: 'skipped', 'after-no': 'skipped' }).start,
    ).toEqual(['join'])
  })

  it('blocks a join if a branch that was not skipped failed', () => {
    expect(
      decided(fork, { a: 'completed', yes: 'failed', no: 'skipped', 'after-no': 'skipped' }).block,
    ).toEqual([['join', 'yes']])
  })

  it('never skips a node without dependencies', () =>
    expect(decided(graph(node('a')), {}).start).toEqual(['a']))

  it('skips nothing while stopping', () => {
    const stopping = decided(
      fork,
      { a: 'completed', yes: 'running', no: 'skipped' },
      { concurrentNodesMax: 16, stopping: true },
    )
    expect(stopping).toEqual({ start: [], block: [], done: false })
  })
})

describe('code (D6)', () => {
  it('needs no place: it starts while all places are taken, and leaves the free places to other nodes', () => {
    const mixed = graph(code('x'), node('a'), code('y'), node('b'), code('z'))
    expect(decided(mixed, {}, { concurrentNodesMax: 1 }).start).toEqual(['x', 'a', 'y', 'z'])
    expect(decided(mixed, { a: 'running' }, { concurrentNodesMax: 1 }).start).toEqual(['x', 'y', 'z'])
  })
})

describe('teamOutcome (D-35)', () => {
  it.each([
    [{ a: 'completed', b: 'completed', c: 'completed', d: 'completed' }, false, 'complete'],
    [{ a: 'completed', b: 'skipped', c: 'skipped', d: 'completed' }, false, 'complete'],
    [{ a: 'completed', b: 'completed', c: 'failed', d: 'completed' }, false, 'incomplete'],
    [{ a: 'completed', b: 'completed', c: 'failed', d: 'blocked' }, false, 'incomplete'],
    [{ a: 'completed', b: 'cancelled', c: 'completed', d: 'completed' }, false, 'incomplete'],
    [{ a: 'completed', b: 'cancelled', c: 'failed', d: 'cancelled' }, true, 'cancelled'],
    [{ a: 'completed', b: 'completed', c: 'completed', d: 'completed' }, true, 'complete'],
    [{ a: 'completed', b: 'completed', c: 'completed' }, false, 'incomplete'],
  ] as const)('for %j, told to stop: %j, is %s', (statuses, stopped, outcome) =>
    expect(teamOutcome(wide, given(statuses), stopped)).toBe(outcome),
  )
})

interface Driven {
  readonly statuses: Map<string, NodeStatus>
  readonly order: string[]
  readonly mostRunning: number
  readonly decisions: number
}

/** Runs a graph to its end, as a supervisor would: start nodes, end one running node, decide again. */
function drive(
  of: ExecutionGraph,
  concurrentNodesMax: number,
  end: (running: string[]) => readonly [id: string, status: 'completed' | 'failed'],
): Driven {
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
  return {
    statuses: new Map([...states].map(([id, state]) => [id, state.status])),
    order,
    mostRunning,
    decisions,
  }
}

describe('a graph that is driven to its end', () => {
  const first = (running: string[]) => [running[0] ?? '', 'completed'] as const

  it('completes a chain of 2,000 nodes in order, quickly', async () => {
    const nodes = Array.from({ length: 2000 }, (_, index) =>
      index === 0 ? node('n0') : node(`n${index}`, `n${index - 1}`),
    )
    const work = (): void => {
      const { order, mostRunning, decisions } = drive(graph(...nodes), 16, first)
      expect(order).toEqual(nodes.map((each) => each.node_id))
      expect({ mostRunning, decisions }).toEqual({ mostRunning: 1, decisions: 2001 })
    }
    expect(await ownMs(work)).toBeLessThan(10_000)
  })

  it('blocks the rest of a chain of 2,000 nodes in one decision, if its head fails', () => {
    const nodes = Array.from({ length: 2000 }, (_, index) =>
      index === 0 ? node('n0') : node(`n${index}`, `n${index - 1}`),
    )
    const { statuses, decisions } = drive(graph(...nodes), 16, ([id = '']) => [id, 'failed'])
    expect([...statuses.values()].filter((status) => status === 'blocked')).toHaveLength(1999)
    expect(decisions).toBe(2)
  })

  it('starts the collector of a fan-in of 500 last, and never runs more than 16 nodes at once', () => {
    const sources = Array.from({ length: 500 }, (_, index) => node(`s${index}`))
    const { order, mostRunning } = drive(
      graph(...sources, node('collector', ...sources.map((each) => each.node_id))),
      16,
      (running) => [running.at(-1) ?? '', 'completed'],
    )
    expect(order).toHaveLength(501)
    expect(order.at(-1)).toBe('collector')
    expect(mostRunning).toBe(16)
  })

  it('always ends; a node is blocked exactly if one of its ancestors failed, and every other node runs once', () => {
    const arbitrary = fc.integer({ min: 1, max: 12 }).chain((count) =>
      fc.record({
        nodes: fc.tuple(
          ...Array.from({ length: count }, (_, index) =>
            fc
              .subarray(Array.from({ length: index }, (__, other) => `n${other}`))
              .map((needed) => node(`n${index}`, ...needed)),
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
          expect(statuses.get(each.node_id)).toBe(
            stuck ? 'blocked' : failing.includes(each.node_id) ? 'failed' : 'completed',
          )
        }
      }),
      { numRuns: 200 },
    )
  })
})
