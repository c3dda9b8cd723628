import type { AskedCallAnswer, AskedQuestionAnswer, TaskAnswer } from '@beaver/contracts'
import { expect, test } from 'vitest'
import { styleOf, symbolsOf } from '../text/style.ts'
import { approvalLines } from './show-parts.ts'
import { questionLines, waitingQuestionLines } from './show-questions.ts'

const surface = { columns: 100, style: styleOf(false), symbols: symbolsOf({ utf8: true, turning: false }) }
const task = { task_id: 'task_1' } as TaskAnswer['task']
const at = '2026-11-26T10:00:00.000Z'
const now = Date.parse(at) + 120_000
const asked = (over: Partial<AskedQuestionAnswer>): AskedQuestionAnswer => ({
  task_id: 'task_1',
  session_id: 's',
  run_id: 'r',
  agent_name: 'Root agent',
  node_id: null,
  call_id: 'c',
  tool: 'ask_user',
  question_index: 0,
  message: 'Which \u001B[2Jbranch?',
  options: ['main', 'next'],
  free_text: false,
  several: false,
  form: null,
  state: 'waiting',
  asked_at: at,
  expires_at: null,
  taskseq: 7,
  answer: null,
  by: null,
  user_id: null,
  reason: null,
  answered_at: null,
  ...over,
})
const shown = (...questions: readonly AskedQuestionAnswer[]): string[] =>
  questionLines({ questions: [...questions] }, surface, { command: 'beaver', all: false, now })

test('a question that waits is shown with its options and the commands that answer', () => {
  const lines = shown(asked({}))
  expect(lines[0]).toMatch(/^\S Root agent asks: Which .*branch\?$/)
  expect(lines.slice(1)).toEqual([
    '  1) main',
    '  2) next',
    '  answer: beaver answer task_1 <number>   decline: beaver answer task_1 --decline',
  ])
  expect(lines.join('')).not.toContain('\u001B')
})

test('a command stays with the word before it where both have no room in one line', () => {
  const lines = waitingQuestionLines(
    asked({}),
    { ...surface, columns: 50 },
    { command: 'beaver', now, isOnly: true },
  )
  expect(lines.slice(-2)).toEqual([
    '  answer:  beaver answer task_1 <number>',
    '  decline: beaver answer task_1 --decline',
  ])
})

test('a question with a deadline says until when it waits', () => {
  expect(shown(asked({ expires_at: '2026-11-26T10:10:00.000Z' }))[0]).toMatch(
    /branch\? \(until \d\d:\d\d:00\)$/,
  )
})

test('two questions that wait are shown with their calls', () => {
  const lines = shown(asked({}), asked({ run_id: 'r2' }))
  expect(lines.filter((line) => line.includes('answer:'))).toEqual([
    expect.stringContaining('beaver answer task_1 --call r/c <number>'),
    expect.stringContaining('beaver answer task_1 --call r2/c <number>'),
  ])
})

test('a question that was answered, declined or left says by whom, when and with which words', () => {
  const settled = { by: 'ada', answered_at: at }
  const lines = shown(
    asked({ ...settled, state: 'accept', answer: 'next', message: 'Which?' }),
    asked({ ...settled, state: 'decline', reason: 'Ask Bob', message: 'Why?', tool: 'deploy' }),
    asked({
      by: 'beaver',
      state: 'cancel',
      reason: 'Nobody is there to answer.',
      message: 'Why?',
      answered_at: at,
    }),
    asked({ state: 'left', message: 'Why?' }),
  ).join('\n')
  expect(lines).toMatch(
    /✔ ada answered "Which\?": next \(Root agent, asked in event 7, answered \d\d:\d\d:\d\d\)/,
  )
  expect(lines).toMatch(
    /ada did not want to answer "Why\?" \(Root agent, deploy, asked in event 7, answered .*\)\s+Ask\s+Bob/,
  )
  expect(lines).toMatch(
    /nobody answered "Why\?" \(Root agent, asked in event 7, answered .*\)\s+Nobody is there to\s+answer\./,
  )
  expect(lines).toMatch(/nobody answered "Why\?" \(Root agent, asked in event 7\)$/)
})

test('who answered over a gateway is named first', () => {
  const [line] = shown(
    asked({
      by: 'gateway',
      user_id: 'bob',
      state: 'accept',
      answer: 'next',
      message: 'Which?',
      answered_at: at,
    }),
  )
  expect(line).toContain('✔ bob (over gateway) answered "Which?": next')
})

test('many settled questions are cut', () => {
  const lines = shown(
    ...Array.from({ length: 20 }, () =>
      asked({ state: 'accept', by: 'ada', answer: 'x', message: 'Which?' }),
    ),
  )
  expect(lines.at(-1)).toContain('and 8 more (--all shows them)')
})

test('an approval with changed arguments has both versions', () => {
  const call = { call_id: 'c', run_id: 'r', agent_name: 'Root agent', tool: 'write_file', subject: 'a.md', state: 'granted', taskseq: 9, by: 'ada', reason: null } as unknown as AskedCallAnswer // prettier-ignore
  const lines = approvalLines(
    {
      task,
      approvals: [{ ...call, arguments: '{"path":"a.md"}', arguments_approved: '{"path":"b\u202e.md"}' }],
    },
    surface,
    {
      command: 'beaver',
      all: false,
    },
  )
  expect(lines).toEqual([
    '✔ ada allowed write_file: a.md (Root agent, asked in event 9) with other arguments:',
    '    the model: {"path":"a.md"}',
    '    ada: {"path":"b\\u{202e}.md"}',
  ])
  expect(approvalLines({ task, approvals: [call] }, surface, { command: 'beaver', all: false })).toHaveLength(
    1,
  )
})
