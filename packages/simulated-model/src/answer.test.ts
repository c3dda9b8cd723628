import { expect, test } from 'vitest'
import { answer } from './answer.ts'

const skills = [
  '- folder-report: Reports on a folder of the workspace - what it is, how many files, lines, words and bytes of each type it holds. Use it when the user asks for a report, an overview or statistics of a folder.',
  '- release-notes: Writes the notes of a release from the commits since the last one.',
  '- 财报分析: 分析公司的季度财报，给出收入和利润的对比。',
]
const chosen = (task: string, offered = skills): unknown =>
  answer({
    messages: [
      { role: 'system', content: 'Choose the skills that fit the task. Answer with one JSON object.' },
      { role: 'user', content: `<skills>\n${offered.join('\n')}\n</skills>\n\n<task>\n${task}\n</task>` },
    ],
    tools: [],
  }).content

test.each([
  ['Report on the folder packages', 'folder-report'],
  ['Give me an overview of the folder: files and lines', 'folder-report'],
  ['Write the release notes from the last commits', 'release-notes'],
  ['分析苹果公司的季度财报', '财报分析'],
])('chooses for %j the skill %s', (task, name) =>
  expect(chosen(task)).toBe(JSON.stringify({ skills: [name] })),
)

test.each([
  ['What is the capital of France?'],
  ['Call `echo` with {"text": "hello"}'],
  ['Plan a long trip through the mountains of Norway with a report for my boss'],
  ['天气怎么样'],
  [''],
])('chooses nothing for %j', (task) => expect(chosen(task)).toBe('{"skills":[]}'))

test('chooses nothing when two fit alike, or none is offered', () => {
  expect(chosen('folder report', ['- a: a folder report', '- b: a folder report'])).toBe('{"skills":[]}')
  expect(chosen('folder report', [])).toBe('{"skills":[]}')
})

test('is not asked by a conversation that only speaks of it', () => {
  expect(answer({ messages: [{ role: 'user', content: 'Choose the skills' }], tools: [] }).content).toMatch(
    'simulated model',
  )
})
