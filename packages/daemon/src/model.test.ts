import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Clock, loggerOver, type LogLine, systemClock } from '@beaver/core'
import { type Config, loadConfig } from '@beaver/platform'
import { until } from '@beaver/testing'
import type { ChatChoice, EndpointChoice } from '@beaver/providers'
import { chooseModel, configuredChoice } from './model.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function config(
  model: object,
  env: Record<string, string> = {},
  models: object = {},
  endpoints: object = {},
): Config {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-model-'))
  folders.push(folder)
  writeFileSync(join(folder, 'beaver.config.json'), JSON.stringify({ model, models, endpoints }))
  return loadConfig({ trust: true }, env, folder)
}

function endpointOf(choice: ChatChoice | null | undefined): EndpointChoice {
  if (choice === null || choice === undefined || 'own' in choice) throw new Error('It is no endpoint.')
  return choice
}

const local = 'http://127.0.0.1:9/v1'
const keys = { OPENAI_API_KEY: 'sk-main', BEAVER_FALLBACK_API_KEY: 'sk-fallback' }

describe('the named models of a configuration', () => {
  it('have endpoints of their own, each with its key, and the main key goes to the main endpoint alone', () => {
    const models = {
      deep: {
        name: 'd',
        base_url: local,
        key: 'DEEP_KEY',
        fallback: 'main',
        settings: { temperature: 0 },
        context_tokens: 9_000,
      },
      near: { name: 'n' },
      far: { name: 'f', base_url: 'http://127.0.0.1:10/v1', fallback: 'deep' },
    }
    const { models: chosen = {}, gate } = configuredChoice(
      config({}, { OPENAI_API_KEY: 'sk-main', DEEP_KEY: 'sk-deep' }, models),
    )
    const told = ({ provider, apiKey, keyName }: EndpointChoice) => [provider, apiKey, keyName]
    expect(
      Object.entries(chosen).map(([name, { endpoint, route }]) => [
        name,
        ...told(endpointOf(endpoint)),
        route,
      ]),
    ).toEqual([
      ['deep', 'openai-compatible:deep', 'sk-deep', 'DEEP_KEY', ['main']],
      ['near', 'openai:near', 'sk-main', 'OPENAI_API_KEY', []],
      ['far', 'openai-compatible:far', 'none', 'OPENAI_API_KEY', ['deep']],
    ])
    expect(chosen['deep']?.endpoint).toMatchObject({
      model: 'd',
      settings: { temperature: 0 },
      contextTokens: 9_000,
    })
    expect(new Set(Object.values(chosen).map(({ endpoint }) => endpoint.gateIndex)).size).toBe(3)
    expect(gate.byteLength).toBeGreaterThan(0)
  })

  it.each([
    [{ main: { name: 'x' } }, 'models.main'],
    [{ a: { name: 'x', fallback: 'b' } }, 'models.a.fallback'],
    [{ a: { name: 'x', fallback: 'a' } }, 'models.a.fallback'],
    [{ 'a b': { name: 'x' } }, 'models.a b'],
    [{ a: { name: 'x', key: '$KEY' } }, 'models.a.key'],
  ])('%j are refused, and the place is told', (models, path) =>
    expect(() => config({}, {}, models)).toThrow(path),
  )
})

describe('who asks', () => {
  const identity = { identity_provider_id: 'idp', service_account_id: 'sa', token: { file: '/run/token' } }
  const azure = { api_version: '2026-01-01' }

  it('is said by a workload identity, which needs no key, and which the models at the same URL share', () => {
    const chosen = configuredChoice(
      config(
        { workload_identity: identity },
        {},
        { near: { name: 'n' }, far: { name: 'f', base_url: local } },
      ),
    )
    const variant = {
      workloadIdentity: { identityProviderId: 'idp', serviceAccountId: 'sa', token: { file: '/run/token' } },
    }
    expect(chosen).toMatchObject({
      provider: 'openai',
      apiKey: 'none',
      keyName: 'workload_identity',
      variant,
    })
    expect(chosen.models?.['near']?.endpoint).toMatchObject({ variant })
    expect(chosen.models?.['far']?.endpoint).not.toHaveProperty('variant')
    const other = configuredChoice(
      config(
        { workload_identity: identity },
        { TEAM_KEY: 'sk-team' },
        { own: { name: 'o', key: 'TEAM_KEY' }, header: { name: 'h', key_header: 'x-key' } },
      ),
    )
    expect(other.models?.['own']?.endpoint).toMatchObject({ apiKey: 'sk-team', keyName: 'TEAM_KEY' })
    for (const name of ['own', 'header']) expect(other.models?.[name]?.endpoint).not.toHaveProperty('variant')
  })

  it('is said by a key of Azure, whose endpoint may serve several deployments', () => {
    const models = {
      small: { name: 'gpt-5-mini' },
      mine: { name: 'gpt-5', azure: { ...azure, deployment: 'mine' } },
    }
    const chosen = configuredChoice(config({ base_url: local, azure }, keys, models))
    expect(chosen).toMatchObject({ apiKey: 'sk-main', variant: { azure: { apiVersion: '2026-01-01' } } })
    expect(chosen.models?.['small']?.endpoint).toMatchObject({
      apiKey: 'sk-main',
      variant: { azure: { apiVersion: '2026-01-01' } },
    })
    expect(chosen.models?.['mine']?.endpoint).toMatchObject({
      variant: { azure: { apiVersion: '2026-01-01', deployment: 'mine' } },
    })
  })

  it.each([
    [{ azure }, {}, 'model: has "azure", so it needs "base_url"'],
    [
      { base_url: local, azure, workload_identity: identity },
      {},
      'model: has "azure" and "workload_identity"',
    ],
    [{ base_url: local, azure, key_header: 'x' }, {}, 'model: has "azure" and "key_header"'],
    [
      { workload_identity: { ...identity, token: { file: 'a', gcp: 'b' } } },
      {},
      'model.workload_identity.token',
    ],
    [
      {},
      { a: { name: 'a', workload_identity: identity, key_header: 'x' } },
      'models.a: has "workload_identity" and "key_header"',
    ],
  ])('%j and the models %j are refused', (model, models, message) =>
    expect(() => config(model, keys, models)).toThrow(message),
  )
})

describe('routes and shared endpoints', () => {
  const router = {
    base_url: local,
    key: 'ROUTER_KEY',
    headers: { 'X-Title': 'Beaver' },
    settings: { temperature: 0.2, top_p: 0.9 },
    models: ['qwen/qwen3'],
  }

  it('the URL, the key and the settings of an endpoint hold for each of its models, and a model may be named as endpoint/name', () => {
    const models = {
      deep: {
        endpoint: 'router',
        name: 'deepseek-r1',
        settings: { temperature: 1 },
        timeout_ms: 9_000,
        fallback: ['router/qwen/qwen3', 'main'],
      },
    }
    const { models: chosen = {} } = configuredChoice(
      config({}, { OPENAI_API_KEY: 'sk-main', ROUTER_KEY: 'sk-router' }, models, { router }),
    )
    expect(chosen['deep']).toMatchObject({
      endpoint: {
        baseURL: local,
        apiKey: 'sk-router',
        model: 'deepseek-r1',
        settings: { temperature: 1, top_p: 0.9 },
        headers: { 'X-Title': 'Beaver' },
        timeoutMs: 9_000,
      },
      route: ['router/qwen/qwen3', 'main'],
    })
    expect(chosen['router/qwen/qwen3']).toMatchObject({
      endpoint: {
        provider: 'openai-compatible:router/qwen/qwen3',
        apiKey: 'sk-router',
        keyName: 'ROUTER_KEY',
        model: 'qwen/qwen3',
        settings: { temperature: 0.2 },
      },
      route: [],
    })
  })

  it('the main model has a route by name, or an endpoint of its own', () => {
    const models = { a: { name: 'a', base_url: local }, b: { name: 'b', base_url: local } }
    expect(configuredChoice(config({ fallback: ['b', 'a'] }, keys, models))).toMatchObject({
      fallback: null,
      route: ['b', 'a'],
    })
    expect(configuredChoice(config({ fallback: 'a' }, keys, models))).toMatchObject({
      fallback: null,
      route: ['a'],
    })
    expect(configuredChoice(config({ fallback: { name: 'f' } }, keys, models))).toMatchObject({
      fallback: { model: 'f' },
      route: [],
    })
  })

  it('limits are those of the model, those of all otherwise, and the strictest if several names have one endpoint and model', () => {
    const models = {
      own: { name: 'a', base_url: local, requests_per_minute_max: 900, circuit_open_ms: 50 },
      same: { name: 'a', base_url: local, requests_per_minute_max: 300, tokens_per_minute_max: 1_000 },
      other: { name: 'b', base_url: local },
    }
    const chosen = configuredChoice(config({ requests_per_minute_max: 500 }, keys, models))
    const limits = (name: string) => chosen.models?.[name]?.endpoint.limits
    expect(limits('own')).toEqual({
      requestsPerMinuteMax: 300,
      tokensPerMinuteMax: 1_000,
      circuitFailuresMax: 8,
      circuitOpenMs: 10_000,
      turnMsMax: 3_600_000,
    })
    expect(limits('same')).toEqual(limits('own'))
    expect(limits('other')).toEqual(chosen.limits)
    expect(chosen.limits).toMatchObject({ requestsPerMinuteMax: 500, tokensPerMinuteMax: null })
  })

  it.each([
    [
      {},
      { a: { name: 'x', fallback: ['b'] } },
      {},
      'models.a.fallback: names "b" after "a", but no model has that name',
    ],
    [
      {},
      { a: { name: 'x', fallback: ['b', 'a'] }, b: { name: 'y' } },
      {},
      'models.a.fallback: has "a" twice in the route a → b → a',
    ],
    [
      { fallback: ['a', 'a'] },
      { a: { name: 'x' } },
      {},
      'model.fallback: has "a" twice in the route main → a → a',
    ],
    [{ fallback: 'main' }, {}, {}, 'model.fallback: has "main" twice in the route main → main'],
    [
      { fallback: 'x/y' },
      {},
      { x: { models: ['z'] } },
      'model.fallback: names "x/y" after "main", but no model has that name',
    ],
    [{ fallback: [] }, {}, {}, 'model.fallback: must not be empty'],
    [{ fallback: Array.from({ length: 9 }, () => 'a') }, { a: { name: 'x' } }, {}, 'model.fallback: Too big'],
    [{ fallback: { name: 'f', base_url: 'no' } }, {}, {}, 'model.fallback.base_url: must be a URL'],
    [
      {},
      { a: { name: 'x', endpoint: 'e' } },
      {},
      'models.a.endpoint: must be an endpoint in "endpoints"; "e" is none',
    ],
    [
      {},
      { a: { name: 'x', endpoint: 'e', key: 'K', base_url: local } },
      { e: {} },
      'models.a.key: must be left out, because the endpoint "e" has the key',
    ],
    [{}, {}, { 'e/f': {} }, 'endpoints.e/f'],
  ])(
    '%j with the models %j and the endpoints %j are refused, and both names are told',
    (model, models, endpoints, message) =>
      expect(() => config(model, {}, models, endpoints)).toThrow(message),
  )
})

describe('the endpoints of a configuration', () => {
  it('each have their protocol', () => {
    const responses = { name: 'r', protocol: 'responses', store: true }
    const model = {
      ...responses,
      fallback: { base_url: local, name: 'f' },
      auxiliary: { name: 'a', protocol: 'responses' },
    }
    const { models: chosen = {}, ...choice } = configuredChoice(config(model, keys, { r: responses }))
    expect(
      [choice, choice.fallback, choice.auxiliary, chosen['r']?.endpoint]
        .map(endpointOf)
        .map((each) => [each.protocol, each.stores]),
    ).toEqual([
      ['responses', true],
      [undefined, undefined],
      ['responses', undefined],
      ['responses', true],
    ])
    expect(() => config({ protocol: 'messages' })).toThrow('protocol')
  })

  it('are the main one alone when it names no other', () => {
    expect(configuredChoice(config({}, { OPENAI_API_KEY: 'sk-main' }))).toMatchObject({
      provider: 'openai',
      baseURL: null,
      apiKey: 'sk-main',
      model: 'gpt-5-mini',
      timeoutMs: 120_000,
      idleMs: 30_000,
      fallback: null,
      auxiliary: null,
      embeddings: null,
      limits: {
        requestsPerMinuteMax: null,
        tokensPerMinuteMax: null,
        circuitFailuresMax: 8,
        circuitOpenMs: 10_000,
        turnMsMax: 3_600_000,
      },
    })
  })

  it('never give the key of the main one to another host (M1)', () => {
    const choice = configuredChoice(
      config({ fallback: { base_url: local, name: 'qwen3' } }, { OPENAI_API_KEY: 'sk-main' }),
    )
    expect(choice.fallback).toMatchObject({
      baseURL: local,
      apiKey: 'none',
      keyName: 'BEAVER_FALLBACK_API_KEY',
    })
    const reverse = configuredChoice(
      config(
        { base_url: local, embeddings: { base_url: 'https://api.openai.com/v1', name: 'e' } },
        { OPENAI_API_KEY: 'sk-main' },
      ),
    )
    expect([endpointOf(reverse).apiKey, reverse.embeddings?.apiKey]).toEqual(['sk-main', 'none'])
  })

  it('share the key of the main one where the URL is the same, however it is written', () => {
    const choice = configuredChoice(
      config(
        {
          fallback: { name: 'gpt-5' },
          auxiliary: { base_url: 'https://API.openai.com/v1/', name: 'gpt-5-nano' },
        },
        { OPENAI_API_KEY: 'sk-main' },
      ),
    )
    expect(choice.fallback).toMatchObject({
      provider: 'openai:fallback',
      baseURL: null,
      apiKey: 'sk-main',
      keyName: 'OPENAI_API_KEY',
    })
    expect(choice.auxiliary).toMatchObject({ apiKey: 'sk-main', keyName: 'OPENAI_API_KEY' })
  })

  it('use a key of their own before that of the main one', () => {
    const choice = configuredChoice(config({ fallback: { name: 'gpt-5' } }, keys))
    expect(choice.fallback).toMatchObject({ apiKey: 'sk-fallback', keyName: 'BEAVER_FALLBACK_API_KEY' })
  })

  it('have a place in the gate for each URL and model', () => {
    const others = {
      fallback: { name: 'gpt-5' },
      auxiliary: { name: 'gpt-5-mini' },
      embeddings: { base_url: local, name: 'gpt-5-mini' },
    }
    const choice = configuredChoice(
      config({ ...others, requests_per_minute_max: 60, circuit_open_ms: 500 }, keys),
    )
    expect([
      choice.gateIndex,
      choice.fallback?.gateIndex,
      choice.auxiliary?.gateIndex,
      choice.embeddings?.gateIndex,
    ]).toEqual([0, 1, 0, 2])
    expect(choice.gate.byteLength).toBe(3 * 512)
    expect(choice.limits).toMatchObject({ requestsPerMinuteMax: 60, circuitOpenMs: 500 })
  })

  it('are plain data, the gate shared: what a worker thread gets', () => {
    const choice = configuredChoice(config({ fallback: { name: 'gpt-5' } }, keys))
    const copy = structuredClone(choice)
    expect({ ...copy, gate: null }).toEqual({ ...choice, gate: null })
    Atomics.store(new BigInt64Array(copy.gate), 0, 7n)
    expect(Atomics.load(new BigInt64Array(choice.gate), 0)).toBe(7n)
  })
})

it('starts a simulated model that dies again, on the same port, and fails when it dies again and again', async () => {
  const logged: LogLine[] = []
  // Pauses of milliseconds in place of seconds, and no death ever counts as one of long ago.
  const clock: Clock = { now: () => 0, after: (delayMs, act) => systemClock.after(delayMs / 100, act) }
  const chosen = await chooseModel(config({}), { logger: loggerOver((line) => logged.push(line)), clock })
  // From its third life on, a script that starts at once and ends with its stdin plays it.
  const folder = mkdtempSync(join(tmpdir(), 'beaver-model-'))
  folders.push(folder)
  const standIn = join(folder, 'model')
  writeFileSync(standIn, `#!/bin/sh\necho '{"url": "http://127.0.0.1:9"}'\nread -r line\n`, { mode: 0o700 })
  const { execPath } = process
  try {
    const pids = (): unknown[] =>
      logged
        .filter(({ event }) => event.startsWith('child_') && event.endsWith('started'))
        .map(({ fields }) => fields['pid'])
    for (let life = 1; life <= 6; life++) {
      await until(`it runs for the ${life}th time`, () => pids().length === life)
      if (life === 2) {
        expect((await fetch(`${endpointOf(chosen.choice).baseURL}/models`)).status).toBe(200)
        process.execPath = standIn
      }
      process.kill(Number(pids().at(-1)), 'SIGKILL')
    }
    await expect(chosen.failed).rejects.toThrow(
      'The simulated model ended 6 times within 60 s (last: killed by SIGKILL): the daemon ends',
    )
    expect(logged.filter(({ event }) => event === 'supervisor_escalated')).toMatchObject([
      { level: 'error', fields: { supervisor: 'simulated_model', deaths: 6 } },
    ])
  } finally {
    process.execPath = execPath
    await chosen.close()
  }
})

it('without a key and an endpoint the model is simulated, alone (M2)', async () => {
  const chosen = await chooseModel(config({}))
  try {
    expect(chosen.choice).toMatchObject({
      provider: 'simulated',
      model: 'beaver-simulated-1',
      apiKey: 'none',
      fallback: null,
      auxiliary: null,
      embeddings: null,
    })
    expect((await fetch(`${endpointOf(chosen.choice).baseURL}/models`)).status).toBe(200)
  } finally {
    await chosen.close()
  }
})
