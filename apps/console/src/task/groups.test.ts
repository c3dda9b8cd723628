import { describe, expect, it } from 'vitest'
import { grouped, type GraphItem } from './groups.ts'

const node = (id: string, dependsOn: readonly string[] = [], status = 'completed'): GraphItem => ({
  ...{ key: `node:t/${id}`, id, name: id, status, durationMs: 5, dependsOn },
})
const ids = (count: number): string[] => Array.from({ length: count }, (_, at) => `n${at}`)

/** One node, many that depend on it, and one that depends on all of them. */
const fan = (count: number): GraphItem[] => [
  node('start'),
  ...ids(count).map((id) => node(id, ['start'])),
  node('end', ids(count)),
]
const shown = (nodes: readonly GraphItem[]): string[] =>
  nodes.map(({ name, group }) => (group === undefined ? name : `${name}: ${group.text}`))

describe('a graph in groups', () => {
  it('has groups of one layer, and a layer with one node has that node', () => {
    const drawn = grouped(fan(450), () => false, null)
    expect(shown(drawn)).toEqual([
      'start',
      'Step 2, 1–200: 200 nodes, 200 completed',
      'Step 2, 201–400: 200 nodes, 200 completed',
      'Step 2, 401–450: 50 nodes, 50 completed',
      'end',
    ])
    expect(drawn.map(({ dependsOn }) => dependsOn)).toEqual([
      [],
      ['start'],
      ['start'],
      ['start'],
      ['group:1/0', 'group:1/200', 'group:1/400'],
    ])
  })

  it('has the nodes of a group that is open, or that has the selected node', () => {
    for (const drawn of [
      grouped(fan(450), (key) => key === 'group:1/400', null),
      grouped(fan(450), () => false, 'node:t/n449'),
    ]) {
      expect(drawn).toHaveLength(2 + 2 + 50)
      expect(drawn.at(-1)?.dependsOn.slice(0, 3)).toEqual(['group:1/0', 'group:1/200', 'n400'])
    }
  })

  it('says of a group what is most urgent in it', () => {
    const nodes = [...fan(3)]
    nodes[2] = node('n1', ['start'], 'failed')
    const [, group] = grouped(nodes, () => false, null)
    expect([group?.status, group?.group?.text]).toEqual(['failed', '3 nodes, 1 failed'])
  })
})
