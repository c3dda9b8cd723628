// What a daemon counts of the events that it made durable. The whole way is in test/system/metrics.test.ts.
import { event, noUsage, type DomainEvent } from '@beaver/core'
import { noPrices } from '@beaver/core/cost'
import { draft } from '@beaver/core/journal'
import { readPrometheusText, sampleOf } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { DaemonMetrics } from './daemon-metrics.ts'
import { configuredChoice } from './model.ts'
import { loadConfig } from '@beaver/platform'

const config = loadConfig({ set: { model: { name: 'gpt-5-mini' } } }, { OPENAI_API_KEY: 'sk-x' }, '/')

const counting = (): DaemonMetrics =>
  new DaemonMetrics({
    ...{ namespace: 'n', tenant: 't', model: configuredChoice(config), prices: () => noPrices },
    isConfigured: (tool) => tool === 'web_fetch',
    isOfMcp: (tool) => tool.startsWith('github_'),
  })

const answered = (model: string, more: object = {}): DomainEvent =>
  event('assistant_message_added', {
    content: 'Hello',
    tool_calls: [],
    finish_reason: 'stop',
    usage: { input_tokens: 10, output_tokens: 3, calls: 1, cached_input_tokens: 4 },
    provider_name: 'openai',
    model,
    response_id: null,
    duration_ms: 1_500,
    ...more,
  })

const used = (tool: string, success: boolean): DomainEvent =>
  event('tool_result_recorded', {
    ...{ call_id: 'c', tool_name: tool, success, content: '', error: success ? null : 'tool_crash' },
    duration_ms: 20,
  })

async function after(...groups: readonly (readonly DomainEvent[])[]) {
  const counted = counting()
  for (const group of groups) counted.saw(group.map(draft), 1)
  return readPrometheusText(await counted.metrics.text())
}

describe('a daemon counts', () => {
  it('calls of models with their tokens and times, under the name of the configuration', async () => {
    const all = await after([answered('gpt-5-mini-2025-08-07'), answered('gpt-5-mini')])
    const of = { provider: 'openai', model: 'gpt-5-mini' }
    expect(sampleOf(all, 'beaver_model_calls_total', { ...of, outcome: 'ok' })).toBe(2)
    expect(sampleOf(all, 'beaver_model_tokens_total', { ...of, kind: 'input' })).toBe(20)
    expect(sampleOf(all, 'beaver_model_tokens_total', { ...of, kind: 'cached' })).toBe(8)
    expect(sampleOf(all, 'beaver_model_call_seconds_sum', of)).toBe(3)
    expect(sampleOf(all, 'beaver_model_cost_unknown_calls_total', of)).toBe(2)
  })

  it('one series for 10,000 models that servers make up', async () => {
    const all = await after(Array.from({ length: 10_000 }, (_, i) => answered(`made-up-${i}`)))
    const samples = all.get('beaver_model_calls_total')?.samples ?? []
    expect(samples.map(({ labels, value }) => [labels['model'], value])).toEqual([['other', 10_000]])
  })

  it('failed and lost calls by what became of them', async () => {
    const failed = event('provider_call_failed', {
      failure: { class: 'rate_limited', message: 'Slow down.' },
      ...{ tries: 1, retry_in_ms: 10, status: 429, provider_name: 'openai', duration_ms: 50 },
    })
    const lost = event('model_call_lost', { provider_name: 'openai', model: 'gpt-5-mini', usage: noUsage })
    const all = await after([failed, lost])
    expect(sampleOf(all, 'beaver_model_calls_total', { outcome: 'rate_limited', model: 'unknown' })).toBe(1)
    expect(sampleOf(all, 'beaver_model_calls_total', { outcome: 'lost', model: 'gpt-5-mini' })).toBe(1)
  })

  it('no answer that a team wrote', async () => {
    const all = await after([answered('gpt-5-mini', { delivered_from: 'team_1' })])
    expect(all.has('beaver_model_calls_total')).toBe(false)
  })

  it('nothing that a retry copies from the task before it', async () => {
    const copied = event('task_log_copied', {
      ...{ task_id: 'old', taskseq: 9, hash: 'h', previous_task_id: null, events: 2 },
    } as never)
    const claimed = event('task_claimed', { daemon: 'd' })
    const all = await after([
      claimed,
      copied,
      answered('gpt-5-mini'),
      used('web_fetch', true),
      used('web_fetch', false),
    ])
    expect(all.has('beaver_model_calls_total')).toBe(false)
    expect(sampleOf(all, 'beaver_tool_calls_total', { tool: 'web_fetch', outcome: 'error' })).toBe(1)
    expect(sampleOf(all, 'beaver_tool_calls_total', { tool: 'web_fetch', outcome: 'ok' })).toBeUndefined()
    expect(sampleOf(all, 'beaver_claims_total', { kind: 'first' })).toBe(1)
  })

  it('tools by the names of the configuration, those of MCP servers together', async () => {
    const all = await after([used('web_fetch', true), used('github_search', true), used('made up', false)])
    const tools = all
      .get('beaver_tool_calls_total')
      ?.samples.map(({ labels }) => [labels['tool'], labels['outcome']])
    expect(tools).toEqual([
      ['web_fetch', 'ok'],
      ['mcp', 'ok'],
      ['other', 'error'],
    ])
  })

  it('the events of an append together, in however many groups they were given', async () => {
    const counted = counting()
    counted.appended(
      [[answered('gpt-5-mini')], [used('web_fetch', true), used('web_fetch', true)]].map((group) => ({
        drafts: group.map(draft),
      })),
      1,
    )
    const all = readPrometheusText(await counted.metrics.text())
    expect(sampleOf(all, 'beaver_append_events_count')).toBe(1)
    expect(sampleOf(all, 'beaver_append_events_sum')).toBe(3)
    expect(sampleOf(all, 'beaver_tool_calls_total', { tool: 'web_fetch' })).toBe(2)
  })

  it('the end of a task with its status, its failure and its time', async () => {
    const counted = counting()
    const end = event('task_failed', {
      ...{ final_output: '', outputs: [], usage: noUsage, provider: null, model: null, simulated: false },
      failure: { class: 'no_progress', message: 'The same again.' },
    })
    counted.ended(end, '2026-01-01T00:00:00.000Z', Date.parse('2026-01-01T00:00:20.000Z'))
    counted.ended(end, '2026-01-01T00:00:30.000Z', Date.parse('2026-01-01T00:00:20.000Z')) // Another clock.
    const all = readPrometheusText(await counted.metrics.text())
    expect(sampleOf(all, 'beaver_tasks_ended_total', { status: 'failed', failure: 'no_progress' })).toBe(2)
    expect(sampleOf(all, 'beaver_task_seconds_sum', { status: 'failed' })).toBe(20)
  })
})
