import { describe, expect, it } from 'vitest'
import { answerFault } from './question-fault.ts'
import type { Question } from './question.ts'
import { answerInForm, questionForm } from './question-form.ts'
import { answerInText, formFields, questionLines, readAnswer } from './read-answer.ts'

const one: Question = { message: 'Which?', options: ['main', 'next', '3'] }
const several: Question = { ...one, several: true }
const form: Question = {
  message: 'Who?',
  form: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'As in the passport' },
      age: { type: 'integer' },
      member: { type: 'boolean' },
      likes: { type: 'array', items: { enum: ['tea', 'milk'] } },
      size: { enum: ['S', 'M'] },
    },
    required: ['name'],
  },
}

describe('what a person typed', () => {
  it('is an option by its number, its text, or its text in other letters, and an option that is a number comes first', () => {
    expect(
      ['1', ' 2 ', 'next', 'MAIN', '3', '4', '0', 'old'].map((typed) => readAnswer(one, [typed]).answers),
    ).toEqual([['main'], ['next'], ['next'], ['main'], ['3'], ['4'], ['0'], ['old']])
  })

  it('is a text where there are no options', () =>
    expect(answerInText({ message: 'Why?' }, ' because\nof 2, 3 \n')).toEqual({
      action: 'accept',
      answers: ['because\nof 2, 3'],
    }))

  it('is several options with commas or lines between them, and one option that has a comma itself', () => {
    expect(answerInText(several, '1, next,,').answers).toEqual(['main', 'next'])
    expect(answerInText(several, 'main\n2').answers).toEqual(['main', 'next'])
    expect(
      answerInText({ message: 'Which?', options: ['a, b', 'a'], several: true }, 'a, b').answers,
    ).toEqual(['a, b'])
    expect(answerInText(one, 'main, next').answers).toEqual(['main, next'])
  })

  it('is the fields of a form in one line, in several, or as JSON', () => {
    const content = { name: 'Ada Byron', age: 36, member: true, likes: ['tea', 'milk'] }
    expect(answerInText(form, 'name=Ada Byron age=36 member=yes likes=tea, milk').content).toEqual(content)
    expect(answerInText(form, 'name=Ada Byron\nage=36\nmember=y\nlikes=tea,milk').content).toEqual(content)
    expect(answerInText(form, JSON.stringify(content)).content).toEqual(content)
    expect(readAnswer(form, ['name=a=b', 'age=old', 'member=no']).content).toEqual({
      name: 'a=b',
      age: 'old',
      member: false,
    })
  })

  it('needs no name of the field if the form has one', () => {
    const asked: Question = {
      message: 'Why?',
      form: { type: 'object', properties: { why: { type: 'string' } } },
    }
    expect(answerInText(asked, 'a = b').content).toEqual({ why: 'a = b' })
    expect(answerInText(asked, 'why=a = b').content).toEqual({ why: 'a = b' })
  })

  it.each([
    [
      'a text without a field',
      'Ada',
      '"Ada" names no field. Write <field>=<value>; the fields are name, age, member, likes, size.',
    ],
    ['a text before the fields', 'I am name=Ada', '"I am name=Ada" names no field'],
    ['something that is no JSON', '{name: Ada}', 'The answer begins with "{" and is not JSON.'],
  ])('is refused if it is %s', (_, text, message) => {
    const read = (): unknown => answerInText(form, text)
    if (message.includes('I am'))
      expect(answerFault(form, read() as never)).toContain('has no field "I am name"')
    else expect(read).toThrow(message)
  })
})

describe('a question as a form', () => {
  it('is its own form, or a choice, a list of choices or a text', () => {
    expect(questionForm(form)).toBe(form.form)
    expect(questionForm(one)).toMatchObject({
      properties: { answer: { type: 'string', enum: ['main', 'next', '3'] } },
      required: ['answer'],
    })
    expect(questionForm(several)).toMatchObject({
      properties: { answer: { type: 'array', items: { enum: ['main', 'next', '3'] } } },
      required: ['answer'],
    })
    expect(questionForm({ message: 'Why?' })).toMatchObject({
      properties: { answer: { type: 'string', maxLength: 10_000 } },
      required: ['answer'],
    })
    expect(questionForm({ ...one, free_text: true })).not.toHaveProperty('required')
  })

  it('is answered by what was filled in, and what does not fit is no answer', () => {
    expect(answerInForm(form, { name: 'Ada' })).toEqual({ action: 'accept', content: { name: 'Ada' } })
    expect(answerInForm(one, { answer: 'main' }).answers).toEqual(['main'])
    expect(answerInForm(several, { answer: ['main', 'next'] }).answers).toEqual(['main', 'next'])
    expect(answerInForm({ ...one, free_text: true }, { answer: '', other: 'mine' }).answers).toEqual(['mine'])
    expect(
      answerFault(
        { ...one, free_text: true },
        answerInForm({ ...one, free_text: true }, { answer: 'main', other: 'mine' }),
      ),
    ).toContain('there are 2')
    for (const content of [{}, { answer: 7 }, { answer: { a: 1 } }, { text: 'main' }])
      expect(answerFault(one, answerInForm(one, content as never))).toContain('empty')
  })
})

describe('a question in words', () => {
  it('has its options or its fields, how to answer it, and no hidden characters', () => {
    expect(questionLines({ message: 'A\u202eB?\nC', options: ['x\ny'], free_text: true })).toEqual([
      'A\\u{202e}B?\nC',
      '  1) x\\u{a}y',
      'Answer with the number or the text of an option, or with a text of your own.',
    ])
    expect(questionLines(several).at(-1)).toBe(
      'Answer with the numbers or the texts of options, with commas between them.',
    )
    expect(questionLines({ message: 'Why?' })).toEqual(['Why?', 'Answer with a text.'])
    expect(questionLines({ message: 'Why?', timeout_ms: 600_000 })).toEqual([
      'Why?',
      'Answer with a text. The question waits for 10 minutes.',
    ])
    expect(questionLines({ message: 'Why?', timeout_ms: 90_000 }).at(-1)).toBe(
      'Answer with a text. The question waits for 90 seconds.',
    )
    expect(questionLines(form).slice(1)).toEqual([
      '  name: As in the passport; string',
      '  age (optional): integer',
      '  member (optional): boolean',
      '  likes (optional): some, with commas between them, of tea, milk',
      '  size (optional): one of S, M',
      'Answer with a line <field>=<value> for each field.',
    ])
    expect(formFields(one)).toEqual([])
  })
})
