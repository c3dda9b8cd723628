// A run against servers in memory: what is asked, what is not, and when it ends.
import type { HttpAnswer, HttpPost } from '@beaver/providers/endpoint'
import { expect, it } from 'vitest'
import { type AskedServer, isFit, runProbes } from './run-probes.ts'
import { longText, overflowWords, type StepName, steps } from './steps.ts'

const server: AskedServer = {
  ...{
    baseURL: 'http://server.invalid/v1',
    key: null,
    keyName: 'KEY',
    keyHeader: null,
    model: 'm',
    protocol: 'chat_completions',
  },
  ...{ reasoningEffort: null, outputTokensMax: 100, contextTokens: null, overflowTokensMax: 10_000 },
}
const limits = { stepMsMax: 60_000, signal: new AbortController().signal }

const answer = (
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer => ({
  status,
  header: (name) => headers[name] ?? null,
  headers: () => new Headers(headers),
  text: async () => JSON.stringify(value),
  bytes: (async function* () {
    yield Buffer.from(JSON.stringify(value))
  })(),
  discard: () => undefined,
})
const ready = (): HttpAnswer =>
  answer(200, {
    choices: [{ finish_reason: 'stop', message: { content: 'ready' } }],
    usage: { prompt_tokens: 9, completion_tokens: 1 },
  })
const limited = (after: string): HttpAnswer =>
  answer(429, { error: { message: 'slow down' } }, { 'retry-after': after })

/** The steps that were sent, and how. */
function counting(reply: (step: StepName, times: number) => HttpAnswer | Promise<HttpAnswer>) {
  const sent: StepName[] = []
  const posts =
    (step: StepName): HttpPost =>
    async () => {
      sent.push(step)
      return reply(step, sent.filter((each) => each === step).length)
    }
  return { sent, posts }
}

it('asks each step once, and the results of tools only if there was a call', async () => {
  const { sent, posts } = counting(ready)
  const run = await runProbes(server, posts, limits)
  expect(sent).toEqual(Object.keys(steps).filter((name) => name !== 'results'))
  expect(run.judged.find(({ name }) => name === 'results of tools')).toMatchObject({
    result: 'unasked',
    seen: expect.stringContaining('no result'),
  })
  expect([run.requests, run.usage, isFit(run)]).toEqual([
    10,
    { input_tokens: 90, output_tokens: 10, calls: 10 },
    false,
  ])
})

it('asks nothing else after the first request failed, and says why', async () => {
  const { sent, posts } = counting(() => answer(401, { error: { message: 'Incorrect API key' } }))
  const run = await runProbes(server, posts, limits)
  expect(sent).toEqual(['plain'])
  expect(run.failure).toMatch(/refused the API key: check KEY/)
  expect(run.judged.map(({ result }) => result)).toEqual([
    'failed',
    ...Array.from({ length: 12 }, () => 'unasked'),
  ])
})

it('waits once for a limit over time, as long as the server asks for', async () => {
  const waits: number[] = []
  const { sent, posts } = counting((step, times) =>
    step === 'plain' && times === 1 ? limited('7') : ready(),
  )
  const run = await runProbes(server, posts, { ...limits, pause: async (ms) => void waits.push(ms) })
  expect([waits, sent.slice(0, 3)]).toEqual([[7_000], ['plain', 'plain', 'streamed']])
  expect(run.judged[0]).toMatchObject({ result: 'passed' })
})

it.each([
  ['the limit holds on', '1', 2],
  ['the server wants a longer wait', '3600', 1],
])('fails a step if %s', async (_, after, requests) => {
  const { sent, posts } = counting(() => limited(after))
  const run = await runProbes(server, posts, { ...limits, pause: async () => undefined })
  expect([run.judged[0]?.result, sent.length]).toEqual(['failed', requests])
})

it('stops in the middle of a request when its signal aborts', async () => {
  const stop = new AbortController()
  const { sent, posts } = counting((step) => {
    if (step === 'call') stop.abort(new Error('the time is over'))
    return ready()
  })
  const run = await runProbes(server, posts, { ...limits, signal: stop.signal })
  expect(sent).toEqual(['plain', 'streamed', 'call'])
  expect(run.judged.find(({ name }) => name === 'image')).toMatchObject({
    result: 'unasked',
    seen: expect.stringContaining('the time is over'),
  })
  expect(isFit(run)).toBe(false)
})

it('begins no step after 20 requests', async () => {
  const calls = [
    { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
  ]
  const callsTool = (): HttpAnswer =>
    answer(200, { choices: [{ finish_reason: 'tool_calls', message: { content: null, tool_calls: calls } }] })
  const { sent, posts } = counting((step, times) =>
    times === 1 ? limited('0') : step === 'call' ? callsTool() : ready(),
  )
  const run = await runProbes(server, posts, { ...limits, pause: async () => undefined })
  expect([sent.length, run.requests, sent.includes('overflow')]).toEqual([20, 20, false])
  expect(run.judged.at(-1)).toMatchObject({
    name: 'overflow',
    result: 'unasked',
    seen: '20 requests were sent before it',
  })
})

it.each([
  ['if half of it is cut off', 'pl4nted-k3y-0123456789-of-the-run', 'pl4nted'],
  ['if it could be an ordinary text', 'letmein', 'letmein'],
])('no verdict has the key, even %s', async (_, key, beginning) => {
  const { posts } = counting(() =>
    answer(200, { choices: [{ finish_reason: 'stop', message: { content: `${'x'.repeat(30)} ${key}` } }] }),
  )
  const run = await runProbes({ ...server, key }, posts, limits)
  expect(JSON.stringify(run.judged)).toContain('[secret:KEY]')
  expect(JSON.stringify(run.judged)).not.toContain(beginning)
})

it('the text that is too long has a bound', () => {
  const most = { overflowTokensMax: 10_000 }
  expect(overflowWords({ ...most, contextTokens: null })).toBe(10_000)
  expect(overflowWords({ ...most, contextTokens: 4_096 })).toBe(5_325)
  expect(overflowWords({ ...most, contextTokens: 128_000 })).toBe(
    'its text has 166400 tokens, more than --overflow-tokens-max 10000',
  )
  expect(overflowWords({ overflowTokensMax: 0, contextTokens: null })).toMatch(/no text is sent/)
  expect(longText(5_325).split(' ')).toHaveLength(5_325)
})
