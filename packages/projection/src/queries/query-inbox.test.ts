import type { QueryOutput } from '@beaver/contracts'
import { type DataOf, type DomainEvent, event } from '@beaver/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  answer as said,
  type LogWriter,
  type newStream,
  runCompleted,
  runStarted,
  submitted,
  toolResult,
  toolStarted,
} from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { answer } from '../../test/checked-answer.ts'
import type { ReadModel } from '../read-model.ts'

type Stream = ReturnType<typeof newStream>
type Exceeded = DataOf<'budget_exceeded'>
const ofTask: Exceeded['budget'] = { of: 'task', per: 'run' }
const budgets = [{ ...ofTask, limits: { usd: 0.7 }, exceeded: 'wait' as const }]
const short = (run: string, over: Partial<Exceeded> = {}): DomainEvent =>
  event(
    'budget_exceeded',
    {
      ...{ budget: ofTask, measure: 'usd', limit: 0.7, used: 0.69, needed: 0.02 },
      spent_by: [{ agent_name: 'root', node_id: null, used: 0.69 }],
      wait_ms: 60_000,
      ...over,
    },
    run,
  )
const reserved = (run: string): DomainEvent =>
  event(
    'model_call_reserved',
    { provider_name: 'p', model: 'm', input_tokens_max: 1, output_tokens_max: 1, usd_max: 0.02 },
    run,
  )
const raised = (usd: number): DomainEvent =>
  event('budget_raised', { request_id: `r${usd}`, budget: ofTask, more: { usd }, by: 'ann' })
const calls = (...ids: string[]): { id: string; name: string; arguments: string }[] =>
  ids.map((id) => ({ id, name: 'run_command', arguments: '{"command":"ls"}' }))
const approval = (call_id: string): DomainEvent =>
  event('approval_requested', { call_id, tool_name: 'run_command', subject: 'ls', rule: null }, 'r')
const question = (call_id: string): DomainEvent =>
  event(
    'question_asked',
    {
      call_id,
      tool_name: 'run_command',
      question_index: 0,
      question: { message: 'Which?', timeout_ms: 1_000 },
    },
    'r',
  )

/** A task of a user, whose root agent has begun. */
function begun(stream: Stream, task: string, user_id: string | null = null): LogWriter {
  const log = stream.log(task, { session: task })
  const given = submitted(log.log).data as DataOf<'task_submitted'>
  log.write(
    event('task_submitted', {
      ...given,
      request: { ...given.request, title: `About ${task}`, ...(user_id === null ? {} : { user_id }) },
    }),
  )
  log.epoch = 1
  log.write(event('task_claimed', { daemon: 'd1', budgets }), runStarted('r'))
  return log
}

type Inbox = QueryOutput<'inbox'>
/** What waits, as kind and task. */
const named = ({ entries }: Inbox): string[] => entries.map(({ kind, task_id: id }) => `${kind} ${id}`)

let model: ReadModel
beforeAll(async () => {
  model = await modelOf((stream) => {
    const [first, second, third, fourth] = [
      begun(stream, 'calls', 'ann'),
      begun(stream, 'asks', 'ben'),
      begun(stream, 'spent', 'ann'),
      begun(stream, 'shares', 'ben'),
    ]
    third.write(short('r'))
    second.write(said('r', null, calls('q')), toolStarted('r', 'q'), question('q'))
    first.write(said('r', null, calls('a', 'b')), approval('a'), approval('b'))
    fourth.write(
      short('r', {
        budget: { of: 'tenant', per: 'day' },
        spent_by: [{ node_id: null, task_id: 'spent', used: 0.5 }],
      }),
    )
  })
})
afterAll(() => model.close())
const inbox = (input: object = {}): Inbox => answer(model.sql, 'inbox', input)

test('has calls, questions and budgets, the one that has waited for longest first', () => {
  const { entries, waiting, more, next } = inbox()
  expect(named({ entries, waiting, more, next })).toEqual([
    'budget spent',
    'question asks',
    'approval calls',
    'approval calls',
    'budget shares',
  ])
  expect({ waiting, more, next }).toEqual({ waiting: 5, more: false, next: null })
  expect(entries).toMatchObject([
    {
      ...{ kind: 'budget', title: 'About spent', task_user_id: 'ann', tenant: 'local' },
      asked_at: '2026-01-01T00:00:01.200Z',
      budget: {
        ...{ budget: ofTask, measure: 'usd', limit: 0.7, used: 0.69, needed: 0.02, shared: false },
        expires_at: '2026-01-01T00:01:01.200Z',
        spent_by: [{ agent_name: 'root', used: 0.69 }],
      },
    },
    { kind: 'question', question: { call_id: 'q', message: 'Which?', state: 'waiting' } },
    { kind: 'approval', call: { call_id: 'a', arguments: '{"command":"ls"}', state: 'waiting' } },
    { kind: 'approval', call: { call_id: 'b' } },
    { kind: 'budget', budget: { shared: true, spent_by: [{ task_id: 'spent' }] } },
  ])
})

test('comes in pages that leave out and repeat nothing, also within one message of the journal', () => {
  for (const limit of [1, 2, 3]) {
    const seen: string[] = []
    let after: string | null = null
    do {
      const found: Inbox = inbox({ limit, ...(after === null ? {} : { after }) })
      expect(found.waiting).toBe(5)
      expect(found.entries.length).toBeLessThanOrEqual(limit)
      seen.push(...found.entries.map((each) => ('call' in each ? each.call.call_id : each.task_id)))
      after = found.next
    } while (after !== null)
    expect(seen).toEqual(['spent', 'asks', 'a', 'b', 'shares'])
  }
  expect(() => inbox({ after: 'later' })).toThrow(expect.objectContaining({ code: 'invalid_arguments' }))
})

test('of one user has what belongs to that user, and does not count what belongs to others', () => {
  expect([named(inbox({ user_id: 'ann' })), inbox({ user_id: 'ann' }).waiting]).toEqual([
    ['budget spent', 'approval calls', 'approval calls'],
    3,
  ])
  const ofBen = inbox({ user_id: 'ben' })
  expect(named(ofBen)).toEqual(['question asks', 'budget shares'])
  expect(JSON.stringify(ofBen)).not.toMatch(/spent"|calls"/)
  for (const input of [{ user_id: 'carl' }, { user_id: null }, { tenant: 'other' }])
    expect(inbox(input)).toEqual({ entries: [], waiting: 0, more: false, next: null })
})

test('of one task has what this task waits for, and refuses the task of another user', () => {
  expect([named(inbox({ task_id: 'calls' })), inbox({ task_id: 'calls' }).waiting]).toEqual([
    ['approval calls', 'approval calls'],
    2,
  ])
  expect(named(inbox({ task_id: 'asks', user_id: 'ben' }))).toEqual(['question asks'])
  expect(inbox({ task_id: 'spent' }).entries).toMatchObject([{ budget: { run_ids: ['r'] } }])
  for (const input of [{ task_id: 'calls', user_id: 'ben' }, { task_id: 'none' }])
    expect(() => inbox(input)).toThrow(expect.objectContaining({ code: 'not_found' }))
})

/** What waits in one task, in which this happened to the run `r` after its start. */
async function waitsAfter(...events: readonly DomainEvent[]): Promise<string[]> {
  using read = await modelOf((stream) => void begun(stream, 't').write(...events))
  const { entries } = answer(read.sql, 'inbox', {})
  return entries.map((entry) =>
    entry.kind === 'budget'
      ? `${entry.budget.used} of ${entry.budget.limit}, needs ${entry.budget.needed}`
      : entry.kind,
  )
}

test('has a budget from the event on, until the run goes on or ends', async () => {
  const asks = ['0.69 of 0.7, needs 0.02']
  expect(await waitsAfter(short('r'))).toEqual(asks)
  expect(await waitsAfter(short('r', { wait_ms: null }))).toEqual([])
  expect(await waitsAfter(short('r'), reserved('r'))).toEqual([])
  expect(await waitsAfter(short('r'), reserved('r'), said('r', 'hello'))).toEqual([])
  expect(await waitsAfter(short('r'), raised(1))).toEqual([])
  expect(await waitsAfter(short('r'), raised(0.005))).toEqual(['0.69 of 0.705, needs 0.02'])
  expect(await waitsAfter(short('r'), runCompleted('r'))).toEqual([])
  const suspended = event('task_suspended', {
    ...{ daemon: 'd1', waits_for: 'person', wait_ms: 1, until: '2026-01-02T00:00:00.000Z', reason: 'x' },
  })
  expect(await waitsAfter(short('r'), suspended)).toEqual(asks)
})

test('has a budget for which a call of a tool waits, whatever becomes of the calls beside it', async () => {
  const begins = [reserved('r'), said('r', null, calls('a', 'b')), toolStarted('r', 'a')]
  const ofCalls = { measure: 'tool_calls', limit: 1, used: 1, needed: 1 } as const
  const asks = ['1 of 1, needs 1']
  expect(await waitsAfter(...begins, short('r', ofCalls))).toEqual(asks)
  expect(await waitsAfter(...begins, short('r', ofCalls), toolResult('r', 'a', 'x'))).toEqual(asks)
  expect(await waitsAfter(...begins, short('r', ofCalls), toolStarted('r', 'b'))).toEqual([])
})

test('has one entry for all runs of a task that wait for one limit', async () => {
  using read = await modelOf((stream) => {
    const log = begun(stream, 't')
    log.write(runStarted('s', { parent: 'r', node: 'n', team: 'team' }), short('r'), short('s'))
  })
  expect(answer(read.sql, 'inbox', {})).toMatchObject({
    waiting: 1,
    entries: [{ budget: { needed: 0.04, run_ids: ['r', 's'] } }],
  })
})
