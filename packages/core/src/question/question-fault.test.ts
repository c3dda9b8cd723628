import { describe, expect, it } from 'vitest'
import { answerFault, questionFault } from './question-fault.ts'
import type { Question, QuestionAnswer } from './question.ts'
import { questionBounds, takesFreeText } from './question-bounds.ts'

const {
  messageChars,
  options: optionsMax,
  optionChars,
  answerChars,
  fields: fieldsMax,
  contentChars,
} = questionBounds
const form = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 5 }, age: { type: 'integer' } },
  required: ['name'],
}
const letters = (n: number): string[] => Array.from({ length: n }, (_, i) => `option ${i}`)

describe('a question', () => {
  it.each<[string, Question, string | null]>([
    ['with a text', { message: 'Which?' }, null],
    ['with as many options as may be', { message: 'Which?', options: letters(optionsMax) }, null],
    ['with a form', { message: 'Who?', form }, null],
    ['without a text', { message: ' \n' }, 'The question has no text.'],
    [
      'that is too long',
      { message: 'x'.repeat(messageChars + 1) },
      `The question has ${messageChars + 1} characters. The limit is ${messageChars}.`,
    ],
    [
      'with too many options',
      { message: 'Which?', options: letters(optionsMax + 1) },
      `The question has ${optionsMax + 1} options. The limit is ${optionsMax}.`,
    ],
    [
      'with an empty option',
      { message: 'Which?', options: ['a', ' '] },
      `An option has 1 to ${optionChars} characters; one has 1.`,
    ],
    ['with the same option twice', { message: 'Which?', options: ['a', 'a'] }, 'Two options are the same.'],
    [
      'that nobody can answer',
      { message: 'Which?', free_text: false },
      'The question has no options and takes no text, so nobody can answer it.',
    ],
    ['with a deadline', { message: 'Which?', timeout_ms: 1_000 }, null],
    [
      'with a deadline that is over at once',
      { message: 'Which?', timeout_ms: 0 },
      'A question waits for 1 s to 30 days, in whole milliseconds, and not for 0 ms.',
    ],
    [
      'with a deadline that never comes',
      { message: 'Which?', timeout_ms: Infinity },
      'A question waits for 1 s to 30 days, in whole milliseconds, and not for Infinity ms.',
    ],
    [
      'with options and a form',
      { message: 'Who?', options: ['a'], form },
      'A question has options or a form, not both.',
    ],
    [
      'with a form without fields',
      { message: 'Who?', form: { type: 'object' } },
      'A form is a JSON Schema of type "object" with "properties".',
    ],
    [
      'with a form of another type',
      { message: 'Who?', form: { type: 'array', items: {} } },
      'A form is a JSON Schema of type "object" with "properties".',
    ],
    [
      'with a form that has objects in it',
      { message: 'Who?', form: { type: 'object', properties: { a: { type: 'object' } } } },
      'The field "a" of the form is no text, number, integer, boolean or list of choices.',
    ],
    [
      'with a form that is a list of anything',
      {
        message: 'Who?',
        form: { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } },
      },
      'The field "a" of the form is no text, number, integer, boolean or list of choices.',
    ],
  ])('%s', (_, asked, fault) => expect(questionFault(asked)).toBe(fault))

  it('has a bound for the fields of its form, and no form that is no schema', () => {
    const properties = Object.fromEntries(letters(fieldsMax + 1).map((name) => [name, { type: 'string' }]))
    expect(questionFault({ message: 'Who?', form: { type: 'object', properties } })).toBe(
      `The form has ${fieldsMax + 1} fields. The limit is ${fieldsMax}.`,
    )
    expect(
      questionFault({
        message: 'Who?',
        form: { type: 'object', properties: { a: { type: 'string', pattern: '(' } } },
      }),
    ).toMatch(/^The form .*/)
  })

  it('takes a text of the person if it has no options, or says so', () => {
    expect(
      [{}, { options: ['a'] }, { options: ['a'], free_text: true }, { free_text: false }, { form }].map(
        (of) => takesFreeText({ message: 'Which?', ...of }),
      ),
    ).toEqual([true, false, true, false, false])
  })
})

describe('an answer', () => {
  const one: Question = { message: 'Which?', options: ['a', 'b'] }
  const accept = (...answers: string[]): QuestionAnswer => ({ action: 'accept', answers })

  it.each<[string, Question, QuestionAnswer, string | null]>([
    ['an option', one, accept('a'), null],
    ['no option', one, accept('c'), '"c" is not one of the options. Answer with one of: "a", "b".'],
    [
      'an option in other letters',
      one,
      accept('A'),
      '"A" is not one of the options. Answer with one of: "a", "b".',
    ],
    ['nothing', one, { action: 'accept' }, 'The answer is empty. Answer with one of: "a", "b".'],
    ['an empty text', { message: 'Which?' }, accept(' '), 'An answer is empty. Answer with a text.'],
    [
      'two options for one',
      one,
      accept('a', 'b'),
      'The question takes one answer, and there are 2. Answer with one of: "a", "b".',
    ],
    ['two options for several', { ...one, several: true }, accept('a', 'b'), null],
    [
      'an option twice',
      { ...one, several: true },
      accept('a', 'a'),
      'An answer is given twice. Answer with one or more of: "a", "b".',
    ],
    ['a text of the person', { ...one, free_text: true }, accept('c'), null],
    ['as many characters as may be', { message: 'Which?' }, accept('x'.repeat(answerChars)), null],
    [
      'too many characters',
      { message: 'Which?' },
      accept('x'.repeat(answerChars + 1)),
      `An answer has ${answerChars + 1} characters. The limit is ${answerChars}.`,
    ],
    [
      'fields for options',
      one,
      { action: 'accept', content: { a: 1 } },
      'The question has no form. Answer with an option or a text.',
    ],
    ['no answer', one, { action: 'decline' }, null],
    [
      'no answer with an answer',
      one,
      { action: 'cancel', answers: ['a'] },
      'An answer with the action cancel has no content.',
    ],
    ['the fields of a form', { message: 'Who?', form }, { action: 'accept', content: { name: 'Ada' } }, null],
    [
      'a text for a form',
      { message: 'Who?', form },
      accept('Ada'),
      'The question has a form. Answer with the fields of the form.',
    ],
    [
      'no fields',
      { message: 'Who?', form },
      { action: 'accept' },
      'The answer has no fields. The form has these fields: "name", "age".',
    ],
    [
      'a field that the form does not have',
      { message: 'Who?', form },
      { action: 'accept', content: { name: 'Ada', sex: 'f' } },
      'The form has no field "sex". The form has these fields: "name", "age".',
    ],
  ])('%s', (_, asked, answer, fault) => expect(answerFault(asked, answer)).toBe(fault))

  it('says which field of a form does not fit, and has a bound', () => {
    const asked = { message: 'Who?', form }
    expect(answerFault(asked, { action: 'accept', content: { name: 'Ada', age: 'old' } })).toMatch(
      /^The answer .*age.* The form has these fields: "name", "age"\.$/,
    )
    expect(answerFault(asked, { action: 'accept', content: { age: 3 } })).toContain('name')
    expect(answerFault(asked, { action: 'accept', content: { name: 'x'.repeat(contentChars) } })).toContain(
      `The limit is ${contentChars}.`,
    )
    const many = { ...one, several: true, free_text: true }
    expect(answerFault(many, accept(...letters(optionsMax + 1)))).toBe(
      `There are ${optionsMax + 1} answers. The limit is ${optionsMax}.`,
    )
  })
})
