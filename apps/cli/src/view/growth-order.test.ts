import fc from 'fast-check'
import { expect, test } from 'vitest'
import { growthOrder } from './growth-order.ts'

interface Node {
  readonly id: string
  readonly after: string | null
}
const order = (nodes: readonly Node[]): Node[] =>
  growthOrder(nodes, { id: (node) => node.id, addedAfter: (node) => node.after })
const ids = (...nodes: [string, string | null][]): string =>
  order(nodes.map(([id, after]) => ({ id, after })))
    .map((node) => node.id)
    .join(' ')

test('what a graph grew by stands after the node it grew after, in declared order, at any depth', () => {
  expect(
    ids(['split', null], ['collect', null], ['item 1', 'split'], ['item 2', 'split'], ['part', 'item 1']),
  ).toBe('split item 1 part item 2 collect')
})

test('every node stands once, whatever it says it was added after', () => {
  const id = fc.integer({ min: 0, max: 6 }).map(String)
  const nodes = fc.uniqueArray(fc.record({ id, after: fc.option(id) }), { selector: (node) => node.id })
  const sorted = (all: readonly Node[]): Node[] => all.toSorted((a, b) => a.id.localeCompare(b.id))
  fc.assert(
    fc.property(nodes, (all) => {
      expect(sorted(order(all))).toEqual(sorted(all))
    }),
  )
})
