import { cancelRequest } from '@beaver/contracts'
import { type DomainEvent, event } from '@beaver/core'
import { evolveTeam, newTask, startTeam, type TaskState } from '@beaver/core/fold'
import type { ExecutionGraph } from '@beaver/core/graph'
import { describe, expect, it } from 'vitest'
import { cancelEvent } from './task-commands.ts'

const log = { tenant: 't', session: 's', task: 'task1' } as never
const graph = {
  workflow: 'Test',
  task: 'x',
  nodes: ['a', 'b'].map((node_id) => ({ kind: 'code', node_id, depends_on: [], operation: 'x' })),
  outputs: ['b'],
  output: 'b',
} as ExecutionGraph

function task(...events: DomainEvent[]): TaskState {
  const state = newTask()
  const team = startTeam(
    { team_run_id: 'team1' as never, run_id: null, call_id: null, graph, concurrent_nodes_max: 1 },
    0,
  )
  for (const each of events) evolveTeam(team, each, { clockMs: 0 })
  state.teams.set('team1', team)
  return state
}
const of = (node_id: string) => ({ team_run_id: 'team1' as never, node_id })

describe('a cancel of a task nobody drives', () => {
  it('is asked of the task, or of a node of a running team', () => {
    expect(cancelEvent(log, task(), { reason: 'enough' })).toEqual(
      event('task_cancel_requested', { reason: 'enough' }),
    )
    expect(cancelEvent(log, task(), { reason: 'enough', node_id: 'a' })).toEqual(
      event('node_cancel_requested', { ...of('a'), reason: 'enough' }),
    )
  })

  it('of a node that has ended, or of a task that has, is a conflict', () => {
    const computed = task(event('node_computed', { ...of('a'), output: '' }))
    expect(() => cancelEvent(log, computed, { reason: 'x', node_id: 'a' })).toThrow(
      'The node "a" has ended already: completed.',
    )
    const ended = { ...task(), ended: {} as never, status: 'failed' as const }
    expect(() => cancelEvent(log, ended, { reason: 'x' })).toThrow(
      'The task task1 has ended already: failed.',
    )
  })

  it('of a node no running team has is not found', () => {
    const over = task(
      event('task_team_run_completed', { team_run_id: 'team1' as never, outcome: 'complete' }),
    )
    for (const state of [over, newTask()])
      expect(() => cancelEvent(log, state, { reason: 'x', node_id: 'a' })).toThrow(
        'No running team of the task task1 has a node "a".',
      )
    expect(() => cancelEvent(log, task(), { reason: 'x', node_id: 'c' })).toThrow(
      expect.objectContaining({ code: 'not_found' }),
    )
  })
})

it('a request needs no reason, names at most one node and nothing else', () => {
  expect(cancelRequest.parse({ task_id: 'x' })).toEqual({ task_id: 'x', reason: 'Cancelled on request.' })
  expect(cancelRequest.safeParse({ task_id: 'x', node_id: '' }).success).toBe(false)
  expect(cancelRequest.safeParse({ task_id: 'x', node: 'a' }).success).toBe(false)
})
