// What a person reads for a question.
import { expect, it } from 'vitest'
import { questionText } from './render-question.ts'

it('shows the fields of a form with what may be chosen, and with their defaults', () => {
  const properties = {
    room: { type: 'string', oneOf: [{ const: 'r', title: 'Red' }, { const: 'blue', title: 'blue' }] }, // prettier-ignore
    days: { type: 'array', items: { type: 'string', enum: ['mon', 'tue'] } },
    guests: { type: 'integer', title: 'How many?', default: 2 },
    note: { type: 'string' },
  }
  const question = { message: 'Which?', form: { type: 'object', properties, required: ['room'] } }
  expect(questionText({ agent: 'root', tool: 'shop_book', question })).toEqual([
    'root (shop_book) asks: Which?',
    '  room: one of r (Red), blue',
    '  days (optional): some, with commas between them, of mon, tue',
    '  guests (optional): How many?; integer; default 2',
    '  note (optional): string',
  ])
})
