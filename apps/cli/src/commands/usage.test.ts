import { expect, test } from 'vitest'
import { textWidth } from '../text/width.ts'
import { usageTable } from './usage.ts'

const used = { input_tokens: 12_345_678, output_tokens: 1_234_567, calls: 4_321 }
const models = ['gpt-5', 'claude-sonnet-4-5', 'a-model-with-a-rather-long-name'].map((model) => ({
  provider: 'openai',
  model,
  ...used,
}))
const group = (key: string | null) => ({ key, ...used, usage_by_model: models })
const groups = [
  group('ann'),
  group(null),
  group('a user whose name is as long as a name may be '.repeat(2)),
  group('\u001b[31mred'),
]

test.each([24, 30, 40, 52, 60, 80, 120])(
  'in %i columns no line is wider than the terminal, and the cost is there',
  (columns) => {
    const lines = usageTable({ groups }, 'user', { columns })
    expect(lines.filter((line) => textWidth(line) > columns)).toEqual([])
    expect([lines.length, lines[0]]).toEqual([5, expect.stringMatching(/^USER.*COST/)])
    expect(lines[3]).toContain('…')
    expect(lines.join('\n')).not.toContain('\u001b')
  },
)

test('a group without a name says what is absent', () => {
  const names = (['user', 'model', 'skill', 'profile'] as const).map(
    (by) => usageTable({ groups: [group(null)] }, by, { columns: 80 })[1]?.match(/\(.*?\)/)?.[0],
  )
  expect(names).toEqual(['(no user)', '(no name)', '(no skill)', '(default profile)'])
})

test('where there is room, everything is shown', () => {
  expect(usageTable({ groups }, 'model', { columns: Infinity })[0]).toMatch(
    /^MODEL +CALLS +TOKENS IN +TOKENS OUT +COST$/,
  )
  expect(usageTable({ groups }, 'user', { columns: Infinity })[0]).toMatch(
    /^USER +CALLS +TOKENS IN +TOKENS OUT +COST +MODELS$/,
  )
})
