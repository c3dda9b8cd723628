import type { JsonObject } from '@beaver/core'
import type { EvidenceRequirement } from '@beaver/core/evidence'
import type { ExecutionGraph } from '@beaver/core/graph'
import { expect, it } from 'vitest'
import { definitionWorkflow } from './definitions/definition-workflow.ts'
import { readDefinition } from './definitions/read-definition.ts'
import { finalFormFault } from './final-form.ts'
import { findWorkflow } from './registry.ts'

const form = (type: string): JsonObject => ({
  type: 'object',
  properties: { total: { type } },
  required: ['total'],
})
const wants = (schema: JsonObject): EvidenceRequirement[] => ['Be brief.', { kind: 'output_schema', schema }]

function graphOf(
  args: object,
  workflow: Pick<NonNullable<ReturnType<typeof findWorkflow>>, 'plan'> | null,
): ExecutionGraph {
  const planned = workflow?.plan(args)
  return planned?.ok === true ? planned.graph : expect.fail(JSON.stringify(planned))
}

const sequence = (...forms: readonly (JsonObject | undefined)[]): ExecutionGraph =>
  graphOf(
    {
      task: 't',
      agents: forms.map((output_schema, i) => ({ name: `a${i}`, instruction: 'i', output_schema })),
    },
    findWorkflow('SequentialWorkflow'),
  )

function defined(value: string | undefined, more: object = {}): ExecutionGraph {
  const { definition } = readDefinition('count', {
    description: 'Counts.',
    interfaceInputs: {},
    interfaceOutputs: {
      count: { dataFlowType: 'OBJECT', ...(value === undefined ? {} : { value }) },
      ...more,
    },
    nodes: [{ id: 'count', kind: 'agent', instruction: 'Count.', outputSchema: form('integer') }],
  })
  return graphOf(
    {},
    definition === null ? null : definitionWorkflow(definition, new Map([['count', definition]])),
  )
}

it.each([
  ['the last agent of a sequence', sequence(undefined, form('integer'))],
  ['the output of a definition', defined(undefined)],
  ['the output of a definition that names its node', defined('{{ nodes.count.output }}')],
  ['the output of a definition that reads JSON', defined(' {{ nodes["count"].json }} ')],
])('a form that contradicts %s is refused, with the place', (_, graph) => {
  expect(finalFormFault(graph, wants(form('string')))).toMatchObject({
    error: {
      code: 'impossible_evidence',
      path: 'required_evidence.1',
      message: expect.stringContaining('at /total, one wants number, the other string'),
    },
  })
  expect(finalFormFault(graph, wants(form('number')))).toBeNull()
  expect(finalFormFault(graph, [])).toBeNull()
})

it.each([
  ['another agent than the last', sequence(form('integer'), undefined)],
  ['a text of several parts', defined('{"total": "{{ nodes.count.output }}"}')],
  ['one of several outputs', defined(undefined, { more: { dataFlowType: 'STRING', value: 'x' } })],
])('the form of %s is not that of the answer', (_, graph) =>
  expect(finalFormFault(graph, wants(form('string')))).toBeNull(),
)
