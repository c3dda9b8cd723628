// What may be given more, and why not.
import type { LogId } from '@beaver/core'
import { foldTask, startTeam } from '@beaver/core/fold'
import { expect, it } from 'vitest'
import { raiseEvent } from './task-raises.ts'

const log = { tenant: 'local', session: 's', task: 't' } as LogId

it('a node is raised if the task has it and a budget bounds it', () => {
  const team = startTeam(
    {
      ...{ team_run_id: 'team', run_id: null, call_id: null, concurrent_nodes_max: 1 },
      graph: {
        ...{ workflow: 'w', edges: [], outputs: [] },
        nodes: [{ kind: 'code', node_id: 'read', depends_on: [], operation: 'x' }],
      },
    } as never,
    0,
  )
  const task = { ...foldTask([]), teams: new Map([['team', team]]) }
  const raised = (name: string, more: object, limits: object = { usd: 1 }) =>
    raiseEvent(
      log,
      task,
      { requestId: 'r', budget: { of: 'node', name, per: 'run' }, more },
      { budgets: [{ of: 'node', per: 'run', exceeded: 'wait', ...limits }] },
    )
  expect(raised('read', { usd: 2 })?.data).toMatchObject({ budget: { name: 'read' }, more: { usd: 2 } })
  expect(() => raised('write', { usd: 2 })).toThrow('The task t has no node "write". Its nodes: "read".')
  expect(() => raised('read', { tokens: 2 })).toThrow(
    'There is no limit of tokens in the budget of the node read of the task t, so it cannot be raised. It bounds usd.',
  )
})
