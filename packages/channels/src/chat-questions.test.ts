import { describe, expect, it } from 'vitest'
import { answerIn } from './chat-questions.ts'

const answered = (text: string, over: object = {}) => {
  const question = { message: 'Which branch?', options: ['main', 'next'], ...over }
  return answerIn(
    {
      task_id: 't',
      code: 'k3f-09d',
      open: { runId: 'r', callId: 'c', agent: 'root', tool: 'ask_user', index: 0, question, taskseq: 1 },
    },
    text,
  ).answers
}

describe('an answer to a question with options', () => {
  it.each([
    'main',
    'MAIN',
    '"main"',
    '“Main.”',
    'main.',
    '1',
    '1.',
    '*main*',
    ' main! ',
    '\u200emain\u200b',
    '「main」。',
    'main\n-- \nAda',
  ])('is an option in %j', (text) => expect(answered(text)).toEqual(['main']))

  it('is several options in quotes, where several may be chosen', () => {
    expect(answered('"main", 2.', { several: true })).toEqual(['main', 'next'])
    expect(answered('“next” “main”', { several: true })).toEqual(['“next” “main”'])
  })

  it('is the text as it is written, if it is no option', () => {
    expect(answered('"old."')).toEqual(['"old."'])
    expect(answered('"old."', { free_text: true })).toEqual(['"old."'])
    expect(answered('a.', { options: ['a.', 'a'] })).toEqual(['a.'])
    expect(answered('"Yes, but later."', { options: undefined })).toEqual(['"Yes, but later."'])
  })
})
