// Each judgement: given what came back, then the verdict.
import type { ChatAnswer } from '@beaver/agent'
import type { ToolCall } from '@beaver/core'
import { describe, expect, it } from 'vitest'
import type { Answered, Heard, Refused } from './heard.ts'
import { type Evidence, probes, verdictOf } from './probes.ts'
import type { Exchange } from './recorder.ts'
import type { StepOptions } from './steps.ts'

const options: StepOptions = { provider: 'probed', contextTokens: null, overflowTokensMax: 10_000 }
const call = (city: string, name = 'get_weather'): ToolCall => ({
  id: `call_${city}`,
  name,
  arguments: JSON.stringify({ city }),
})
const said = (
  content: string | null,
  over: Partial<ChatAnswer> = {},
  pieces: readonly string[] = [],
): Answered => ({
  kind: 'answer',
  answer: {
    content,
    toolCalls: [],
    finishReason: 'stop',
    usage: { input_tokens: 40, output_tokens: 5, calls: 1 },
    model: 'm',
    responseId: null,
    ...over,
  },
  pieces,
})
const called = (...calls: readonly ToolCall[]): Answered =>
  said(null, { toolCalls: calls, finishReason: 'tool_calls' })
const counted = (input_tokens: number, output_tokens: number, content = 'ready'): Answered =>
  said(content, { usage: { input_tokens, output_tokens, calls: 1 } })
const refused = (failureClass: Refused['class'], status: number | null): Refused => ({
  kind: 'failure',
  class: failureClass,
  status,
  message: 'No. It says: never',
})
const exchange = (over: Partial<Exchange>): Exchange => ({
  request: '',
  status: 200,
  headers: {},
  body: '',
  whole: true,
  ...over,
})

function judged(name: string, heard: Heard, over: Partial<Evidence> = {}) {
  const probe = probes.find((each) => each.name === name)
  if (probe === undefined) throw new Error(`no probe ${name}`)
  return verdictOf(probe, heard, { heard: {}, exchanges: [exchange({})], options, ...over })
}

type Row = [
  probe: string,
  given: string,
  heard: Heard,
  result: string,
  seen: RegExp,
  evidence?: Partial<Evidence>,
]

const both = { heard: { calls: called(call('Paris'), call('Oslo')) } }
const one = { heard: { calls: called(call('Paris')) } }
const asSchema = { exchanges: [exchange({ request: '{"type":"json_schema"}' })] }
const withImage = { exchanges: [exchange({ request: '{"type":"image_url"}' })] }
const window = (contextTokens: number): Partial<Evidence> => ({ options: { ...options, contextTokens } })
const countsNothing = said('ready', {
  usage: { input_tokens: 0, output_tokens: 0, calls: 1, unknown_calls: 1 },
})

const rows: readonly Row[] = [
  ['plain answer', 'the word', said('Ready.'), 'passed', /^"Ready\."$/],
  ['plain answer', 'another word', said('yes'), 'failed', /does not say "ready", but "yes"/],
  ['plain answer', 'nothing', said(null), 'failed', /but ""/],
  [
    'plain answer',
    'an answer that was cut',
    said('ready', { finishReason: 'length' }),
    'failed',
    /--output-tokens-max/,
  ],
  [
    'plain answer',
    'a word that nobody knows at its end',
    said('ready', { finishReason: 'ray' }),
    'failed',
    /"ray", which means: unknown/,
  ],
  [
    'plain answer',
    'a failure',
    refused('provider_unavailable', 503),
    'failed',
    /^provider_unavailable, HTTP 503: never$/,
  ],
  [
    'plain answer',
    'nobody asked',
    { kind: 'unasked', why: 'the time is over' },
    'unasked',
    /^the time is over$/,
  ],
  ['streamed answer', 'pieces', said('9 10', {}, ['9 ', '10']), 'passed', /in 2 pieces/],
  ['streamed answer', 'one piece', said('9 10', {}, ['9 10']), 'passed', /in one piece/],
  [
    'streamed answer',
    'other pieces',
    said('9 10', {}, ['9 ', '11']),
    'failed',
    /"9 11" are not the answer "9 10"/,
  ],
  ['streamed answer', 'pieces of another text', said('no', {}, ['no']), 'failed', /does not say "10"/],
  ['usage', 'counts', counted(40, 5), 'passed', /^40 in, 5 out$/],
  [
    'usage',
    'parts',
    counted(40, 5),
    'passed',
    /names cached_tokens, reasoning_tokens$/,
    { exchanges: [exchange({ body: '"reasoning_tokens":0,"cached_tokens":0' })] },
  ],
  ['usage', 'no counts', countsNothing, 'unsupported', /costs are unknown/],
  ['usage', 'an answer of no tokens', counted(40, 0), 'failed', /40 in, 0 out, which cannot be/],
  ['usage', 'a failure', refused('provider_unavailable', 500), 'unasked', /no answer to count/],
  ['usage of a stream', 'a request of no tokens', counted(0, 5), 'failed', /0 in, 5 out/],
  ['tool call', 'the call', called(call('Paris')), 'passed', /get_weather for Paris/],
  ['tool call', 'the call with more words', called(call('Paris, France')), 'passed', /Paris/],
  ['tool call', 'a text', said('It is sunny.'), 'failed', /calls no tool, but says "It is sunny\."/],
  ['tool call', 'another tool', called(call('Paris', 'weather')), 'failed', /calls "weather"/],
  ['tool call', 'another city', called(call('Oslo')), 'failed', /calls with the arguments/],
  [
    'tool call',
    'arguments that are not JSON',
    called({ id: '1', name: 'get_weather', arguments: '{"city": "Par' }),
    'failed',
    /calls with the arguments/,
  ],
  ['tool call', 'two calls', called(call('Paris'), call('Paris')), 'failed', /makes 2 calls/],
  ['parallel calls', 'both', called(call('Paris'), call('Oslo')), 'passed', /2 calls in one answer/],
  ['parallel calls', 'one', called(call('Paris')), 'unsupported', /one call in an answer/],
  ['parallel calls', 'one twice', called(call('Paris'), call('Paris')), 'failed', /no call for Oslo/],
  ['parallel calls', 'none', said('no'), 'failed', /calls no tool/],
  ['results of tools', 'both temperatures', said('23 and 17'), 'passed', /the 2 calls/, both],
  ['results of tools', 'one temperature', said('23'), 'failed', /returned for Oslo, but "23"/, both],
  ['results of tools', 'the only temperature', said('23'), 'passed', /the tool returned/, one],
  ['results of tools', 'the same call', called(call('Paris')), 'failed', /calls the tool again/, one],
  ['results of tools', 'the next call', called(call('Oslo')), 'passed', /next call/, one],
  ['streamed calls', 'both', called(call('Paris'), call('Oslo')), 'passed', /2 calls/],
  ['streamed calls', 'one', called(call('Oslo')), 'passed', /one call in a stream/],
  [
    'streamed calls',
    'both in one',
    called({ id: '1', name: 'get_weather', arguments: '{"city":"Paris"}{"city":"Oslo"}' }),
    'failed',
    /with the arguments/,
  ],
  ['streamed calls', 'a text', said(''), 'failed', /calls no tool/],
  [
    'structured answer',
    'JSON of the schema',
    said('{"paris":"F","oslo":"N"}'),
    'passed',
    /asked by its schema/,
    asSchema,
  ],
  [
    'structured answer',
    'the same in words',
    said('```json\n{"paris":"F","oslo":"N"}\n```'),
    'passed',
    /asked in words alone/,
  ],
  [
    'structured answer',
    'other JSON',
    said('{"paris":"F"}'),
    'unsupported',
    /does not fit its JSON Schema/,
    asSchema,
  ],
  ['structured answer', 'a text', said('France'), 'unsupported', /"France" is not JSON/, asSchema],
  ['structured answer', 'a failure', refused('provider_refused', 400), 'failed', /provider_refused/],
  ['image', 'the colour', said('It is red.'), 'passed', /sees the colour/, withImage],
  ['image', 'another colour', said('It is rendered blue.'), 'unsupported', /does not see it/, withImage],
  ['image', 'an answer without the image', said('It is red.'), 'unsupported', /takes no images/],
  [
    'image',
    'a refusal that Beaver does not understand',
    refused('provider_refused', 400),
    'failed',
    /provider_refused/,
  ],
  ['bound of an answer', 'a cut', said('1 2', { finishReason: 'MAX_TOKENS' }), 'passed', /"MAX_TOKENS"/],
  ['bound of an answer', 'all numbers', said('1 … 200'), 'unsupported', /ignores the bound/],
  [
    'bound of an answer',
    'a cut that says nothing',
    counted(40, 16, '1 2 3'),
    'failed',
    /takes it for a whole one/,
  ],
  ['bound of an answer', 'a short answer', counted(40, 4, 'I cannot.'), 'unasked', /ended by itself/],
  [
    'bound of an answer',
    'an end that is none',
    said('1', { finishReason: 'incomplete' }),
    'failed',
    /means: failed/,
  ],
  [
    'bound of an answer',
    'a refusal',
    refused('provider_refused', 400),
    'unsupported',
    /refuses a bound of 16/,
  ],
  [
    'bound of an answer',
    'a broken server',
    refused('provider_unavailable', 500),
    'failed',
    /provider_unavailable/,
  ],
  [
    'unknown model',
    'a refusal',
    refused('provider_refused', 404),
    'passed',
    /^provider_refused, HTTP 404: never$/,
  ],
  ['unknown model', 'an answer', said('ready'), 'unsupported', /calls itself "m"/],
  ['unknown model', 'a broken server', refused('provider_unavailable', 500), 'failed', /would ask again/],
  ['overflow', 'it is too long', refused('context_overflow', 400), 'passed', /context_overflow/],
  [
    'overflow',
    'a refusal in other words',
    refused('provider_refused', 400),
    'failed',
    /does not read as too long/,
  ],
  ['overflow', 'no answer in time', refused('provider_timeout', null), 'unasked', /no answer in time/],
  [
    'overflow',
    'the window is full',
    said('', { finishReason: 'model_context_window_exceeded' }),
    'passed',
    /finish reason/,
  ],
  ['overflow', 'all words are counted', counted(12_000, 1), 'unasked', /takes a text of 10000 tokens/],
  [
    'overflow',
    'fewer are counted',
    counted(4_096, 1),
    'unsupported',
    /counts 4096 tokens of at least 10000: set "context_tokens"/,
  ],
  [
    'overflow',
    'more than the window is answered',
    counted(3_000, 1),
    'unsupported',
    /more than --context-tokens 2000/,
    window(2_000),
  ],
  ['overflow', 'nothing is counted', countsNothing, 'unasked', /takes a text/],
]

describe('a judgement', () => {
  it.each(rows)('of %s, given %s', (name, _, heard, result, seen, evidence) => {
    expect(judged(name, heard, evidence)).toEqual({ result, seen: expect.stringMatching(seen) })
  })

  it('can fail, each of them', () => {
    const red = new Set(rows.filter(([, , , result]) => result === 'failed').map(([name]) => name))
    expect(probes.filter(({ name }) => !red.has(name))).toEqual([])
  })

  it('shows what a terminal would obey as an escape', () => {
    expect(judged('plain answer', said('\u001b[2Jno')).seen).toContain('\\u{1b}[2Jno')
  })
})
