import { expect, test } from 'vitest'
import { commands } from './command-table/index.ts'
import { wantedAfter, wordsOf } from './complete-words.ts'

const values = (...words: string[]): string[] => wantedAfter(words).candidates.map(({ value }) => value)

test('the first word is a command that people type', () => {
  const shown = commands.filter(({ hidden }) => hidden !== true).map(({ name }) => name)
  expect(values('')).toEqual(shown)
  expect(values('--home', 'x', '')).toEqual(shown)
})

test.each([
  [
    ['tasks', '--'],
    ['--status', '--session', '--home'],
  ],
  [
    ['tasks', '--status', ''],
    ['open', 'failed'],
  ],
  [['tasks', '--status='], ['open']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
  [
    ['budget', 'raise', 'task_1', '--per', ''],
    ['day', 'month', 'run'],
  ],
  [
    ['token', 'create', 'ci', '--role', ''],
    ['read', 'admin'],
  ],
  [['--'], ['--home', '--nats-url']],
])('%j is completed from the table of commands', (words, some) => {
  expect(values(...words)).toEqual(expect.arrayContaining(some))
})

test.each([
  [['show', ''], 'tasks'],
  [['approve', ''], 'asked_calls'],
  [['deny', 'task_1', ''], 'calls'],
  [['answer', ''], 'asked_questions'],
  [['session', ''], 'sessions'],
  [['run', '--session', ''], 'sessions'],
  [['run', '--skill', ''], 'skills'],
  [['run', '--workflow='], 'workflows'],
  [['plan', ''], 'workflows'],
  [['submit', '--profile', ''], 'profiles'],
  [['audit', 'verify', 'task_1', ''], 'tasks'],
  [['show', 'task_1', ''], null],
  [['run', 'words ', ''], null],
  [['nope', ''], null],
])('%j asks the system for %s', (words, live) => {
  expect(wantedAfter(words)).toMatchObject({ live })
})

test.each([
  [['run', '--workspace', ''], 'folders'],
  [['run', '-f', ''], 'files'],
  [['backup', ''], 'folders'],
  [['check', '--export', ''], 'files'],
  [['--config', ''], 'files'],
  [['tasks', ''], 'none'],
])('%j is completed with %2$s of the machine', (words, adds) => {
  expect(wantedAfter(words)).toMatchObject({ adds })
})

test('the options of every command say which system is asked', () => {
  expect(wantedAfter(['--home', 'a b', 'show', '--nats-url=nats://n', '']).globals).toEqual({
    color: true,
    home: 'a b',
    natsUrl: 'nats://n',
  })
})

test.each([
  ['beaver sh', ['beaver', 'sh'], false],
  ['beaver show ', ['beaver', 'show', ''], false],
  [
    String.raw`FOO=1 ./bin/beaver --home 'a b' "c d" e\ f`,
    ['./bin/beaver', '--home', 'a b', 'c d', 'e f'],
    false,
  ],
  ['beaver run "$(touch x)', ['beaver', 'run', '$(touch x)'], true],
])('the line %j is read as a shell reads it', (line, words, quoted) => {
  expect(wordsOf(line)).toEqual({ words, quoted })
})
