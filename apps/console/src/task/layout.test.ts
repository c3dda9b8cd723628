import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fitted, layered, nodeSize, zoomed } from './layout.ts'

/** A graph of `n` nodes in which each depends only on earlier ones. */
const graphs = fc
  .array(fc.array(fc.nat(), { maxLength: 4 }), { minLength: 1, maxLength: 60 })
  .map((drawn) => drawn.map((all, node) => [...new Set(node === 0 ? [] : all.map((each) => each % node))]))

describe('the places of nodes', () => {
  it('are right of all that they depend on', () =>
    fc.assert(
      fc.property(graphs, (graph) => {
        const places = layered(graph)
        graph.forEach((all, node) => {
          for (const each of all) expect(places[node]!.x).toBeGreaterThan(places[each]!.x)
        })
      }),
    ))

  it('do not overlap', () =>
    fc.assert(
      fc.property(graphs, (graph) => {
        const places = layered(graph)
        const taken = new Set(places.map(({ x, y }) => `${x} ${y}`))
        expect(taken.size).toBe(graph.length)
        const columns = Map.groupBy(places, ({ x }) => x)
        for (const column of columns.values()) {
          const ys = column.map(({ y }) => y).toSorted((a, b) => a - b)
          ys.slice(1).forEach((y, at) => expect(y - ys[at]!).toBeGreaterThanOrEqual(nodeSize.height))
        }
      }),
    ))

  it('end also for a circle, which no graph has', () => expect(layered([[1], [0]])).toHaveLength(2))
})

describe('the view', () => {
  it('shows all of the drawing', () => {
    const places = [
      { x: 0, y: -500 },
      { x: 2_000, y: 500 },
    ]
    const { scale, x, y } = fitted(places, { width: 800, height: 600 })
    expect(x).toBeGreaterThanOrEqual(0)
    expect((2_000 + nodeSize.width) * scale + x).toBeLessThanOrEqual(800)
    expect(-500 * scale + y).toBeGreaterThanOrEqual(0)
    expect((500 + nodeSize.height) * scale + y).toBeLessThanOrEqual(600)
  })

  it('keeps the point under the pointer when it is zoomed', () => {
    const view = { x: 30, y: 40, scale: 0.5 }
    const at = { x: 200, y: 120 }
    const next = zoomed(view, 1.7, at)
    expect((at.x - next.x) / next.scale).toBeCloseTo((at.x - view.x) / view.scale)
    expect((at.y - next.y) / next.scale).toBeCloseTo((at.y - view.y) / view.scale)
  })
})
