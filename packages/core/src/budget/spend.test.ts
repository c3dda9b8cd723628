import { describe, expect, it } from 'vitest'
import { type DomainEvent, event } from '../events/catalog.ts'
import { noAmounts, usdUnits } from './amounts.ts'
import { newSpend, type RunSpend, spendEvent } from './spend.ts'

const priceFor = () => ({ input: 1, output: 10 })
const of = (events: readonly DomainEvent[], atMs = 0) =>
  events.reduce((spend, each) => spendEvent(spend, each, { atMs, priceFor }), newSpend())
const run = (...events: readonly DomainEvent[]): RunSpend | undefined => of(events).runs.get('r')

const reserved = event(
  'model_call_reserved',
  { provider_name: 'p', model: 'm', input_tokens_max: 100, output_tokens_max: 900, usd_max: 0.0091 },
  'r',
)
const answer = (usage: { input_tokens: number; output_tokens: number; unknown_calls?: number }) =>
  event(
    'assistant_message_added',
    {
      ...{ content: 'x', tool_calls: [], finish_reason: 'stop', provider_name: 'p', model: 'm' },
      ...{ usage: { ...usage, calls: 1 }, response_id: null, duration_ms: 1 },
    },
    'r',
  )
const failed = (usage?: { input_tokens: number; output_tokens: number; calls: number }) =>
  event(
    'provider_call_failed',
    {
      ...{ failure: { class: 'provider_timeout', message: 'm' }, tries: 1, retry_in_ms: 1, status: null },
      ...(usage === undefined ? {} : { usage, model: 'm', provider_name: 'p' }),
    },
    'r',
  )
const most = { ...noAmounts, usd: usdUnits(0.0091), tokens: 1_000, model_calls: 1 }

describe('a reservation', () => {
  it('is open until the outcome of its call, and is settled by what the provider told (P1)', () => {
    expect(run(reserved)).toMatchObject({ used: noAmounts, open: { amounts: most } })
    expect(run(reserved, answer({ input_tokens: 50, output_tokens: 10 }))).toEqual({
      used: { ...noAmounts, usd: usdUnits(0.00015), tokens: 60, model_calls: 1 },
      open: null,
      waits: null,
    })
    expect(run(reserved, failed())).toEqual({ used: noAmounts, open: null, waits: null })
    expect(run(reserved, failed({ input_tokens: 50, output_tokens: 0, calls: 1 }))?.used.tokens).toBe(50)
  })

  it('counts as used if the provider told no tokens', () => {
    expect(run(reserved, answer({ input_tokens: 0, output_tokens: 0 }))?.used).toEqual(most)
    expect(run(reserved, answer({ input_tokens: 0, output_tokens: 0, unknown_calls: 1 }))?.used).toEqual(most)
  })

  it('counts as used if its call was lost, and not if the task was suspended (P2)', () => {
    const usage = { input_tokens: 100, output_tokens: 900, calls: 1 }
    const lost = event('model_call_lost', { provider_name: 'p', model: 'm', usage }, 'r')
    expect(run(reserved, lost)).toEqual({ used: most, open: null, waits: null })
    const suspended = event('task_suspended', {
      ...{ daemon: 'd', waits_for: 'limit', wait_ms: 1, until: '2026-01-01T00:00:00.000Z', reason: 'x' },
    })
    expect(run(reserved, suspended)).toEqual({ used: noAmounts, open: null, waits: null })
  })

  it('is settled by a call beside the conversation; a search leaves that of another call alone', () => {
    const paid = (purpose: 'skill_selection' | 'knowledge_search'): DomainEvent => {
      const usage = { input_tokens: 30, output_tokens: 0, calls: 1 }
      return event('model_call_paid', { purpose, provider_name: 'p', model: 'm', usage }, 'r')
    }
    const used = { ...noAmounts, usd: usdUnits(0.00003), tokens: 30, model_calls: 1 }
    expect(run(reserved, paid('skill_selection'))).toEqual({ used, open: null, waits: null })
    expect(run(reserved, paid('knowledge_search'))).toMatchObject({ used, open: { amounts: most } })
  })

  it('costs nothing in the events that a retry copied (P3)', () => {
    const copied = event('task_log_copied', {
      ...{ task_id: 't' as never, taskseq: 9, hash: 'h', previous_task_id: null, events: 2 },
    })
    const paid = answer({ input_tokens: 50, output_tokens: 10 })
    expect(run(copied, paid, paid)).toBeUndefined()
    expect(run(copied, paid, paid, reserved, paid)?.used.tokens).toBe(60)
  })
})

it('a call of a tool counts when it begins', () => {
  const began = event('tool_call_started', { call_id: 'c', tool_name: 't', idempotent: false }, 'r')
  expect(run(began, began)?.used.tool_calls).toBe(2)
})

it('a run waits for a person from the event that says so until its next call', () => {
  const exceeded = event(
    'budget_exceeded',
    {
      ...{ budget: { of: 'task', per: 'run' }, measure: 'usd', limit: 1, used: 1, needed: 1, spent_by: [] },
      wait_ms: 60_000,
    },
    'r',
  )
  expect(of([exceeded], 5).runs.get('r')?.waits).toEqual({
    sinceMs: 5,
    waitMs: 60_000,
    of: 'task  run usd 1',
  })
  expect(run(exceeded, reserved)?.waits).toBeNull()
})

it('adds up what persons gave more, by budget', () => {
  const raised = (name: string | undefined, more: object) =>
    event('budget_raised', {
      request_id: 'q',
      budget: {
        of: name === undefined ? 'task' : 'node',
        ...(name === undefined ? {} : { name }),
        per: 'run',
      },
      more,
    })
  const { raised: all } = of([
    raised(undefined, { usd: 1 }),
    raised('n', { tokens: 5 }),
    raised(undefined, { usd: 2 }),
  ])
  expect([...all]).toEqual([
    ['task ', { usd: 3 }],
    ['node n', { tokens: 5 }],
  ])
})
