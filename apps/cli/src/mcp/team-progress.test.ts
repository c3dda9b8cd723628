import { type DomainEvent, event } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { describe, expect, test } from 'vitest'
import * as log from '../../test/task-events.ts'
import { happeningNow, nodesEnded, progressIn } from './team-progress.ts'

test('a task that waits for the client of another protocol is told with its reason', () => {
  const waits = event('task_suspended', {
    daemon: 'd',
    waits_for: 'client',
    reason: 'One call waits for the client.',
    wait_ms: 1_000,
    until: '2026-11-29T09:02:00.000Z',
  })
  expect(progressIn(waits)).toBe('The task waits: One call waits for the client.')
  expect(happeningNow(log.foldView(log.recorded([log.teamStarted('a'), waits])), 0)).toBe(
    'The task waits: One call waits for the client.',
  )
})

test('an event that changes the progress says what happened, after as many nodes as have ended', () => {
  const events = [
    log.teamStarted('a', 'b'),
    log.nodeStarted('a'),
    log.nodeCompleted('a'),
    log.nodeCompleted('a'),
    event('graph_extended', {
      team_run_id: 'team_1' as never,
      node_id: 'a',
      nodes: [log.agentNode('c')],
      edges: [],
      outputs: ['c'],
      output: 'c',
    }),
    log.nodeFailed('b', 'no answer'),
    log.nodeBlocked('c', 'b'),
    log.told('run_a'),
  ]
  const told = events.flatMap((each, i) => {
    const message = progressIn(each)
    const view = log.foldView(log.recorded(events.slice(0, i + 1)))
    return message === null ? [] : [`${nodesEnded(view)}/${view.nodes.size} ${message}`]
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

describe('says what happens now', () => {
  const at = log.startedAt + 12_000
  const now = (...events: readonly DomainEvent[]): string | null => {
    const all = log.recorded([log.teamStarted('a', 'b', 'c', 'd', 'e'), ...events])
    const together = all.map((each) => ({ ...each, time: all[0]?.time }) as RecordedEvent)
    return happeningNow(log.foldView(together), at)
  }
  const suspended = (waits_for: 'person' | 'provider' | 'limit'): DomainEvent =>
    event('task_suspended', {
      waits_for,
      reason: 'The endpoint is gone.',
      daemon: 'd',
      wait_ms: 1,
      until: '',
    })
  const started = ['a', 'b', 'c', 'd', 'e'].map(log.nodeStarted)

  test('which nodes work, and for how long', () => {
    expect(now()).toBeNull()
    expect(now(...started.slice(0, 2), log.nodeCompleted('a'))).toBe('b has worked for 12.0 s.')
    expect(now(...started)).toBe(
      'a has worked for 12.0 s, b has worked for 12.0 s, c has worked for 12.0 s, 2 more nodes work.',
    )
    expect(now(...started.slice(0, 4))).toContain(', 1 more node works.')
  })

  test('what holds up the task, until a daemon works on it again', () => {
    expect(now(...started, suspended('provider'))).toBe('The task waits: The endpoint is gone.')
    const claimed = event('task_claimed', { daemon: 'd' })
    expect(now(log.nodeStarted('a'), suspended('limit'), claimed)).toBe('a has worked for 12.0 s.')
    // `personWaits` has the sentence about what a person must do.
    expect(now(suspended('person'))).toBeNull()
  })
})
