import { describe, expect, it } from 'vitest'
import { runsWithoutBudget, waitsOf, type WaitsKnown } from './waits.ts'

type Entry = WaitsKnown['entries'][number]
const entry = {
  ...{ task_id: 't', session_id: 's', tenant: 'local', title: null, text: null, task_user_id: null },
  asked_at: '2026-01-01T00:00:00.000Z',
}
const budget: Entry = {
  ...{ kind: 'budget', ...entry },
  budget: {
    ...{ budget: { of: 'task', per: 'run' }, measure: 'usd', limit: 1, used: 1, needed: 1, shared: false },
    ...{ reason: 'the budget has no place', node_id: null, spent_by: [], run_ids: ['r', 's'], taskseq: 4 },
    expires_at: '2026-01-02T00:00:00.000Z',
  },
}
const running: WaitsKnown['task'] = {
  ...{ status: 'running', wait: null, previous_task_id: null },
  ...{ started_at: '2026-01-01T00:00:00.000Z', submitted_at: '2026-01-01T00:00:00.000Z' },
}
const now = Date.parse('2026-01-01T00:00:05.000Z')
const known = (over: Partial<WaitsKnown>): WaitsKnown => ({
  ...{ task: running, entries: [], previousOpen: null, spans: [], now },
  ...over,
})
const suspended = (what: string): WaitsKnown['task'] => ({
  ...running,
  status: `waiting_for_${what}`,
  wait: { for: what, until: '2026-01-01T00:10:00.000Z', reason: 'the provider has a limit' },
})
const queued = { ...running, status: 'submitted', started_at: null }
const pause = (ended_at: string): WaitsKnown['spans'][number] => ({
  ...{ taskseq: 9, run_id: 'r', node_id: null, kind: 'wait', name: 'retry', call_id: null, ok: null },
  ...{ started_at: '2026-01-01T00:00:04.000Z', ended_at, tries: 2, tokens: null },
})

describe('why a task waits', () => {
  it.each<[string, Partial<WaitsKnown>, string, object]>([
    [
      'a budget leads to the inbox, and says until when it waits',
      { entries: [budget] },
      'The budget has no place.',
      { until: { time: '2026-01-02T00:00:00.000Z' }, to: { entry: budget } },
    ],
    [
      'a limit says until when',
      { task: suspended('limit') },
      'The provider has a limit.',
      { until: { time: '2026-01-01T00:10:00.000Z', what: 'Beaver looks again' }, to: null },
    ],
    [
      'a task before it leads to that task',
      { task: queued, previousOpen: 'before' },
      'It begins when the task before it in its session has ended.',
      { to: { taskId: 'before' } },
    ],
    ['nobody has it', { task: queued }, 'It is in the queue. A daemon with room takes it.', { to: null }],
    [
      'a pause before a retry says when it is over',
      { spans: [pause('2026-01-01T00:00:08.000Z')] },
      'The call of the model failed, try 2.',
      { until: { time: '2026-01-01T00:00:08.000Z', what: 'It is asked again' } },
    ],
  ])('%s', (_, over, text, more) => {
    const waits = waitsOf(known(over))
    expect(waits).toMatchObject([{ text, ...more }])
  })

  it('a person is named once, by what the person is asked', () => {
    const waits = waitsOf(known({ task: suspended('person'), entries: [budget] }))
    expect(waits.map(({ key }) => key)).toEqual(['budget 4'])
    expect(waitsOf(known({ task: suspended('person') }))).toHaveLength(1)
  })

  it('a task that works, and a pause that is over, wait for nothing', () => {
    expect(waitsOf(known({}))).toEqual([])
    expect(waitsOf(known({ spans: [pause('2026-01-01T00:00:05.000Z')] }))).toEqual([])
  })
})

it('the runs that wait for a budget are known', () =>
  expect([...runsWithoutBudget([budget])]).toEqual(['r', 's']))
