import { BeaverError, type DomainEvent, event, foldTask, type LogId, type RecordedEvent, type TaskState } from '@beaver/core'
import { until, virtualClock } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { callWaiting, type Decision, decisionEvent, taskApprovals } from './task-approvals.ts'

const log = { tenant: 'local', session: 's', task: 't' } as LogId
const usage = { input_tokens: 0, output_tokens: 0, calls: 1 }

function run(id: string): DomainEvent[] {
  const start = {
    run_id: id,
    parent_run_id: null,
    attempt_index: 1,
    agent_name: id,
    team_run_id: null,
    node_id: null,
    source: 'test',
    max_tool_iterations: 5,
    tools: ['rm'],
  }
  const answer = { content: null, tool_calls: [{ id: 'c1', name: 'rm', arguments: '{}' }], finish_reason: 'tool_calls', usage }
  return [
    event('run_started', start as never, id),
    event('user_message_added', { content: 'x' }, id),
    event('assistant_message_added', { ...answer, provider_name: 'p', model: 'm', response_id: null, duration_ms: 1 }, id),
    event('approval_requested', { call_id: 'c1', tool_name: 'rm', subject: '/', rule: null }, id),
  ]
}

const folded = (...events: readonly DomainEvent[]): TaskState =>
  foldTask(events.map((each, i) => ({ ...each, taskseq: i + 1, epoch: 1, time: '2026-01-01T00:00:00.000Z' }) as RecordedEvent))

function begin({ unattended = 'wait' as 'wait' | 'refuse', runs = ['r1'], taken = new Map<string, number>() } = {}) {
  const clock = virtualClock()
  let loads = 0
  const faults = { failLoads: 0 }
  const written: DomainEvent[] = runs.flatMap(run)
  const approvals = taskApprovals(log, {
    clock,
    unattended,
    waitMsMax: 1_000,
    askedAtMs: taken,
    judgeArguments: async ({ arguments: text }) => (text.includes('bad') ? 'It does not fit.' : null),
    async append(drafts) {
      const first = written.length + 1
      written.push(...drafts.map(({ type, runId, dataJson }) => event(type, JSON.parse(dataJson) as never, runId)))
      return first
    },
    load() {
      loads++
      if (faults.failLoads-- > 0) return Promise.reject(new BeaverError('unreachable', 'gone'))
      return Promise.resolve(folded(...written))
    },
  })
  return {
    clock,
    written,
    approvals,
    faults,
    get loads() {
      return loads
    },
  }
}

const granted: Decision = { callId: 'c1', approved: true, by: 'ada', reason: '' }
const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'done',
    (error: { code: string }) => error.code,
  )

describe('a call that waits', () => {
  it('hears of the decision once it is durable, with its place', async () => {
    const { approvals, written } = begin()
    const waiting = approvals.wait('r1', 'c1')
    await approvals.decide(granted)
    expect(await waiting).toMatchObject({ event: { type: 'approval_granted', data: { by: 'ada' }, runId: 'r1' }, taskseq: written.length })
  })

  it('hears of a decision that came before it asked', async () => {
    const { approvals } = begin()
    await approvals.decide({ ...granted, approved: false, reason: 'no' })
    expect(await approvals.wait('r1', 'c1')).toMatchObject({ event: { type: 'approval_denied', data: { reason: 'no' } } })
  })

  it('is decided with a hundred others, and the log is read twice at most', async () => {
    const runs = Array.from({ length: 100 }, (_, i) => `r${i}`)
    const task = begin({ runs })
    await Promise.all(runs.map((id) => task.approvals.decide({ ...granted, callId: `${id}/c1` })))
    expect(task.written.filter((each) => each.type === 'approval_granted').map((each) => each.runId)).toEqual(runs)
    expect(task.loads).toBeLessThanOrEqual(2)
  })

  it('is not decided by a reading of the log that failed, and the next one reads again', async () => {
    const task = begin()
    task.faults.failLoads = 1
    expect(await code(task.approvals.decide(granted))).toBe('unreachable')
    expect(await code(task.approvals.decide(granted))).toBe('done')
  })

  it('is decided once, whoever answers at the same time', async () => {
    const { approvals, written } = begin()
    expect(await Promise.all([code(approvals.decide(granted)), code(approvals.decide({ ...granted, by: 'bo' }))])).toEqual(['done', 'conflict'])
    expect(written.filter((each) => each.type === 'approval_granted')).toHaveLength(1)
  })

  it('is refused at once where nobody can answer', async () => {
    const { approvals } = begin({ unattended: 'refuse' })
    expect(await approvals.wait('r1', 'c1')).toMatchObject({ event: { type: 'approval_denied', data: { by: 'beaver' } } })
  })

  it('is refused when nobody answers in time, and a later answer is a conflict', async () => {
    const { approvals, clock } = begin()
    const waiting = approvals.wait('r1', 'c1')
    clock.advance(1_000)
    expect(await waiting).toMatchObject({ event: { type: 'approval_denied', data: { reason: 'Nobody answered within 1 s.' } } })
    expect(await code(approvals.decide(granted))).toBe('conflict')
  })

  it('asked for before the task was taken over has what is left of its time', async () => {
    const { approvals, clock } = begin({ taken: new Map([['r1 c1', virtualClock().now() - 900]]) })
    const waiting = approvals.wait('r1', 'c1')
    clock.advance(100)
    expect(await waiting).toMatchObject({ event: { type: 'approval_denied' } })
  })

  it('leaves no deadline behind once it is decided', async () => {
    const { approvals, clock, written } = begin()
    const waiting = approvals.wait('r1', 'c1')
    await approvals.decide(granted)
    await waiting
    clock.advance(10_000)
    await until('nothing more is written', () => written.filter((each) => each.type.startsWith('approval_')).length === 2)
  })
})

it('a run that has ended waits for nothing: no decision is made in its name later', async () => {
  const { approvals, clock, written } = begin()
  void approvals.wait('r1', 'c1')
  approvals.ended('r1')
  const before = written.length
  clock.advance(10_000)
  await approvals.decide({ ...granted, callId: 'other' }).catch(() => {})
  expect(written).toHaveLength(before)
})

describe('which call is meant', () => {
  it('is said with its run where several runs have one of that id', async () => {
    const state = folded(...run('r1'), ...run('r2'))
    expect(() => callWaiting(log, state, 'c1')).toThrow('r1/c1, r2/c1')
    expect(callWaiting(log, state, 'r2/c1')).toMatchObject({ runId: 'r2' })
  })

  it('may hold a slash, alone and after its run', () => {
    const renamed = (id: string, call: string): DomainEvent[] => JSON.parse(JSON.stringify(run(id)).replaceAll('"c1"', JSON.stringify(call))) as DomainEvent[]
    const state = folded(...renamed('r1', 'a/b'), ...run('r2'))
    for (const named of ['a/b', 'r1/a/b']) expect(callWaiting(log, state, named)).toMatchObject({ runId: 'r1', call: { id: 'a/b' } })
    expect(() => callWaiting(log, state, 'a/c1')).toThrow('No call a/c1')
  })

  it('a call nobody waits for is not found, and the message names those that wait', () => {
    expect(() => callWaiting(log, folded(...run('r1')), 'other')).toThrow('These do: c1.')
  })

  it('a decided call is a conflict', () => {
    expect(() => callWaiting(log, folded(...run('r1'), decisionEvent('r1', granted)), 'c1')).toThrow('decided already')
  })

  it('a call of an ended task is a conflict', () => {
    const result = { final_output: '', outputs: [], usage, provider: null, model: null, simulated: false, failure: null }
    expect(() => callWaiting(log, folded(...run('r1'), event('task_cancelled', result)), 'c1')).toThrow('has ended already')
  })
})
