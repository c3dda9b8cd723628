import { describe, expect, it } from 'vitest'
import { exampleOf, fieldsOf, readForm, textsOf } from './form-values.ts'

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

it('shows the shape of a field that takes JSON, with names that differ', () => {
  const agent = {
    type: 'object',
    properties: { name: { type: 'string' }, tools: { type: 'array', items: { type: 'string' } } },
    required: ['name', 'tools'],
  }
  expect(exampleOf({ type: 'array', items: agent }, 'agents')).toEqual([
    { name: 'agent 1', tools: ['tools 1'] },
    { name: 'agent 2', tools: ['tools 2'] },
  ])
  expect(exampleOf({ anyOf: [{ type: 'null' }, { type: 'integer', minimum: 3 }] }, 'rounds')).toBe(3)
})

it('holds again what was written', () => {
  const value = { topic: 'Beavers', rounds: 3, strict: true, sources: ['web'], agents: [{ name: 'a' }] }
  expect(readForm(fields, textsOf(fields, value))).toEqual({ value })
})
