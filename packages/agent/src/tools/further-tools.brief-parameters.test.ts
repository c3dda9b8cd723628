import { expect, test } from 'vitest'
import { z } from 'zod'
import { briefTool } from './further-tools.ts'
import { defineTool } from './tool.ts'

const brief = (parameters: Record<string, unknown>): Record<string, unknown> =>
  briefTool({ name: 't', description: 'd', parameters }).parameters

test('a model is told names, types, meanings, choices and needs, and no bounds, titles or defaults', () => {
  const { parameters } = defineTool({
    name: 't',
    description: 'd',
    input: z.strictObject({
      path: z.string().min(1).max(9).describe('A file.'),
      mode: z.enum(['a', 'b']).default('a'),
      sizes: z.array(z.int().min(1)).optional(),
      of: z.strictObject({ n: z.number().max(3) }).optional(),
    }),
    run: () => '',
  })
  expect(brief(parameters)).toEqual({
    type: 'object',
    properties: {
      path: { type: 'string', description: 'A file.' },
      mode: { type: 'string', enum: ['a', 'b'] },
      sizes: { type: 'array', items: { type: 'integer' } },
      of: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    },
    required: ['path'],
  })
})

test('a field may have the name of a keyword', () => {
  const properties = {
    title: { type: 'string' },
    default: { type: 'string', default: 'x' },
    minimum: { type: 'number', minimum: 1 },
  }
  expect(brief({ type: 'object', properties, required: ['title', 'default'] })).toEqual({
    type: 'object',
    properties: { title: { type: 'string' }, default: { type: 'string' }, minimum: { type: 'number' } },
    required: ['title', 'default'],
  })
})

test('what an MCP server wrote stays, however it is nested', () => {
  const given = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { point: { title: 'Point', type: 'array', items: { type: 'number', maximum: 1 }, minItems: 2 } },
    properties: {
      at: { $ref: '#/$defs/point' },
      id: { oneOf: [{ type: 'string', pattern: '^a', maxLength: 3 }, { const: 1 }] },
      any: true,
    },
    additionalProperties: { type: 'string', minLength: 1 },
  }
  expect(brief(given)).toEqual({
    type: 'object',
    $defs: { point: { type: 'array', items: { type: 'number' }, minItems: 2 } },
    properties: {
      at: { $ref: '#/$defs/point' },
      id: { oneOf: [{ type: 'string', pattern: '^a' }, { const: 1 }] },
      any: true,
    },
    additionalProperties: { type: 'string' },
  })
})
