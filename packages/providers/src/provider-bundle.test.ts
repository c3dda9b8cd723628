import type { Clock } from '@beaver/core'
import { until, virtualClock } from '@beaver/testing'
import { afterEach, expect, it } from 'vitest'
import { ask, closeServers, failureOf, json, serve } from '../test/kit.ts'
import { gateBuffer, type GateLimits } from './gate/endpoint-gate.ts'
import { type EndpointChoice, type ProviderChoices, providerBundle } from './provider-bundle.ts'

afterEach(closeServers)

const limits: GateLimits = {
  requestsPerMinuteMax: null,
  tokensPerMinuteMax: null,
  circuitFailuresMax: 3,
  circuitOpenMs: 60_000,
  turnMsMax: 3_600_000,
}
const at = (baseURL: string, over: Partial<EndpointChoice> = {}): EndpointChoice => ({
  provider: 'p',
  baseURL,
  apiKey: 'sk-main-key',
  keyName: 'OPENAI_API_KEY',
  model: 'm',
  timeoutMs: 60_000,
  idleMs: 60_000,
  gateIndex: 0,
  ...over,
})
const choices = (main: EndpointChoice, over: Partial<ProviderChoices> = {}): ProviderChoices => ({
  ...main,
  fallback: null,
  auxiliary: null,
  embeddings: null,
  gate: gateBuffer(4),
  limits,
  ...over,
})

it('asks each endpoint with its own key and model', async () => {
  const seen: string[] = []
  const url = await serve((request, response, body) => {
    seen.push(
      `${request.url} ${request.headers.authorization} ${(JSON.parse(body) as { model: string }).model}`,
    )
    json(
      request.url === '/v1/embeddings'
        ? { data: [{ embedding: [1] }] }
        : { choices: [{ message: { content: 'a' } }] },
    )(request, response, body)
  })
  const other = (name: string, gateIndex: number): EndpointChoice =>
    at(url, { apiKey: `sk-${name}-key`, model: name, gateIndex })
  const bundle = providerBundle(
    choices(at(url), {
      fallback: other('fallback', 1),
      auxiliary: other('auxiliary', 2),
      embeddings: other('embeddings', 3),
    }),
  )
  await bundle.main.chat(ask())
  await bundle.fallbacks[0]?.chat(ask())
  await bundle.auxiliary?.chat(ask())
  await bundle.embeddings?.embed(['x'], new AbortController().signal)
  expect(seen).toEqual([
    '/v1/chat/completions Bearer sk-main-key m',
    '/v1/chat/completions Bearer sk-fallback-key fallback',
    '/v1/chat/completions Bearer sk-auxiliary-key auxiliary',
    '/v1/embeddings Bearer sk-embeddings-key embeddings',
  ])
})

it('tells the window of a model, and how long its answers may be', () => {
  const { main, auxiliary, models } = providerBundle(
    choices(at('http://127.0.0.1:1/v1', { contextTokens: 9_000, settings: { output_tokens_max: 700 } }), {
      auxiliary: at('http://127.0.0.1:1/v1', { protocol: 'responses', settings: { output_tokens_max: 70 } }),
      models: {
        own: {
          endpoint: {
            ...{
              provider: 'mine:own',
              own: 'own',
              model: 'm',
              timeoutMs: 60_000,
              idleMs: 60_000,
              gateIndex: 1,
            },
            ...{ contextTokens: 8_000, outputTokensMax: 600 },
          },
          route: [],
        },
      },
    }),
  )
  expect([main.contextTokens, main.outputTokensMax]).toEqual([9_000, 700])
  expect([auxiliary?.contextTokens, auxiliary?.outputTokensMax]).toEqual([undefined, 70])
  expect(models?.get('own')?.main).toMatchObject({ contextTokens: 8_000, outputTokensMax: 600 })
})

it('asks each endpoint in its protocol', async () => {
  const seen: unknown[] = []
  const url = await serve((request, response, body) => {
    seen.push([request.url, (JSON.parse(body) as { store?: boolean }).store])
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'a' }] }]
    json(
      request.url === '/v1/responses'
        ? { status: 'completed', output }
        : { choices: [{ message: { content: 'a' } }] },
    )(request, response, body)
  })
  const bundle = providerBundle(
    choices(at(url, { protocol: 'responses' }), {
      fallback: at(url, { protocol: 'chat_completions', gateIndex: 1 }),
      auxiliary: at(url, { protocol: 'responses', stores: true, gateIndex: 2 }),
    }),
  )
  for (const provider of [bundle.main, bundle.fallbacks[0], bundle.auxiliary])
    expect((await provider?.chat(ask()))?.content).toBe('a')
  expect(seen).toEqual([
    ['/v1/responses', false],
    ['/v1/chat/completions', undefined],
    ['/v1/responses', true],
  ])
})

it.each([
  ['native', 'json_schema', { format: { type: 'json_schema' } }],
  ['prompt', undefined, undefined],
] as const)(
  'asks an endpoint for the form of an answer as its setting says: %s',
  async (structuredOutput, chat, responses) => {
    const seen: unknown[] = []
    const url = await serve((request, response, body) => {
      const { response_format: format, text } = JSON.parse(body) as {
        response_format?: { type: string }
        text?: object
      }
      seen.push(request.url === '/v1/responses' ? text : format?.type)
      const output = [{ type: 'message', content: [{ type: 'output_text', text: '{}' }] }]
      json(
        request.url === '/v1/responses'
          ? { status: 'completed', output }
          : { choices: [{ message: { content: '{}' }, finish_reason: 'stop' }] },
      )(request, response, body)
    })
    const bundle = providerBundle(
      choices(at(url, { structuredOutput }), {
        auxiliary: at(url, { protocol: 'responses', structuredOutput, gateIndex: 1 }),
      }),
    )
    const request = ask({
      output: { name: 'answer', schema: { type: 'object' } },
      tools: [{ name: 'echo', description: 'e', parameters: { type: 'object' } }],
    })
    await bundle.main.chat(request)
    await bundle.auxiliary?.chat(request)
    if (responses === undefined) expect(seen).toEqual([chat, responses])
    else expect(seen).toMatchObject([chat, responses])
  },
)

it('has nothing beside the main endpoint when nothing was chosen', async () => {
  expect(providerBundle(choices(at(await serve(() => undefined))))).toMatchObject({
    fallbacks: [],
    auxiliary: null,
    embeddings: null,
  })
})

it('in every thread knows what another met: the circuit is one, and each endpoint has its own', async () => {
  let requests = 0
  const url = await serve((request, response, body) => {
    requests++
    json({ error: { message: 'x' } }, 503)(request, response, body)
  })
  const works = await serve(json({ choices: [{ message: { content: 'stands in' } }] }))
  const chosen = choices(at(url), { fallback: at(works, { gateIndex: 1 }) })
  const [one, other] = [providerBundle(structuredClone(chosen)), providerBundle(structuredClone(chosen))]
  for (let i = 0; i < 3; i++) await failureOf(one.main.chat(ask()))
  const error = await failureOf(other.main.chat(ask()))
  expect(error.message).toMatch(
    /^The endpoint 127\.0\.0\.1:\d+ failed \(HTTP 503\).* failed 3 times in a row/,
  )
  expect([error.class, requests, (error.retryAfterMs ?? 0) > 50_000]).toEqual([
    'provider_unavailable',
    3,
    true,
  ])
  expect((await other.fallbacks[0]?.chat(ask()))?.content).toBe('stands in')
})

it('holds all threads when the endpoint asks for a pause', async () => {
  let requests = 0
  const url = await serve((request, response, body) => {
    const handler =
      requests++ === 0
        ? json({ error: { message: 'x' } }, 429, { 'retry-after-ms': '150' })
        : json({ choices: [{ message: { content: 'a' } }] })
    handler(request, response, body)
  })
  const time = virtualClock()
  const pauses: number[] = []
  const clock: Clock = { now: time.now, after: (ms, act) => (pauses.push(ms), time.after(ms, act)) }
  const chosen = choices(at(url))
  const [one, other] = [providerBundle(chosen, { clock }), providerBundle(structuredClone(chosen), { clock })]
  expect((await failureOf(one.main.chat(ask()))).class).toBe('rate_limited')
  const answer = other.main.chat(ask())
  await until('it waits', () => pauses.length === 1)
  time.advance(149)
  await new Promise(setImmediate)
  expect([pauses, requests]).toEqual([[150], 1])
  time.advance(1)
  expect((await answer).content).toBe('a')
})

it('names the variable of a refused key', async () => {
  const url = await serve(json({ error: { message: 'nope' } }, 401))
  const bundle = providerBundle(
    choices(at(url), { fallback: at(url, { keyName: 'BEAVER_FALLBACK_API_KEY' }) }),
  )
  const [fallback] = bundle.fallbacks
  const refused = fallback === undefined ? null : await failureOf(fallback.chat(ask()))
  expect(refused?.message).toMatch('check BEAVER_FALLBACK_API_KEY')
})
