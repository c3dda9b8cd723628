import { expect, it, test } from 'vitest'
import { cacheWays } from './cache-ways.ts'

const none = { key: null, markers: false }
const field = { key: 'field', markers: false }
const header = (name: string) => ({ key: { header: name }, markers: false })

test.each([
  [undefined, 'gpt-5', 'chat_completions', field],
  [undefined, 'gpt-5', 'responses', field],
  ['https://api.openai.com/v1', 'gpt-5', 'chat_completions', field],
  ['https://mine.openai.azure.com/openai/v1', 'gpt-5', 'responses', field],
  ['https://api.mistral.ai/v1', 'mistral-large-latest', 'chat_completions', field],
  ['https://api.x.ai/v1', 'grok-4', 'chat_completions', header('x-grok-conv-id')],
  ['https://api.x.ai/v1', 'grok-4', 'responses', field],
  ['https://api.fireworks.ai/inference/v1', 'glm', 'chat_completions', header('x-session-affinity')],
  [
    'https://openrouter.ai/api/v1',
    'anthropic/claude-sonnet-5',
    'chat_completions',
    { key: null, markers: true },
  ],
  ['https://openrouter.ai/api/v1', 'openai/gpt-5', 'chat_completions', none],
  ['https://openrouter.ai/api/v1', 'anthropic/claude-sonnet-5', 'responses', none],
  // Nobody knows what these take.
  ['http://127.0.0.1:4000/v1', 'anthropic/claude-sonnet-5', 'chat_completions', none],
  ['https://api.openai.com.example.com/v1', 'gpt-5', 'chat_completions', none],
  ['https://openai.azure.com/v1', 'gpt-5', 'chat_completions', none],
  ['https://integrate.api.nvidia.com/v1', 'nemotron', 'chat_completions', none],
  ['no url', 'm', 'chat_completions', none],
] as const)('%s with %s by %s', (baseURL, model, protocol, ways) => {
  expect(cacheWays({ model, ...(baseURL === undefined ? {} : { baseURL }) }, protocol)).toEqual(ways)
})

it('what a person says comes before what is known', () => {
  const xai = { baseURL: 'https://api.x.ai/v1', model: 'grok-4' }
  const own = { baseURL: 'http://127.0.0.1:4000/v1', model: 'claude' }
  const ways = (of: Parameters<typeof cacheWays>[0]) => cacheWays(of, 'chat_completions')
  expect(ways({ ...xai, cache: 'none' })).toEqual(none)
  expect(ways({ ...xai, cache: 'both' })).toEqual({ ...header('x-grok-conv-id'), markers: true })
  expect(ways({ ...own, cache: 'key' })).toEqual(field)
  expect(ways({ ...own, cache: 'markers' })).toEqual({ key: null, markers: true })
  expect(ways({ ...own, cache: 'key', cacheKeyHeader: 'X-Session-Id' })).toEqual(header('X-Session-Id'))
  expect(ways({ ...own, cacheKeyHeader: 'X-Session-Id' })).toEqual(header('X-Session-Id'))
  expect(ways({ ...own, cache: 'none', cacheKeyHeader: 'X-Session-Id' })).toEqual(none)
})
