import { ownMs } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import {
  answer,
  code,
  graph,
  node,
  plain,
  recorded,
  result,
  runStarted,
  submitted,
  taskEnd,
} from '../../test/log.ts'
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import { evolveTask, foldTask, newTask } from './task-state.ts'

const claimed = (daemon: string): DomainEvent => plain('task_claimed', { daemon })
const released = (daemon: string): DomainEvent => plain('task_released', { daemon, reason: 'shutdown' })
const user = (run: string): DomainEvent => plain('user_message_added', { content: '比较' }, run)
const folded = (...events: DomainEvent[]) => foldTask(recorded(...events))

describe('a task of one agent', () => {
  const log = [
    submitted,
    claimed('d1'),
    runStarted('r1'),
    user('r1'),
    answer('r1', null, [{ id: 'c1', name: 'read' }]),
    result('r1', 'c1', 'read'),
    answer('r1', 'fin'),
    plain('task_completed', taskEnd),
  ]

  it('folds to its complete state', () => {
    const task = folded(...log)
    expect(task).toMatchObject({
      status: 'completed',
      owner: 'd1',
      ownersLost: 0,
      cancelReason: null,
      rootRunId: 'r1',
      ended: { type: 'task_completed', data: { final_output: 'fin' } },
    })
    expect(task.submitted?.request.text).toBe('比较')
    expect(task.runs.get('r1')).toMatchObject({
      outputText: 'fin',
      outputSeq: 7,
      facts: [{ taskseq: 6, tool: 'read', success: true }],
    })
  })

  it('folds to the same state at once and event by event, and every time (T1)', () => {
    const task = newTask()
    for (const event of recorded(...log)) evolveTask(task, event)
    expect(task).toEqual(folded(...log))
    expect(folded(...log)).toEqual(folded(...log))
  })

  it.each([
    [[], 'submitted'],
    [[submitted], 'submitted'],
    [[submitted, claimed('d1')], 'running'],
    [[submitted, plain('task_failed', taskEnd)], 'failed'],
    [[submitted, plain('task_incomplete', taskEnd)], 'incomplete'],
    [[submitted, plain('task_cancelled', taskEnd)], 'cancelled'],
  ] as const)('%#: has the status of its log', (events, status) =>
    expect(folded(...events).status).toBe(status),
  )
})

describe('ownership', () => {
  it('counts a lost owner for a takeover without a release', () => {
    expect(folded(submitted, claimed('d1'), claimed('d2'), claimed('d3'))).toMatchObject({
      owner: 'd3',
      ownersLost: 2,
    })
  })

  it('counts no loss for a release', () => {
    expect(folded(submitted, claimed('d1'), released('d1'))).toMatchObject({ owner: null, ownersLost: 0 })
    expect(folded(submitted, claimed('d1'), released('d1'), claimed('d2'))).toMatchObject({
      owner: 'd2',
      ownersLost: 0,
    })
  })

  it('counts a loss for a daemon that crashed and claims again', () => {
    expect(folded(submitted, claimed('d1'), claimed('d1')).ownersLost).toBe(1)
  })

  it('shows the next owner a call in doubt after a crash in the middle of the call', () => {
    const started = plain('tool_call_started', { call_id: 'c1', tool_name: 'exec', idempotent: false }, 'r1')
    const task = folded(
      submitted,
      claimed('d1'),
      runStarted('r1'),
      user('r1'),
      answer('r1', null, [{ id: 'c1', name: 'exec' }]),
      started,
      claimed('d2'),
    )
    expect(task).toMatchObject({ status: 'running', owner: 'd2', ownersLost: 0, progressed: false })
    expect(task.runs.get('r1')).toMatchObject({
      status: 'acting',
      calls: [{ id: 'c1', started: true, idempotent: false, result: null }],
    })
  })
})

it('keeps the first reason of a cancellation', () => {
  const asked = (reason: string) => plain('task_cancel_requested', { reason })
  expect(folded(submitted, asked('first'), asked('second')).cancelReason).toBe('first')
})

describe('a team with a failed and a blocked node', () => {
  const team_run_id = 'team1'
  const of = (node_id: string, run_id: string) => ({ team_run_id, node_id, run_id })
  const teamStarted = plain(
    'task_team_run_started',
    {
      team_run_id,
      run_id: 'r1',
      call_id: 'c1',
      graph: graph(node('a'), node('b'), node('c', 'b'), node('d', 'a', 'c')),
      concurrent_nodes_max: 16,
    },
    'r1',
  )
  const failure = { class: 'evidence_missing' as const, message: 'no source' }
  const log = [
    submitted,
    claimed('d1'),
    runStarted('r1'),
    user('r1'),
    answer('r1', null, [{ id: 'c1', name: 'GraphWorkflow' }]),
    teamStarted,
    plain('node_started', { ...of('a', 'ra'), input: { instruction: 'Do it.' } }),
    plain('node_started', { ...of('b', 'rb'), input: null }),
    runStarted('ra', { parent: 'r1', node: 'a' }),
    runStarted('rb', { parent: 'r1', node: 'b' }),
    answer('rb', 'B says'),
    answer('ra', 'A says'),
    plain('node_failed', { ...of('b', 'rb'), failure }),
    plain('node_blocked', { team_run_id, node_id: 'c', cause_node_id: 'b' }),
    plain('node_blocked', { team_run_id, node_id: 'd', cause_node_id: 'b' }),
    plain('node_completed', of('a', 'ra')),
    plain('task_team_run_failed', { team_run_id, outcome: 'incomplete', message: '1 of 4' }),
    plain('task_incomplete', taskEnd),
  ] as const

  it('folds to the state of every node, in declared order', () => {
    const team = folded(...log).teams.get(team_run_id)
    const startedAtMs = 0 // by the task's clock
    const waited = {
      runId: null,
      startedAtMs: null,
      input: null,
      output: null,
      failure: null,
      causeNodeId: null,
      cancelReason: null,
    }
    expect([...(team?.nodes ?? [])]).toEqual([
      ['a', { ...waited, status: 'completed', runId: 'ra', startedAtMs, input: { instruction: 'Do it.' } }],
      ['b', { ...waited, status: 'failed', runId: 'rb', startedAtMs, failure }],
      ['c', { ...waited, status: 'blocked', causeNodeId: 'b' }],
      ['d', { ...waited, status: 'blocked', causeNodeId: 'b' }],
    ])
    expect(team?.startedAtMs).toBe(startedAtMs)
    expect(team?.outcome).toBe('incomplete')
  })

  it('separates the runs of the workers from the root', () => {
    const task = folded(...log)
    expect(task.rootRunId).toBe('r1')
    expect([...task.runs].map(([id, run]) => [id, run.outputText])).toEqual([
      ['r1', ''],
      ['ra', 'A says'],
      ['rb', 'B says'],
    ])
  })

  it('has no outcome while it runs, and its nodes wait', () => {
    const team = folded(...log.slice(0, 7)).teams.get(team_run_id)
    expect(team?.outcome).toBeNull()
    expect([...(team?.nodes.values() ?? [])].map((each) => each.status)).toEqual([
      'running',
      'waiting',
      'waiting',
      'waiting',
    ])
  })

  it('keeps the run of a node that is cancelled while it runs', () => {
    const cancelled = plain('node_cancelled', { team_run_id, node_id: 'a', reason: 'stop' })
    expect(
      folded(...log.slice(0, 7), cancelled)
        .teams.get(team_run_id)
        ?.nodes.get('a'),
    ).toMatchObject({ status: 'cancelled', runId: 'ra' })
  })

  it('is complete if its log says so', () => {
    expect(
      folded(
        ...log.slice(0, 7),
        plain('task_team_run_completed', { team_run_id, outcome: 'complete' }),
      ).teams.get(team_run_id)?.outcome,
    ).toBe('complete')
  })
})

describe('a team of a task that is a workflow without a root agent', () => {
  const team_run_id = 'team1'
  const start = plain('task_team_run_started', {
    team_run_id,
    run_id: null,
    call_id: null,
    graph: graph(node('a'), code('b', 'a')),
    concurrent_nodes_max: 16,
  })
  const worker = plain(
    'run_started',
    { ...(runStarted('ra', { node: 'a' }).data as DataOf<'run_started'>), parent_run_id: null },
    'ra',
  )

  it('has runs, and none of them is a root', () => {
    const task = folded(
      submitted,
      claimed('d1'),
      start,
      plain('node_started', { team_run_id, node_id: 'a', run_id: 'ra', input: null }),
      worker,
    )
    expect([...task.runs.keys()]).toEqual(['ra'])
    expect(task.rootRunId).toBeNull()
  })

  it('folds computed nodes, skipped nodes and requests to stop', () => {
    const ended = [
      plain('node_cancel_requested', { team_run_id, node_id: 'a', reason: 'enough' }),
      plain('node_skipped', { team_run_id, node_id: 'a', reason: 'no' }),
      plain('node_computed', { team_run_id, node_id: 'b', output: '42' }),
    ]
    const nodes = folded(submitted, start, ...ended).teams.get(team_run_id)?.nodes
    expect(nodes?.get('a')).toMatchObject({ status: 'skipped', cancelReason: 'enough' })
    expect(nodes?.get('b')).toMatchObject({ status: 'completed', output: '42', runId: null })
  })

  it('folds growth into its graph: new nodes wait, edges lead to existing nodes, and outputs are replaced', () => {
    const grown = plain('graph_extended', {
      team_run_id,
      node_id: 'a',
      nodes: [node('c', 'a')],
      edges: [['c', 'b']],
      outputs: ['b', 'c'],
      output: null,
    } as never)
    const team = folded(submitted, start, grown).teams.get(team_run_id)
    expect(team?.graph).toMatchObject({
      nodes: [
        { node_id: 'a', depends_on: [] },
        { node_id: 'b', depends_on: ['a', 'c'] },
        { node_id: 'c', depends_on: ['a'] },
      ],
      outputs: ['b', 'c'],
      output: null,
    })
    expect(team?.start.graph.nodes).toHaveLength(2)
    expect([...(team?.nodes ?? [])].map(([id, each]) => [id, each.status])).toEqual([
      ['a', 'waiting'],
      ['b', 'waiting'],
      ['c', 'waiting'],
    ])
  })

  it('folds changes of the shared state over its initial value', () => {
    const shared = plain('task_team_run_started', {
      ...(start.data as DataOf<'task_team_run_started'>),
      graph: { ...graph(node('a')), shared_state: { count: 1 } },
    })
    const change = (by: number): DomainEvent =>
      plain('shared_state_changed', {
        team_run_id,
        run_id: 'ra',
        change: { action: 'increment', path: 'count', by },
      } as never)
    const team = folded(submitted, shared, change(2), change(3)).teams.get(team_run_id)
    expect(team?.sharedState).toEqual({ count: 6 })
    expect(team?.start.graph.shared_state).toEqual({ count: 1 })
  })
})

it('ignores events of unknown runs, teams and nodes', () => {
  const before = folded(submitted, runStarted('r1'))
  const stray = [
    answer('ghost', 'x'),
    plain('node_blocked', { team_run_id: 'ghost', node_id: 'a', cause_node_id: 'b' }),
  ]
  expect(folded(submitted, runStarted('r1'), ...stray)).toEqual(before)
})

it('folds a log of 5,000 runs in linear time', async () => {
  const events = Array.from({ length: 5000 }, (_, index) => [
    runStarted(`r${index}`, { parent: 'r0', node: 'a' }),
    answer(`r${index}`, 'x'),
  ]).flat()
  expect(await ownMs(() => expect(folded(submitted, ...events).runs.size).toBe(5000))).toBeLessThan(10_000)
})

describe("the task's clock", () => {
  it.each([
    ['person', 0],
    ['client', 0],
    ['provider', 60_000],
    ['limit', 60_000],
  ] as const)('while the task is suspended for a %s, moves by %i ms', (waits_for, ms) => {
    const suspended = plain('task_suspended', {
      daemon: 'd1',
      waits_for,
      wait_ms: 60_000,
      until: '2026-01-01T00:01:00.000Z',
      reason: 'It waits.',
    })
    expect(folded(submitted, claimed('d1'), suspended, claimed('d2')).clockMs).toBe(ms)
  })
})
