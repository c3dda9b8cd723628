import { expect, test } from 'vitest'
import { statusWord, taskStatus } from './status-words.ts'

test('a state has one word, whatever a person is asked, and others are their own word', () => {
  for (const status of ['waiting_for_person', 'waiting_for_approval', 'waiting_for_answer'])
    expect(statusWord(status)).toBe('asks you')
  expect(['waiting_for_provider', 'stands_still', 'completed'].map(statusWord)).toEqual([
    'waits for a provider',
    'stands still',
    'completed',
  ])
})

test('a task of which a call waits asks a person, whether a daemon drives it or not', () => {
  expect(taskStatus({ status: 'running', waiting: 2 })).toBe('waiting_for_person')
  expect(taskStatus({ status: 'waiting_for_provider', waiting: 0 })).toBe('waiting_for_provider')
})
