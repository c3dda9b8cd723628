import type { JsonObject } from '@beaver/core'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { agents } from '@beaver/testing'
import { createTeamWorkflowTools, findWorkflow, type Workflow, workflowToolSchemas } from '../index.ts'
import { briefSchema, wholeSchema } from './tool-schema.ts'

const five = [
  'SequentialWorkflow',
  'ConcurrentWorkflow',
  'MixtureOfAgents',
  'AgentRearrange',
  'GraphWorkflow',
].map((name) => findWorkflow(name) as Workflow)
const asSent = (tool: { name: string; description: string; parameters: JsonObject }): string =>
  JSON.stringify({
    type: 'function',
    function: { name: tool.name, description: tool.description, parameters: tool.parameters },
  })
const bytes = (text: string): number => Buffer.byteLength(text)

/** The whole objects that a schema holds, itself included. */
function schemasIn(schema: JsonObject): JsonObject[] {
  const {
    properties = {},
    items,
    anyOf = [],
  } = schema as { properties?: Record<string, JsonObject>; items?: JsonObject; anyOf?: JsonObject[] }
  return [
    schema,
    ...[...Object.values(properties), ...(items === undefined ? [] : [items]), ...anyOf].flatMap(schemasIn),
  ]
}

const full = {
  ...agents('collector')[0],
  use_skill: 's',
  skill_query: 'q',
  allowed_tool_names: ['t'],
  required_evidence: [
    'two sources',
    { kind: 'tool_succeeded', tool: 't', times_min: 2 },
    { kind: 'output_length', min: 1 },
  ],
}
const calls: Readonly<Record<string, object>> = {
  SequentialWorkflow: {},
  ConcurrentWorkflow: {},
  MixtureOfAgents: { aggregator: { ...full, name: 'merger' } },
  AgentRearrange: { flow: 'collector -> writer' },
  GraphWorkflow: { edges: [['collector', 'writer']], output_agent: 'writer', allow_disconnected: true },
}

describe('the five workflow tools of one request', () => {
  const sent = workflowToolSchemas(five)

  it('take less than 3,800 bytes together, 1,500 the first and 800 each of the others', () => {
    const [first = 0, ...others] = sent.map((tool) => bytes(asSent(tool)))
    expect(first).toBeLessThan(1_500)
    for (const each of others) expect(each).toBeLessThan(800)
    expect(others.reduce((sum, each) => sum + each, first)).toBeLessThan(3_800)
  })

  it('describe an agent once; the others say where', () => {
    const described = sent.map((tool) => JSON.stringify(tool.parameters).includes('use_skill'))
    expect(described).toEqual([true, false, false, false, false])
    for (const { parameters } of sent.slice(1))
      expect(JSON.stringify(parameters)).toContain('As in SequentialWorkflow.agents.')
  })

  it('describe an agent in the first tool, whichever of them are offered', () => {
    const [graph, moa] = workflowToolSchemas([
      findWorkflow('GraphWorkflow'),
      findWorkflow('MixtureOfAgents'),
    ] as Workflow[])
    expect(JSON.stringify(graph?.parameters)).toContain('use_skill')
    expect(JSON.stringify(moa?.parameters)).toContain('As in GraphWorkflow.agents.')
  })

  it('are the same every time', () =>
    expect(JSON.stringify(workflowToolSchemas(five))).toBe(JSON.stringify(sent)))

  it('keep their names and their descriptions whole', () => {
    expect(sent.map(({ name, description }) => [name, description])).toEqual(
      five.map(({ name, description }) => [name, description]),
    )
  })
})

describe.each([
  ['alone', true, createTeamWorkflowTools().map(({ name, parameters }) => ({ name, parameters }))],
  ['together', false, workflowToolSchemas(createTeamWorkflowTools())],
] as const)('a workflow tool, sent %s,', (_, strict, tools) => {
  it.each(tools.map(({ name, parameters }) => [name, parameters] as const))(
    '%s: is an object and says no bounds',
    (__, parameters) => {
      expect(parameters).toMatchObject({ type: 'object', ...(strict ? { additionalProperties: false } : {}) })
      const known = [
        'type',
        'description',
        'properties',
        'items',
        'required',
        'enum',
        'anyOf',
        'additionalProperties',
        'minItems',
        'maxItems',
      ]
      for (const schema of schemasIn(parameters)) {
        expect(Object.keys(schema).filter((key) => !known.includes(key))).toEqual([])
        expect(schema['minItems']).toBe(schema['maxItems'])
        if (schema['type'] === 'array') expect(schema).toHaveProperty('items')
        // The JSON Schema of an output may have any fields.
        const isAny =
          typeof schema['description'] === 'string' &&
          schema['description'].startsWith('The JSON Schema of its output')
        if (schema['type'] === 'object' && !isAny)
          expect(Object.keys(schema['properties'] ?? {})).not.toEqual([])
      }
    },
  )

  it.each(
    tools.filter(({ name }) => name in calls).map(({ name, parameters }) => [name, parameters] as const),
  )(
    '%s: allows what is accepted, and refuses a field too few; alone, also one too many',
    (name, parameters) => {
      const schema = z.fromJSONSchema(parameters as Parameters<typeof z.fromJSONSchema>[0])
      const args = { task: 'Compare', agents: [full, ...agents('writer')], ...calls[name] }
      expect(findWorkflow(name)?.plan(args)).toHaveProperty('ok', true)
      expect(schema.safeParse(args).error).toBeUndefined()
      expect(schema.safeParse({ ...args, layers: 2 }).success).toBe(!strict)
      expect(schema.safeParse({ ...args, task: undefined }).success).toBe(false)
      if (strict) expect(schema.safeParse({ ...args, agents: [{ name: 'a' }] }).success).toBe(false)
    },
  )
})

describe('the brief form of a schema', () => {
  const brief = (input: z.ZodType) => briefSchema(wholeSchema(input), 'T')

  it('has no null beside another type, and no bounds', () => {
    expect(
      brief(
        z.strictObject({
          a: z.string().min(1).nullable().optional(),
          n: z.number().int().min(1).max(9),
          l: z.array(z.string()).min(1),
        }),
      ),
    ).toEqual({
      type: 'object',
      properties: {
        a: { type: 'string' },
        n: { type: 'integer' },
        l: { type: 'array', items: { type: 'string' } },
      },
      required: ['n', 'l'],
      additionalProperties: false,
    })
  })

  it('keeps enums, lengths of pairs, and alternatives of unlike types', () => {
    expect(
      brief(
        z.object({
          e: z.enum(['a', 'b']),
          p: z.array(z.string()).length(2),
          u: z.union([z.string(), z.number()]),
        }),
      ),
    ).toMatchObject({
      properties: {
        e: { type: 'string', enum: ['a', 'b'] },
        p: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 },
        u: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      },
    })
  })

  it('tells the kinds of a union in one line', () => {
    const kinds = z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('a'), x: z.string() }),
      z.strictObject({ kind: z.literal('b'), y: z.number().optional() }),
    ])
    expect(brief(kinds)).toEqual({
      type: 'object',
      properties: { kind: { type: 'string', description: 'a(x), b(y?)' } },
      required: ['kind'],
      additionalProperties: true,
    })
  })
})
