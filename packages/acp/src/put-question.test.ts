import type { Question } from '@beaver/core/question'
import { expect, it } from 'vitest'
import { wayOf } from './put-question.ts'

const shown = (question: Question) => ({
  runId: 'r',
  agent: 'root',
  callId: 'c',
  tool: 'ask_user',
  index: 0,
  question,
  taskseq: 1,
  toolCallId: 't/1',
})
const form = { type: 'object', properties: { name: { type: 'string' } } }

it.each<[string, Question, 'dialog' | 'prompt']>([
  ['one option of some', { message: 'Which?', options: ['a', 'b'] }, 'dialog'],
  ['several options', { message: 'Which?', options: ['a', 'b'], several: true }, 'prompt'],
  ['an option or a text', { message: 'Which?', options: ['a', 'b'], free_text: true }, 'prompt'],
  ['a text', { message: 'Why?' }, 'prompt'],
  ['a form', { message: 'Who?', form }, 'prompt'],
])(
  'a question for %s is a form where the editor has forms, and otherwise a dialog or a prompt',
  (_, question, without) => {
    expect(wayOf(shown(question), { takesForms: true })).toBe('form')
    expect(wayOf(shown(question), { takesForms: false })).toBe(without)
  },
)
