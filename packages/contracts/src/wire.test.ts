import { eventData } from '@beaver/core'
import { describe, expect, test } from 'vitest'
import { wireDocument, wireEntries, type WireKind } from './wire.ts'

const entries = wireEntries()
const named = (kind: WireKind, name: string): Record<string, unknown> => {
  const entry = entries.find((each) => each.kind === kind && each.name === name)
  return { ...entry?.schemas }
}

interface Property {
  readonly path: string
  readonly schema: Readonly<Record<string, unknown>>
}

/** Every property of a JSON Schema, however deep, with the path of its name. */
function* propertiesOf(schema: unknown, path = ''): Generator<Property> {
  if (typeof schema !== 'object' || schema === null) return
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties')
      for (const [name, field] of Object.entries(value as object))
        yield { path: `${path}.${name}`, schema: field as Property['schema'] }
    yield* propertiesOf(value, `${path}.${key}`)
  }
}

describe('the wire', () => {
  test('has each name once among those of its kind, with a sentence that says what it is', () => {
    const names = entries.map(({ kind, name }) => `${kind} ${name}`)
    expect(new Set(names).size).toBe(names.length)
    expect(entries.filter(({ says }) => !/^[A-Z].*\.$/.test(says)).map(({ name }) => name)).toEqual([])
  })

  test('has every event of the catalogue', () => {
    expect(entries.flatMap(({ kind, name }) => (kind === 'event' ? [name] : []))).toEqual(
      Object.keys(eventData),
    )
  })

  test('says of each field what it means, but for constants', () => {
    const fields = entries.flatMap(({ kind, name, schemas }) =>
      [...propertiesOf(schemas)].map((each) => ({ ...each, path: `${kind} ${name}${each.path}` })),
    )
    const meaning = ({ schema }: Property): string => {
      const says = schema['const'] === undefined ? schema['description'] : 'A constant.'
      return typeof says === 'string' ? says : ''
    }
    expect(fields.filter((each) => !/^[A-Za-z].*\.$/.test(meaning(each))).map(({ path }) => path)).toEqual([])
  })

  test('has names in snake_case alone, and one name for each kind of id (D-70)', () => {
    const fields = entries.flatMap(({ kind, name, schemas }) =>
      [...propertiesOf(schemas)].map(({ path }) => ({
        of: `${kind} ${name}`,
        field: path.split('.').at(-1) ?? '',
      })),
    )
    expect(fields.length).toBeGreaterThan(300)
    expect(fields.filter(({ field }) => !/^[a-z0-9_]+$/.test(field))).toEqual([])
    const otherNames = new Set(['session', 'run', 'call', 'node', 'taskId', 'tool_call_id'])
    const asked = entries.flatMap(({ kind, name, schemas }) =>
      kind === 'event'
        ? []
        : Object.keys((schemas['input']?.['properties'] ?? {}) as object).map((field) => ({
            of: name,
            field,
          })),
    )
    expect(asked.filter(({ field }) => otherNames.has(field))).toEqual([])
  })

  test('is written in a strict and a tolerant form: an input takes no unknown field, an answer may grow', () => {
    const { input, answer } = named('request', 'task.submit')
    expect(input).toMatchObject({ additionalProperties: false })
    expect(answer).not.toHaveProperty('additionalProperties')
  })

  test('tells that a field with a default may be left out', () => {
    expect(named('query', 'tasks')['input']).toMatchObject({
      properties: { limit: { default: 20, minimum: 1, maximum: 200 } },
    })
    expect(named('query', 'tasks')['input']).not.toHaveProperty('required')
    expect(named('query', 'task')['input']).toMatchObject({ required: ['task_id'] })
  })

  test('is one document with a section for each kind', () => {
    const document = wireDocument()
    expect(Object.keys(document)).toEqual(['requests', 'queries', 'live', 'channels', 'events', 'daemons'])
    expect(Object.values(document).reduce((sum, section) => sum + Object.keys(section).length, 0)).toBe(
      entries.length,
    )
  })

  test('describes a tree that holds itself', () => {
    expect(named('query', 'task')['answer']).toMatchObject({
      $defs: {
        run: { properties: { teams: { items: { $ref: '#/$defs/team' } } } },
        team: { properties: { nodes: { items: { $ref: '#/$defs/node' } } } },
      },
    })
  })
})
