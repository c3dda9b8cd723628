import {
  type DomainEvent,
  event,
  noUsage,
  type RecordedEvent,
  type RunId,
  type SessionId,
  type TaskId,
} from '@beaver/core'
import { describe, expect, it, test } from 'vitest'
import { type AgentRunResult, resultFold } from './run-result.ts'

const at = { taskseq: 1, time: '2026-01-01T00:00:00.000Z', epoch: 1 }
const usage = { input_tokens: 30, output_tokens: 15, calls: 3 }
const failure = { class: 'malformed_output', message: 'no' } as const

const submitted = event('task_submitted', {
  task_id: 't' as TaskId,
  session_id: 's' as SessionId,
  tenant: 'local',
  previous_task_id: null,
  request: { text: 'x', workspace: '/w', skill: null, source: 'program' },
})
const started = (run: string, team: string | null): DomainEvent =>
  event(
    'run_started',
    {
      run_id: run as RunId,
      parent_run_id: null,
      attempt_index: 1,
      agent_name: 'a',
      team_run_id: team as never,
      node_id: team === null ? null : 'n',
      source: 'program',
      max_tool_iterations: 2,
      tools: [],
    },
    run,
  )
const answer = (run: string, finish_reason: string, calls: readonly string[] = []): DomainEvent =>
  event(
    'assistant_message_added',
    {
      content: 'said',
      tool_calls: calls.map((id) => ({ id, name: 'add', arguments: '{}' })),
      finish_reason,
      usage: noUsage,
      provider_name: 'p',
      model: 'm',
      response_id: null,
      duration_ms: 1,
    },
    run,
  )
const failed = (run: string): DomainEvent => event('run_failed', { failure, tool_iterations: 2, usage }, run)
const cancelled = (run: string): DomainEvent =>
  event('run_cancelled', { reason: 'enough', tool_iterations: 1, usage }, run)
const completed = (run: string): DomainEvent =>
  event('run_completed', { finish_reason: 'stop', tool_iterations: 2, usage }, run)
const ended = (type: 'task_completed' | 'task_failed' | 'task_cancelled', final_output = ''): DomainEvent =>
  event(type, {
    final_output,
    outputs: [],
    usage,
    provider: 'p',
    model: 'm',
    simulated: false,
    failure: type === 'task_completed' ? null : failure,
  })

function resultOf(...events: readonly DomainEvent[]): AgentRunResult | null {
  const fold = resultFold()
  for (const each of events) fold.add({ ...at, ...each } as RecordedEvent)
  return fold.result
}

describe('the result of a task (AL-13)', () => {
  it('contains the output, the model and the usage', () => {
    expect(
      resultOf(
        submitted,
        started('r', null),
        answer('r', 'tool_calls', ['a']),
        answer('r', 'stop'),
        completed('r'),
        ended('task_completed', '2'),
      ),
    ).toEqual({
      task_id: 't',
      session_id: 's',
      run_id: 'r',
      status: 'completed',
      output_text: '2',
      finish_reason: 'stop',
      tool_iterations: 2,
      provider_name: 'p',
      model: 'm',
      usage,
      outputs: [],
      simulated: false,
      failure: null,
    })
  })

  it('is null before the task has ended', () =>
    expect(resultOf(submitted, started('r', null), answer('r', 'stop'), completed('r'))).toBeNull())

  test.each<[string, readonly DomainEvent[], string]>([
    [
      'was forced when the iterations were used up (SCH-07)',
      [answer('r', 'max_tool_iterations_finalized'), failed('r')],
      'max_tool_iterations_finalized',
    ],
    ['was cut off', [answer('r', 'length'), failed('r')], 'length'],
    ['called tools, and no other came', [answer('r', 'tool_calls', ['a']), failed('r')], 'error'],
    ['never came', [failed('r')], 'error'],
    [
      'was a worker\u2019s',
      [started('w', 'team1'), answer('w', 'length'), failed('w'), failed('r')],
      'error',
    ],
  ])('has the right finish reason if the last answer %s', (_, events, reason) => {
    expect(resultOf(submitted, started('r', null), ...events, ended('task_failed'))).toMatchObject({
      status: 'failed',
      finish_reason: reason,
      output_text: '',
    })
  })

  it('has the finish reason cancelled for a cancelled task', () => {
    expect(resultOf(submitted, started('r', null), cancelled('r'), ended('task_cancelled'))).toMatchObject({
      finish_reason: 'cancelled',
      tool_iterations: 1,
    })
    expect(resultOf(submitted, ended('task_cancelled'))).toMatchObject({
      run_id: null,
      finish_reason: 'cancelled',
      tool_iterations: 0,
    })
  })
})
