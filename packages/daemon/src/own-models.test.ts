import type { ChatProvider } from '@beaver/agent'
import { loadConfig } from '@beaver/platform'
import { describe, expect, it } from 'vitest'
import { chooseModel, configuredChoice } from './model.ts'
import { servedModels } from './own-models.ts'

const provider: ChatProvider = {
  name: 'mine',
  model: 'mine-1',
  contextTokens: 9_000,
  outputTokensMax: 700,
  chat: () => Promise.reject(new Error('unused')),
}
const config = (set: object, env: Record<string, string> = {}) =>
  loadConfig({ set, models: { main: {}, local: {} }, trust: true }, env, '/nowhere')

describe('a model of the program', () => {
  it('is chosen under its name, with its route, its times and its limits, and the main one replaces the endpoint', () => {
    const own = {
      main: { provider },
      local: { provider: { ...provider }, fallback: 'main', timeoutMs: 700, requestsPerMinuteMax: 9 },
    }
    const { models, ...main } = configuredChoice(
      config({ model: { idle_ms: 400, requests_per_minute_max: 90 } }),
      own,
    )
    expect(main).toMatchObject({
      provider: 'mine:main',
      own: 'main',
      model: 'mine-1',
      contextTokens: 9_000,
      outputTokensMax: 700,
      timeoutMs: 120_000,
      idleMs: 400,
      route: [],
    })
    expect(main).not.toHaveProperty('apiKey')
    expect(models?.['local']).toMatchObject({
      endpoint: { provider: 'mine:local', own: 'local', timeoutMs: 700, limits: { requestsPerMinuteMax: 9 } },
      route: ['main'],
    })
    expect(main.limits.requestsPerMinuteMax).toBe(90)
  })

  it('under two names has one place in the gate, with the strictest limits', () => {
    const own = {
      main: { provider, tokensPerMinuteMax: 2_000 },
      local: { provider, tokensPerMinuteMax: 1_000 },
    }
    const { models, ...main } = configuredChoice(config({}), own)
    expect(models?.['local']?.endpoint.gateIndex).toBe(main.gateIndex)
    expect([main.limits.tokensPerMinuteMax, models?.['local']?.endpoint.limits?.tokensPerMinuteMax]).toEqual([
      1_000, 1_000,
    ])
  })

  it('that is main has the configured route, or its own instead', () => {
    const routed = config({ model: { fallback: { name: 'f' } } }, { OPENAI_API_KEY: 'sk-1' })
    expect(configuredChoice(routed, { main: { provider } })).toMatchObject({
      fallback: { model: 'f' },
      route: [],
    })
    expect(
      configuredChoice(routed, { main: { provider, fallback: 'local' }, local: { provider } }),
    ).toMatchObject({ fallback: null, route: ['local'] })
  })

  it('is asked although the main model is simulated, and needs no simulated one if it is main', async () => {
    const besides = { models: { cheap: { name: 'c' } } }
    await using undo = new AsyncDisposableStack()
    const simulated = await chooseModel(config(besides), { own: { local: { provider } } })
    undo.defer(() => simulated.close())
    expect(simulated.choice).toMatchObject({
      provider: 'simulated',
      models: { cheap: { endpoint: { provider: 'simulated' } }, local: { endpoint: { own: 'local' } } },
    })
    expect(simulated.choice.models?.['local']?.endpoint.gateIndex).not.toBe(simulated.choice.gateIndex)
    expect((await chooseModel(config(besides), { own: { main: { provider } } })).choice).toMatchObject({
      own: 'main',
    })
  })

  it('that nobody brought needs no port', () => expect(servedModels({}, undefined as never)).toBeUndefined())
})
