import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { broughtIn, fitted, layered, nodeSize, zoomed } from './layout.ts'

/** A graph of `n` nodes in which each depends only on earlier ones. */
const graphs = fc
  .array(fc.array(fc.nat(), { maxLength: 4 }), { minLength: 1, maxLength: 60 })
  .map((drawn) => drawn.map((all, node) => [...new Set(node === 0 ? [] : all.map((each) => each % node))]))

describe.each([false, true])('the places of nodes, from the top down: %s', (isVertical) => {
  const placesOf = (graph: number[][]): readonly { along: number; across: number }[] =>
    layered(graph, { isVertical }).map(({ x, y }) =>
      isVertical ? { along: y, across: x } : { along: x, across: y },
    )
  const size = isVertical ? nodeSize.width : nodeSize.height

  it('are behind all that they depend on', () =>
    fc.assert(
      fc.property(graphs, (graph) => {
        const places = placesOf(graph)
        graph.forEach((all, node) => {
          for (const each of all) expect(places[node]!.along).toBeGreaterThan(places[each]!.along)
        })
      }),
    ))

  it('do not overlap', () =>
    fc.assert(
      fc.property(graphs, (graph) => {
        const layers = Map.groupBy(placesOf(graph), ({ along }) => along)
        expect([...layers.values()].flat()).toHaveLength(graph.length)
        for (const layer of layers.values()) {
          const at = layer.map(({ across }) => across).toSorted((a, b) => a - b)
          at.slice(1).forEach((each, index) => expect(each - at[index]!).toBeGreaterThanOrEqual(size))
        }
      }),
    ))

  it('end also for a circle, which no graph has', () => expect(layered([[1], [0]])).toHaveLength(2))
})

describe('the view', () => {
  const window = { width: 800, height: 600 }

  it('shows all of a small drawing', () => {
    const places = [
      { x: 0, y: -250 },
      { x: 600, y: 250 },
    ]
    const { scale, x, y } = fitted(places, window)
    expect(x).toBeGreaterThanOrEqual(0)
    expect((600 + nodeSize.width) * scale + x).toBeLessThanOrEqual(800)
    expect(-250 * scale + y).toBeGreaterThanOrEqual(0)
    expect((250 + nodeSize.height) * scale + y).toBeLessThanOrEqual(600)
  })

  it.each([false, true])(
    'shows the beginning of a large drawing, with texts that can be read',
    (isVertical) => {
      const places = [
        { x: 0, y: 0 },
        { x: 9_000, y: 9_000 },
      ]
      const { scale, x, y } = fitted(places, window, isVertical)
      expect(scale).toBe(0.8)
      // The first layer is at the edge, and the middle of the layers is in the middle.
      expect(isVertical ? y : x).toBe(20)
      expect(isVertical ? x : y).toBeLessThan(-3_000)
    },
  )

  it('moves as little as it takes to show a node', () => {
    const view = { x: 0, y: 0, scale: 1 }
    expect(broughtIn(view, { x: 100, y: 100 }, window)).toEqual(view)
    expect(broughtIn(view, { x: 900, y: -50 }, window)).toEqual({ scale: 1, x: -290, y: 70 })
  })

  it('keeps the point under the pointer when it is zoomed', () => {
    const view = { x: 30, y: 40, scale: 0.5 }
    const at = { x: 200, y: 120 }
    const next = zoomed(view, 1.7, at)
    expect((at.x - next.x) / next.scale).toBeCloseTo((at.x - view.x) / view.scale)
    expect((at.y - next.y) / next.scale).toBeCloseTo((at.y - view.y) / view.scale)
  })
})
