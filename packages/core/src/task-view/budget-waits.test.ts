import { expect, it } from 'vitest'
import { plain, recorded, taskEnd } from '../../test/log.ts'
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import { event } from '../events/catalog.ts'
import { budgetAsks } from './budget-waits.ts'
import { evolveTaskView, newTaskView } from './task-view.ts'

type Exceeded = DataOf<'budget_exceeded'>
const ofTask: Exceeded['budget'] = { of: 'task', per: 'run' }

/** What is asked, in a few words. */
function asked(...events: readonly DomainEvent[]): string[] {
  const view = newTaskView()
  for (const each of recorded(...events)) evolveTaskView(view, each)
  return budgetAsks(view).map(
    ({ exceeded: { used, limit, needed, measure }, nodeId, shared }) =>
      `${nodeId ?? (shared ? 'shared' : 'task')}: ${used} of ${limit} ${measure}, needs ${needed}`,
  )
}
const short = (run: string, over: Partial<Exceeded> = {}): DomainEvent =>
  event(
    'budget_exceeded',
    {
      budget: ofTask,
      measure: 'usd',
      limit: 0.7,
      used: 0.69,
      needed: 0.02,
      spent_by: [],
      wait_ms: 1_000,
      ...over,
    },
    run,
  )
const raised = (usd: number, budget = ofTask): DomainEvent =>
  event('budget_raised', { request_id: `r${usd}`, budget, more: { usd }, by: 'ann' })
const goesOn = (run: string): DomainEvent =>
  event(
    'model_call_reserved',
    { provider_name: 'p', model: 'm', input_tokens_max: 1, output_tokens_max: 1, usd_max: 0.02 },
    run,
  )

it('a run asks from the event on, until it goes on or the task ends', () => {
  expect(asked(short('a'))).toEqual(['task: 0.69 of 0.7 usd, needs 0.02'])
  expect(asked(short('a', { wait_ms: null }))).toEqual([])
  expect(asked(short('a'), goesOn('a'))).toEqual([])
  expect(asked(short('a'), event('task_cancelled', { ...taskEnd, reason: 'Enough.' } as never))).toEqual([])
})

it('a raise that does not suffice leaves the ask, with the new limit', () => {
  expect(asked(short('a'), raised(0.005))).toEqual(['task: 0.69 of 0.705 usd, needs 0.02'])
  expect(asked(short('a'), raised(0.01))).toEqual([])
  expect(asked(short('a'), raised(5, { of: 'node', name: 'write', per: 'run' }))).toHaveLength(1)
})

it('runs that wait for one budget ask together, and what one of them is given is not there for the others', () => {
  const both = [short('a'), short('b')]
  expect(asked(...both)).toEqual(['task: 0.69 of 0.7 usd, needs 0.04'])
  expect(asked(...both, raised(0.015), goesOn('a'))).toHaveLength(1)
  expect(asked(...both, raised(0.5), goesOn('a'))).toEqual([])
  expect(asked(short('a'), short('b', { budget: { of: 'node', name: 'write', per: 'run' } }))).toEqual([
    'task: 0.69 of 0.7 usd, needs 0.02',
    'write: 0.69 of 0.7 usd, needs 0.02',
  ])
  expect(asked(short('a', { budget: { of: 'user', name: 'ann', per: 'day' } }))[0]).toMatch(/^shared/)
})

it('what a retry copied from the old task asks nobody', () => {
  const copied = plain('task_log_copied', {
    ...{ task_id: 'task_old', taskseq: 9, hash: '0'.repeat(64), previous_task_id: null, events: 1 },
  })
  expect(asked(copied, short('a'))).toEqual([])
  expect(asked(copied, short('a'), short('a'))).toHaveLength(1)
})
