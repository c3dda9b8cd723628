import type { QueryOutput } from '@beaver/contracts'
import { expect, it } from 'vitest'
import { type CompactNode, readGraph } from './whole-graph.ts'

type Answer = QueryOutput<'graph'>
const node = (at: number, over: Partial<CompactNode> = {}): CompactNode => ({
  ...{ node_id: `n${at}`, team: 0, declared_index: at, kind: 'agent', depends_on: [], status: 'pending' },
  ...{ run_id: null, agent_name: null, started_at: null, ended_at: null, failure_class: null, waits: false },
  ...{ tokens: 0, calls: 0, tool_calls: 0, tool_calls_failed: 0, changed_taskseq: 1 },
  ...over,
})
const answer = (last: number, nodes: readonly CompactNode[], next: number | null = null): Answer => ({
  ...{ task_id: 't', session_id: 's', tenant: 'local', last_taskseq: last, teams: [] },
  ...{ nodes: [...nodes], more: next !== null, next },
})

/** Answers one after the other, and keeps what was asked. */
function pages(...answers: readonly Answer[]): {
  readonly asked: unknown[]
  read: (input: object) => Promise<Answer>
} {
  const asked: unknown[] = []
  return {
    asked,
    read: (input) => {
      asked.push(input)
      return Promise.resolve(answers[asked.length - 1] ?? answer(0, []))
    },
  }
}

it('reads all pages, and later only what changed', async () => {
  const { read, asked } = pages(
    answer(9, [node(0), node(1)], 2),
    answer(11, [node(2)]),
    answer(15, [node(1, { status: 'running' }), node(3)]),
  )
  const first = await readGraph(read, null)
  const second = await readGraph(read, first)
  expect(second.nodes.map(({ node_id, status }) => `${node_id} ${status}`)).toEqual([
    'n0 pending',
    'n1 running',
    'n2 pending',
    'n3 pending',
  ])
  // Node 0 may have changed at event 10, while the second page was read.
  expect(asked).toMatchObject([
    { changed_after: 0, after: 0 },
    { changed_after: 0, after: 2 },
    { changed_after: 9, after: 0 },
  ])
  expect(second.last).toBe(15)
})

it('begins anew if the journal is another one', async () => {
  const { read, asked } = pages(answer(9, [node(0), node(1)]), answer(3, []), answer(3, [node(0)]))
  const again = await readGraph(read, await readGraph(read, null))
  expect([again.nodes.length, again.last, asked.at(-1)]).toEqual([
    1,
    3,
    expect.objectContaining({ changed_after: 0 }),
  ])
})
