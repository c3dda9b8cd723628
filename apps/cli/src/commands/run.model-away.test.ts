import type { RecordedEvent } from '@beaver/core/journal'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fail, type Finding, ok, warn } from '../doctor/check.ts'
import { hearModelAway } from './run.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const failed = (tries: number, more: object = {}): RecordedEvent =>
  ({
    type: 'provider_call_failed',
    data: {
      failure: { class: 'provider_unavailable', message: 'It cannot be reached.' },
      tries,
      retry_in_ms: 250,
      ...more,
    },
  }) as RecordedEvent
const answered = { type: 'assistant_message_added', data: {} } as RecordedEvent

function heard(...findings: readonly Finding[]) {
  const told: string[] = []
  let looks = 0
  const away = hearModelAway({ look: async () => (looks++, findings), tell: (reason) => told.push(reason) })
  return { away, told, looks: () => looks }
}

test('says after three failures, and once, that the model cannot be asked', async () => {
  const { away, told } = heard(fail('model', 'no answer within 3 s', ''))
  for (const tries of [1, 2]) away.onEvent(failed(tries))
  expect(told).toEqual([])
  for (const tries of [3, 4, 5]) away.onEvent(failed(tries))
  await vi.advanceTimersByTimeAsync(10_000)
  expect(told).toEqual(['It cannot be reached.'])
})

test('looks at a model that is silent, and says what is wrong with it', async () => {
  const { away, told } = heard(warn('fallback', 'no answer', ''), fail('model', 'no answer within 3 s', ''))
  await vi.advanceTimersByTimeAsync(1_500)
  expect(told).toEqual(['no answer within 3 s'])
  away.onEvent(failed(3))
  expect(told).toHaveLength(1)
})

test('says nothing of a model that answers, and of a failure that ends the task', async () => {
  const slow = heard(ok('model', 'answers'))
  await vi.advanceTimersByTimeAsync(1_500)
  expect([slow.told, slow.looks()]).toEqual([[], 1])
  const quick = heard(fail('model', 'no answer', ''))
  quick.away.onEvent(answered)
  const refused = heard()
  refused.away.onEvent(failed(3, { failure: { class: 'provider_refused', message: 'No such key.' } }))
  refused.away.onEvent(failed(3, { retry_in_ms: null }))
  await vi.advanceTimersByTimeAsync(1_500)
  expect([quick.told, quick.looks(), refused.told]).toEqual([[], 0, []])
})
