import { expect, test } from 'vitest'
import { answer } from '../../test/checked-answer.ts'
import { newStream, teamTask, workflowTask } from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { openReadModel } from '../read-model.ts'

test('a graph has each node with its edges, its state and what its run did', async () => {
  using model = await modelOf((stream) => teamTask(stream.log('t')))
  const graph = answer(model.sql, 'graph', { task_id: 't' })
  expect(graph.teams).toMatchObject([{ workflow: 'GraphWorkflow', status: 'incomplete', nodes: 4 }])
  expect(
    graph.nodes.map(({ node_id, depends_on, status, failure_class }) => [
      node_id,
      depends_on,
      status,
      failure_class,
    ]),
  ).toEqual([
    ['gather', [], 'completed', null],
    ['check', [0], 'failed', 'evidence_missing'],
    ['write', [0], 'completed', null],
    ['publish', [1, 2], 'blocked', null],
  ])
  expect(graph.nodes[0]).toMatchObject({ team: 0, agent_name: 'gather', tokens: 15, calls: 1, waits: false })
  expect([graph.more, graph.next]).toEqual([false, null])
})

test('a page of a graph leads to the next one', async () => {
  using model = await modelOf((stream) => teamTask(stream.log('t')))
  const all = answer(model.sql, 'graph', { task_id: 't' })
  const first = answer(model.sql, 'graph', { task_id: 't', limit: 3 })
  const second = answer(model.sql, 'graph', { task_id: 't', limit: 3, after: first.next ?? 0 })
  expect([first.more, second.more]).toEqual([true, false])
  expect([...first.nodes, ...second.nodes]).toEqual(all.nodes)
})

test.each([
  ['an agent and its team', teamTask],
  ['a workflow that grows', workflowTask],
])('a reader of %s who asks for changes has the whole graph after each message', async (_, write) => {
  const stream = newStream()
  write(stream.log('t'))
  using model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  const known = new Map<string, unknown>()
  let since = 0
  let news = 0
  for (const message of stream.messages) {
    await model.apply([message])
    const changes = answer(model.sql, 'graph', { task_id: 't', changed_after: since })
    for (const node of changes.nodes) known.set(node.node_id, node)
    news += changes.nodes.length
    since = changes.last_taskseq
    const whole = answer(model.sql, 'graph', { task_id: 't' }).nodes
    expect([...known.values()]).toEqual(whole)
  }
  expect(known.size).toBeGreaterThan(3)
  expect(news).toBeLessThan(known.size * stream.messages.length)
})
