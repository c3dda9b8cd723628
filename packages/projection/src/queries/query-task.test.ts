import type { EventType } from '@beaver/core'
import { expect, it } from 'vitest'
import { lostCalls } from './query-task.ts'

/** `r run_started`: an event of the run r. `task_claimed`: an event of the task. */
const lost = (...events: readonly string[]): number =>
  lostCalls(
    events.map((each) => {
      const [type, runId] = each.split(' ').toReversed() as [EventType, string | undefined]
      return { type, runId: runId ?? null }
    }),
  )
const begun = ['task_submitted', 'task_claimed', 'r run_started', 'r user_message_added']
const asks = ['r assistant_message_added', 'r tool_call_requested', 'r tool_call_requested']

it('a task that one daemon drives loses none', () => {
  expect(
    lost(
      ...begun,
      ...asks,
      'r tool_result_recorded',
      'r tool_result_recorded',
      'r assistant_message_added',
      'r run_completed',
    ),
  ).toBe(0)
})

it('a run whose calls are reserved has an event of its own for each that was lost', () => {
  const reserved = [...begun, 'r model_call_reserved']
  expect(lost(...reserved, 'task_claimed', 'r model_call_lost', 'r model_call_reserved')).toBe(0)
  expect(lost(...reserved, 'r run_restarted', 'r model_call_lost')).toBe(0)
})

it.each([
  ['its first answer', begun, 1],
  ['the results of its tools', [...begun, ...asks, 'r tool_result_recorded'], 0],
  [
    'its next answer, after all results',
    [...begun, ...asks, 'r tool_result_recorded', 'r tool_result_recorded'],
    1,
  ],
  ['a try after a failed one', [...begun, 'r provider_call_failed'], 1],
  ['nothing, because it has its answer', [...begun, 'r assistant_message_added'], 0],
  ['nothing, because it has ended', [...begun, 'r assistant_message_added', 'r run_completed'], 0],
  [
    'two answers of members, of which one has ended',
    [...begun, ...asks, 'a run_started', 'b run_started', 'c run_started', 'c run_failed'],
    2,
  ],
])('a run that waits for %s when another daemon claims its task', (_, before, calls) => {
  expect(lost(...before, 'task_claimed')).toBe(calls)
})

it('each owner that is lost may have asked once', () => {
  expect(lost(...begun, 'task_claimed', 'task_claimed')).toBe(2)
})

it('an owner that let go of the task had asked nobody', () => {
  expect(lost(...begun, 'task_suspended', 'task_claimed')).toBe(0)
  expect(lost(...begun, 'task_released', 'task_claimed')).toBe(0)
  expect(lost(...begun, 'task_suspended', 'task_steer_requested', 'task_claimed')).toBe(0)
  expect(lost(...begun, 'task_suspended', 'task_claimed', 'task_claimed')).toBe(1)
})

it('a thread that is lost may have asked, too', () => {
  expect(lost(...begun, 'r run_restarted')).toBe(1)
  expect(lost(...begun, ...asks, 'r run_restarted')).toBe(0)
})
