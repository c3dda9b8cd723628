import { event, type DomainEvent, type LogId } from '@beaver/core'
import { spanId, taskTrace } from '@beaver/core/trace'
import { expect, test } from 'vitest'
import { names } from './names.ts'
import { TaskSpans, type TracedEvent } from './task-spans.ts'

const log = { tenant: 'local', session: 's', task: 't' } as LogId
const usage = { input_tokens: 10, output_tokens: 5, calls: 1, reasoning_tokens: 3 }
const call = (id: string) => ({ id, name: 'read_file', arguments: '{}' })
const answered = (calls: readonly string[], of: object = {}): DomainEvent =>
  event(
    'assistant_message_added',
    {
      content: null,
      tool_calls: calls.map(call),
      finish_reason: 'stop',
      usage,
      provider_name: 'openai',
      model: 'small',
      response_id: null,
      duration_ms: 40,
      ...of,
    },
    'r',
  )
const result = (id: string): DomainEvent =>
  event(
    'tool_result_recorded',
    { call_id: id, tool_name: 'read_file', success: true, content: '', error: null, duration_ms: 7 },
    'r',
  )

/** The spans of events, each 100 ms after the one before. */
function spansOf(events: readonly DomainEvent[], traceparent?: string) {
  const trace = taskTrace('main', log, traceparent === undefined ? null : { traceparent })
  const spans = new TaskSpans({ log, trace, retried: null, content: false })
  return events.flatMap((each, i) => {
    const time = new Date(1_767_225_600_000 + i * 100).toISOString()
    return spans.take({ ...each, runId: each.runId ?? '', taskseq: i + 1, time } as TracedEvent)
  })
}

test('calls with the same id in two answers are two spans, each with its own id', () => {
  const spans = spansOf([answered(['c']), result('c'), answered(['c']), result('c')])
  expect(spans.map(({ name }) => name)).toEqual([
    'chat small',
    'execute_tool read_file',
    'chat small',
    'execute_tool read_file',
  ])
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4)
  expect(spans[0]?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.response.model': 'small',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.reasoning.output_tokens': 3,
  })
})

test('an answer that was copied or delivered is no call of a model', () => {
  const copied = { copied_from: { task_id: 'old', taskseq: 3 } }
  expect(spansOf([answered([], copied), answered([], { delivered_from: 'team' })])).toEqual([])
})

test('a call of a model that was lost lasts from its reservation until somebody knew', () => {
  const reserved = event(
    'model_call_reserved',
    { provider_name: 'openai', model: 'small', input_tokens_max: 1, output_tokens_max: 1, usd_max: 0 },
    'r',
  )
  const lost = event('model_call_lost', { provider_name: 'openai', model: 'small', usage }, 'r')
  const [span] = spansOf([reserved, answered([]), reserved, lost]).slice(1)
  expect(span).toMatchObject({ name: 'chat small', error: 'lost' })
  expect((span?.endedMs ?? 0) - (span?.beganMs ?? 0)).toBe(100)
})

test('a task has a bounded number of spans of calls, and all of what failed', () => {
  const many = Array.from({ length: 10_050 }, () => answered([]))
  const failed = event(
    'provider_call_failed',
    {
      failure: { class: 'provider_unavailable', message: 'late' },
      tries: 1,
      retry_in_ms: null,
      status: null,
    },
    'r',
  )
  const spans = spansOf([...many, failed])
  expect(spans).toHaveLength(10_001)
  expect(spans.at(-1)?.error).toBe('provider_unavailable')
})

test('who submits a task without the wish for spans gets none', () => {
  const events = [answered(['c']), result('c')]
  expect(spansOf(events, `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`)).toEqual([])
  expect(spansOf(events, `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`)).toHaveLength(2)
})

const failed = (of: object = {}): DomainEvent =>
  event(
    'provider_call_failed',
    {
      failure: { class: 'provider_unavailable', message: 'late' },
      tries: 1,
      retry_in_ms: null,
      status: null,
      ...of,
    },
    'r',
  )

test('each call of a model has the id that a loop knows before it makes the call', () => {
  const spans = spansOf([failed(), answered(['c']), result('c'), answered([])])
  const trace = taskTrace('main', log)
  const known = [0, 1, 2].map((number) => spanId(trace, { kind: 'model', run: 'r', number }))
  expect(spans.filter(({ kind }) => kind === 'client').map(({ spanId: id }) => id)).toEqual(known)
})

test('a call has the model that was asked, also if it failed, and the model that answered', () => {
  const reserved = event(
    'model_call_reserved',
    { provider_name: 'openai:deep', model: 'big', input_tokens_max: 1, output_tokens_max: 1, usd_max: 0 },
    'r',
  )
  const [lost, told, unknown] = spansOf([
    reserved,
    failed({ provider_name: 'openai:deep' }),
    reserved,
    answered([], { provider_name: 'openai:deep' }),
    failed(),
  ])
  expect([lost?.name, told?.name, unknown?.name]).toEqual(['chat big', 'chat big', 'chat'])
  expect(lost?.attributes).toMatchObject({
    'gen_ai.request.model': 'big',
    'error.type': 'provider_unavailable',
  })
  expect(told?.attributes).toMatchObject({
    'gen_ai.request.model': 'big',
    'gen_ai.response.model': 'small',
    'gen_ai.provider.name': 'openai',
    [names.endpoint]: 'openai:deep',
  })
  expect(lost?.attributes).not.toHaveProperty(['gen_ai.response.model'])
})

test('all calls of a session have its id, which does not show its name', () => {
  const [span] = spansOf([answered([])])
  expect(span?.attributes['gen_ai.conversation.id']).toMatch(/^[\da-f]{32}$/)
})

test('an answer is told in the form of the conventions, if texts may be told', () => {
  const trace = taskTrace('main', log)
  const spans = new TaskSpans({ log, trace, retried: null, content: true })
  const said = { ...answered(['c'], { content: 'Look.' }), runId: 'r', taskseq: 1 }
  const [span] = spans.take({ ...said, time: '2026-01-01T00:00:00.000Z' } as TracedEvent)
  expect(JSON.parse(String(span?.attributes['gen_ai.output.messages']))).toEqual([
    {
      role: 'assistant',
      parts: [
        { type: 'text', content: 'Look.' },
        { type: 'tool_call', id: 'c', name: 'read_file' },
      ],
      finish_reason: 'stop',
    },
  ])
  expect(span?.attributes['gen_ai.conversation.id']).toBe('s')
})
