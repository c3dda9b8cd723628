import { expect, test } from 'vitest'
import { modelSettings, settingsFrom } from './model-settings.ts'

test.each<[string, object, string]>([
  ['a temperature beyond 2', { temperature: 2.1 }, 'temperature'],
  ['a probability beyond 1', { top_p: 1.1 }, 'top_p'],
  ['no tokens', { output_tokens_max: 0 }, 'output_tokens_max'],
  ['an empty effort', { reasoning_effort: '' }, 'reasoning_effort'],
  ['a field that nobody knows', { temprature: 1 }, ''],
  ['the messages in extra_body', { extra_body: { messages: [] } }, 'extra_body'],
  ['another model in extra_body', { extra_body: { model: 'x' } }, 'extra_body'],
])('settings with %s are refused, and the place is told', (_, settings, path) => {
  const { error } = modelSettings.safeParse(settings)
  expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([path])
})

test('the more special settings replace the more general ones, and extra_body member by member', () => {
  const endpoint = { temperature: 0, output_tokens_max: 100, extra_body: { a: 1, b: { c: 1 } } }
  expect(settingsFrom(endpoint, undefined, { temperature: 1, extra_body: { b: { d: 2 } } })).toEqual({
    temperature: 1,
    output_tokens_max: 100,
    extra_body: { a: 1, b: { d: 2 } },
  })
  expect(settingsFrom(undefined, {})).toEqual({})
  expect(endpoint.extra_body).toEqual({ a: 1, b: { c: 1 } })
})
