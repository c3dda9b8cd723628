import type { QueryOutput, Span } from '@beaver/contracts'
import { event } from '@beaver/core'
import { expect, test } from 'vitest'
import { answer } from '../../test/checked-answer.ts'
import {
  answer as said,
  runStarted,
  type Stream,
  submitted,
  teamTask,
  toolResult,
  toolStarted,
  userMessage,
} from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import type { ReadModel } from '../read-model.ts'
import type { Sql } from '../store/sql.ts'
import { answer as answerOf } from './queries.ts'

const failure = { class: 'rate_limited', message: 'Slow down.' } as const
const budget = { of: 'task', per: 'run' } as const
const call = (id: string) => ({ id, name: 'write_file', arguments: '{}' })

/** A run in which each kind of wait occurs. The event n is written n * 100 ms after the first one. */
function waits(stream: Stream): void {
  const log = stream.log('t')
  log.write(
    submitted(log.log),
    event('task_claimed', { daemon: 'd1', budgets: [] }),
    runStarted('r'),
    userMessage('r', 'x'),
  )
  log.write(
    event(
      'provider_call_failed',
      { failure, tries: 1, retry_in_ms: 250, status: 429, provider_name: 'openai', duration_ms: 30 },
      'r',
    ),
  )
  log.write(said('r', null, [call('a'), call('b')]))
  log.write(
    event('approval_requested', { call_id: 'a', tool_name: 'write_file', subject: 'x', rule: null }, 'r'),
  )
  log.write(
    event('task_suspended', {
      daemon: 'd1',
      waits_for: 'person',
      wait_ms: 5,
      until: '2026-01-01T00:00:09.000Z',
      reason: 'An approval.',
    }),
  )
  log.write(event('task_claimed', { daemon: 'd2' }))
  log.write(event('approval_granted', { call_id: 'a', by: 'ann' }, 'r'))
  log.write(toolStarted('r', 'a', 'write_file'))
  log.write(
    event(
      'question_asked',
      {
        call_id: 'a',
        tool_name: 'write_file',
        question_index: 0,
        question: { message: 'Sure?' },
      },
      'r',
    ),
  )
  log.write(
    event(
      'question_answered',
      { call_id: 'a', question_index: 0, answer: { action: 'decline' }, by: 'ann' },
      'r',
    ),
  )
  log.write(toolResult('r', 'a', 'no', { tool: 'write_file', error: 'declined' }))
  log.write(
    event(
      'budget_exceeded',
      { budget, measure: 'tokens', limit: 5, used: 5, needed: 1, spent_by: [], wait_ms: 60_000 },
      'r',
    ),
  )
  log.write(toolStarted('r', 'b', 'write_file'))
}

const at = (time: string | null): number | null =>
  time === null ? null : Date.parse(time) - Date.parse('2026-01-01T00:00:00.000Z')
const short = (span: Span): unknown[] => [
  span.taskseq,
  span.kind,
  span.name,
  at(span.started_at),
  at(span.ended_at),
  span.ok,
]
const ask = (model: ReadModel, input: object = {}): QueryOutput<'spans'> =>
  answer(model.sql, 'spans', { task_id: 't', ...input })

test('calls and waits come in the order of the log, each with its beginning and its end', async () => {
  using model = await modelOf(waits)
  const found = ask(model)
  expect(found).toMatchObject({ submitted_at: '2026-01-01T00:00:00.000Z', more: false, next: null })
  expect(found.spans.map(short)).toEqual([
    [5, 'model', 'openai', 370, 400, false],
    [5, 'wait', 'retry', 400, 650, null],
    [6, 'model', 'small', 460, 500, true],
    [6, 'tool', 'write_file', 1_000, 1_300, false],
    [6, 'tool', 'write_file', 1_500, null, null],
    [7, 'wait', 'approval', 600, 900, true],
    [8, 'wait', 'person', 700, 800, null],
    [12, 'wait', 'question', 1_100, 1_200, false],
    [15, 'wait', 'budget', 1_400, 1_500, true],
  ])
  expect(found.spans[0]).toMatchObject({ run_id: 'r', node_id: null, call_id: null, tries: 1, tokens: null })
  expect(found.spans[2]).toMatchObject({ tokens: 15, tries: null })
  expect(found.spans[3]).toMatchObject({ call_id: 'a', tries: 1 })
  expect(found.spans[6]).toMatchObject({ run_id: null, call_id: null })
})

test('pages have each span once', async () => {
  using model = await modelOf(waits)
  const whole = ask(model).spans
  for (const limit of [1, 2, 4]) {
    const spans: Span[] = []
    for (let after: number | null = 0; after !== null;) {
      const page = ask(model, { after, limit })
      expect(page.spans.length).toBeLessThanOrEqual(limit)
      spans.push(...page.spans)
      after = page.next
    }
    expect(spans).toEqual(whole)
  }
})

test('a window has what is at least partly in it, and a call that has not ended is in each later one', async () => {
  using model = await modelOf(waits)
  const inside = (from_ms?: number, to_ms?: number): unknown[] =>
    ask(model, {
      ...(from_ms === undefined ? {} : { from_ms }),
      ...(to_ms === undefined ? {} : { to_ms }),
    }).spans.map(({ taskseq, name }) => [taskseq, name])
  expect(inside(undefined, 401)).toEqual([
    [5, 'openai'],
    [5, 'retry'],
  ])
  expect(inside(650, 700)).toEqual([[7, 'approval']])
  expect(inside(1_350)).toEqual([
    [6, 'write_file'],
    [15, 'budget'],
  ])
  expect(inside(90_000, 90_001)).toEqual([[6, 'write_file']])
})

test('spans of some runs are those of no other', async () => {
  using model = await modelOf((stream) => teamTask(stream.log('t')))
  const of = (...run_ids: string[]): unknown[] =>
    ask(model, { run_ids }).spans.map(({ run_id, node_id, kind }) => [run_id, node_id, kind])
  expect(of('run-write', 'run-gather')).toEqual([
    ['run-gather', 'gather', 'model'],
    ['run-write', 'write', 'model'],
  ])
  expect(of('root-run')).toEqual([
    ['root-run', null, 'model'],
    ['root-run', null, 'tool'],
    ['root-run', null, 'model'],
  ])
  expect(of('nobody')).toEqual([])
})

test('a call that was under way when its run ended has ended with it', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('r'), userMessage('r', 'x'))
    log.write(said('r', null, [call('a')]), toolStarted('r', 'a', 'write_file'))
    log.write(
      event(
        'run_cancelled',
        { reason: 'x', tool_iterations: 1, usage: { input_tokens: 0, output_tokens: 0, calls: 0 } },
        'r',
      ),
    )
  })
  expect(ask(model).spans.map(short).at(-1)).toEqual([4, 'tool', 'write_file', 400, 500, null])
})

test('a page reads a bounded part of a long log, by the order of its places', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('early'), said('early', 'x'))
    for (let n = 0; n < 60; n++)
      log.write(
        ...Array.from({ length: 500 }, () => event('task_steer_requested', { request_id: 'x', text: 'x' })),
      )
    log.write(runStarted('late'), said('late', 'y'))
  })
  const first = ask(model)
  expect([first.spans.map(({ run_id }) => run_id), first.more]).toEqual([['early'], true])
  const second = ask(model, { after: first.next })
  expect([second.spans.map(({ run_id }) => run_id), second.more]).toEqual([['late'], false])
  // The page begins where the run began.
  expect(ask(model, { run_ids: ['late'] })).toMatchObject({ more: false, spans: [{ run_id: 'late' }] })
})

test('no statement sorts or reads a whole table', async () => {
  using model = await modelOf(waits)
  for (const input of [{}, { run_ids: ['r'] }]) {
    const texts = new Set<string>()
    const noting: Sql = {
      ...model.sql,
      each: (text, values) => (texts.add(text), model.sql.each(text, values)),
    }
    answerOf(noting, 'spans', { task_id: 't', ...input })
    expect(texts.size).toBe(5)
    for (const text of texts) {
      const plan = model.sql.all<{ detail: string }>(`explain query plan ${text}`, [
        1,
        0,
        9,
        ...('run_ids' in input ? ['["r"]'] : []),
      ])
      const steps = plan.map(({ detail }) => detail).filter((detail) => !detail.includes('json_each'))
      expect(steps.join('\n')).not.toMatch(/TEMP B-TREE|^SCAN/m)
      expect(steps[0]).toMatch(/task_key=\? AND \w+>\? AND \w+<\?/)
    }
  }
})
