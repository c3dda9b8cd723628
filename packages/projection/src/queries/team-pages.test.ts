import type { QueryOutput } from '@beaver/contracts'
import { event, type RunId, type TeamRunId } from '@beaver/core'
import { describe, expect, test } from 'vitest'
import {
  answer as said,
  graphOf,
  newStream,
  result,
  runCompleted,
  runStarted,
  submitted,
  teamTask,
  userMessage,
} from '../../test/journal-fixture.ts'
import { answer } from '../../test/checked-answer.ts'
import { openReadModel, type ReadModel } from '../read-model.ts'

const failed = 'n250'

/** A team of 300 nodes without edges: all completed but one, far behind the first page. */
async function largeTeam(): Promise<ReadModel> {
  const stream = newStream()
  const log = stream.log('large')
  const team_run_id = 'team' as TeamRunId
  const graph = graphOf(Array.from({ length: 300 }, (_, n) => ({ id: `n${n}` })))
  log.write(
    submitted(log.log),
    runStarted('root'),
    event(
      'task_team_run_started',
      { team_run_id, run_id: 'root' as RunId, call_id: 'c', graph, concurrent_nodes_max: 16 },
      'root',
    ),
  )
  for (const { node_id } of graph.nodes) {
    const of = { team_run_id, node_id, run_id: `run-${node_id}` as RunId }
    log.write(
      event('node_started', { ...of, input: null }),
      runStarted(of.run_id, { parent: 'root', node: node_id, team: team_run_id }),
      userMessage(of.run_id, `Do ${node_id}`),
      said(of.run_id, `${node_id} is done`),
      runCompleted(of.run_id),
      node_id === failed
        ? event('node_failed', { ...of, failure: { class: 'internal', message: 'No code for this.' } })
        : event('node_completed', of),
    )
  }
  log.write(event('task_incomplete', result()))
  const model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  await model.apply(stream.messages)
  return model
}

const teamOf = (of: QueryOutput<'task'>) => of.runs[0]!.teams[0]!

describe('a team that does not fit one page', () => {
  test('is counted whole on every page, and the node that failed is on the first', async () => {
    using model = await largeTeam()
    for (const limit of [1, 2, 200]) {
      const team = teamOf(answer(model.sql, 'task', { task_id: 'large', limit }))
      expect(team).toMatchObject({ node_count: 300, nodes_by_status: { completed: 299, failed: 1 } })
      expect(team.nodes).toHaveLength(limit)
      if (limit > 1)
        expect(team.nodes.at(-1)).toMatchObject({
          node_id: failed,
          declared_index: 250,
          status: 'failed',
          run: { run_id: `run-${failed}` },
        })
    }
  })

  test('has every node on its pages, each in its place, with its run', async () => {
    using model = await largeTeam()
    const seen = new Map<string, number>()
    for (let after: number | null = 0; after !== null;) {
      const page: QueryOutput<'task'> = answer(model.sql, 'task', { task_id: 'large', limit: 90, after })
      expect(page.more).toBe(page.next !== null)
      for (const node of teamOf(page).nodes) {
        expect(node.run?.run_id).toBe(`run-${node.node_id}`)
        seen.set(node.node_id, (seen.get(node.node_id) ?? 0) + 1)
      }
      after = page.next
    }
    expect(seen.size).toBe(300)
    expect([...seen].filter(([, times]) => times > 1)).toEqual([[failed, 2]])
  })

  test('has no more pages after the last', async () => {
    using model = await largeTeam()
    expect(answer(model.sql, 'task', { task_id: 'large', limit: 300 })).toMatchObject({
      more: false,
      next: null,
    })
    expect(
      teamOf(answer(model.sql, 'task', { task_id: 'large', after: Number.MAX_SAFE_INTEGER })).nodes,
    ).toEqual([])
  })
})

describe('node', () => {
  test('tells what the node was given, each of its calls, and what it returned', async () => {
    using model = await largeTeam()
    expect(answer(model.sql, 'node', { task_id: 'large', node_id: failed })).toMatchObject({
      task_id: 'large',
      team_run_id: 'team',
      other_team_run_ids: [],
      workflow: 'GraphWorkflow',
      node: {
        node_id: failed,
        status: 'failed',
        failure: { class: 'internal' },
        run: { run_id: `run-${failed}` },
      },
      instruction: `Do ${failed}`,
      input: `Do ${failed}`,
      output: `${failed} is done`,
      output_chars: 12,
      calls: [
        {
          kind: 'model',
          provider: 'openai',
          model: 'small',
          success: true,
          text: `${failed} is done`,
          input_tokens: 10,
          output_tokens: 5,
        },
      ],
      more: false,
    })
  })

  test('that is not there is refused with those that are', async () => {
    using model = await largeTeam()
    const refused = (node_id: string) => () => answer(model.sql, 'node', { task_id: 'large', node_id })
    expect(refused('N299')).toThrow('The task large has no node "N299". Its nodes: "n299", "n0"')
    expect(refused("'; drop table tasks; --")).toThrow('has no node')
    expect(() =>
      answer(model.sql, 'node', { task_id: 'large', node_id: 'n1', team_run_id: 'other' }),
    ).toThrow('These team runs have one: team.')
    expect(() => answer(model.sql, 'timeline', { task_id: 'large', node_id: 'nobody' })).toThrow(
      'has no node "nobody"',
    )
  })
})

test('the events and the timeline of a node are those of its run and those that name it', async () => {
  const stream = newStream()
  teamTask(stream.log('task-1'))
  using model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  await model.apply(stream.messages)
  const types = [
    'node_started',
    'run_started',
    'user_message_added',
    'assistant_message_added',
    'run_completed',
    'node_evidence_evaluated',
    'node_failed',
  ]
  const events = answer(model.sql, 'events', { task_id: 'task-1', node_id: 'check' }).events
  expect(events.map((each) => each.type)).toEqual(types)
  const told = answer(model.sql, 'timeline', { task_id: 'task-1', node_id: 'check' }).events
  expect(told.map((each) => each.kind)).toEqual(types)
  expect(new Set([...events, ...told].map((each) => each.node_id))).toEqual(new Set(['check']))
  const all = answer(model.sql, 'timeline', { task_id: 'task-1' }).events
  expect(all.filter((each) => each.node_id === 'write').map((each) => each.kind)).toEqual([
    ...types.slice(0, 5),
    'node_completed',
  ])
  expect(all.filter((each) => each.node_id === null).map((each) => each.kind)).toContain('task_submitted')
})
