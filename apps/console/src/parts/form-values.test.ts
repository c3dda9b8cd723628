import { describe, expect, it } from 'vitest'
import { fieldsOf, readForm } from './form-values.ts'

const schema = {
  type: 'object',
  properties: {
    topic: { type: 'string', description: 'What it is about.' },
    tone: { type: 'string', enum: ['plain', 'warm'] },
    rounds: { type: 'integer', default: 2 },
    strict: { type: 'boolean' },
    sources: { type: 'array', items: { type: 'string', enum: ['web', 'files'] } },
    agents: { type: 'array', items: { type: 'object' } },
  },
  required: ['topic', 'agents'],
}
const fields = fieldsOf(schema)

it('makes a field of each property, in its order, with its default', () =>
  expect(fields.map(({ name, kind, required, initial }) => [name, kind, required, initial])).toEqual([
    ['topic', 'lines', true, ''],
    ['tone', 'choice', false, ''],
    ['rounds', 'number', false, '2'],
    ['strict', 'box', false, ''],
    ['sources', 'choices', false, ''],
    ['agents', 'json', true, ''],
  ]))

describe('what a person has written', () => {
  it('becomes the JSON that the schema means', () =>
    expect(
      readForm(fields, {
        topic: 'Beavers',
        rounds: '3',
        strict: 'true',
        sources: 'web\nfiles',
        agents: '[{"name":"a"}]',
      }),
    ).toEqual({
      value: {
        topic: 'Beavers',
        rounds: 3,
        strict: true,
        sources: ['web', 'files'],
        agents: [{ name: 'a' }],
      },
    }))

  it('is refused field by field', () =>
    expect(readForm(fields, { topic: ' ', rounds: 'many', agents: '[{' })).toEqual({
      faults: {
        topic: 'This field needs a value.',
        rounds: 'This is no number.',
        agents: 'This is no JSON.',
      },
    }))
})
