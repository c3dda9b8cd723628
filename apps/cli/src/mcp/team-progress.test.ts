import type { DomainEvent } from '@beaver/core'
import { expect, test } from 'vitest'
import { afterEvent, noProgress, type TeamProgress } from './team-progress.ts'

const node = (type: string, nodeId: string, more: object = {}): DomainEvent =>
  ({ type, data: { team_run_id: 'team_1', node_id: nodeId, ...more } }) as DomainEvent

test('counts nodes that have ended, each once, of a graph that may grow', () => {
  const events: DomainEvent[] = [
    { type: 'task_team_run_started', data: { graph: { nodes: [{}, {}] } } } as DomainEvent,
    node('node_started', 'a'),
    node('node_completed', 'a'),
    node('node_completed', 'a'),
    node('graph_extended', 'a', { nodes: [{}] }),
    node('node_failed', 'b', { failure: { message: 'no answer' } }),
    node('node_blocked', 'c', { cause_node_id: 'b' }),
    node('node_evidence_evaluated', 'a'),
  ]
  let progress: TeamProgress = noProgress
  const told = events.flatMap((event) => {
    const step = afterEvent(progress, event)
    if (step === null) return []
    progress = step.after
    return [`${step.told.done}/${step.told.total} ${step.told.message}`]
  })
  expect(told).toEqual([
    '0/2 The team has started.',
    '0/2 a has started.',
    '1/2 a has completed.',
    '1/2 a has completed.',
    '1/3 a added work for the team.',
    '2/3 b has failed: no answer',
    '3/3 c is blocked by b.',
  ])
})
