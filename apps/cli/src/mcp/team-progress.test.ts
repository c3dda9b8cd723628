import type { RecordedEvent } from '@beaver/core'
import { describe, expect, test } from 'vitest'
import { afterEvent, happeningNow, noProgress, type TeamProgress } from './team-progress.ts'

const node = (type: string, nodeId: string, more: object = {}): RecordedEvent =>
  ({
    type,
    time: '2026-01-01T00:00:00Z',
    data: { team_run_id: 'team_1', node_id: nodeId, ...more },
  }) as RecordedEvent

test('counts nodes that have ended, each once, of a graph that may grow', () => {
  const events: RecordedEvent[] = [
    { type: 'task_team_run_started', data: { graph: { nodes: [{}, {}] } } } as RecordedEvent,
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
    return [`${progress.ended.size}/${progress.total} ${step.message}`]
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
  const at = Date.parse('2026-01-01T00:00:12Z')
  const progressAfter = (...events: readonly RecordedEvent[]): TeamProgress =>
    events.reduce((progress, event) => afterEvent(progress, event)?.after ?? progress, noProgress)
  const suspended = (waits_for: string): RecordedEvent =>
    ({
      type: 'task_suspended',
      time: '',
      data: { waits_for, reason: 'The endpoint refused the connection.' },
    }) as RecordedEvent
  const started = ['a', 'b', 'c', 'd', 'e'].map((name) => node('node_started', name))

  test('which nodes work, and for how long', () => {
    expect(happeningNow(noProgress, at)).toBeNull()
    expect(happeningNow(progressAfter(...started.slice(0, 2), node('node_completed', 'a')), at)).toBe(
      'b has worked for 12.0 s.',
    )
    expect(happeningNow(progressAfter(...started), at)).toBe(
      'a has worked for 12.0 s, b has worked for 12.0 s, c has worked for 12.0 s, 2 more nodes work.',
    )
    expect(happeningNow(progressAfter(...started.slice(0, 4)), at)).toContain(', 1 more node works.')
  })

  test('what holds up the task, until a daemon works on it again', () => {
    expect(happeningNow(progressAfter(...started, suspended('provider')), at)).toBe(
      'The task waits: The endpoint refused the connection.',
    )
    const claimed = { type: 'task_claimed', time: '', data: { daemon: 'd' } } as RecordedEvent
    expect(happeningNow(progressAfter(node('node_started', 'a'), suspended('limit'), claimed), at)).toBe(
      'a has worked for 12.0 s.',
    )
    // What a person decides has a sentence of its own.
    expect(happeningNow(progressAfter(suspended('person')), at)).toBeNull()
  })
})
