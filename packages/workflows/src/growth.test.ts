import { graphOf } from '@beaver/testing'
import { expect, it } from 'vitest'
import { definitionWorkflow } from './definitions/definition-workflow.ts'
import { readDefinition } from './definitions/read-definition.ts'
import { sequentialWorkflow } from './graphs/sequential.ts'
import { growthOf } from './growth.ts'

const mapOf = (map: object) => {
  const { definition } = readDefinition('each', {
    interfaceInputs: { list: { dataFlowType: 'ARRAY' } },
    interfaceOutputs: { all: { dataFlowType: 'STRING', multi: true } },
    nodes: [{ id: 'all', kind: 'map', items: '{{ inputs.list }}', ...map }],
  })
  if (definition === null) throw new Error('It cannot be read.')
  return definitionWorkflow(definition, new Map([['each', definition]]))
}

const body = { kind: 'agent', instruction: 'Read {{ item }}.' }

it('is the bound of the items, or of the agents', () => {
  const map = mapOf({ body, maxItems: 30 })
  expect(growthOf(graphOf(map.plan({ list: [] })))).toBe(30)
  expect(growthOf(graphOf(map.plan({ list: [] }, { limits: { agentsMax: 7 } })))).toBe(7)
})

it('is null for a graph that is complete', () => {
  const alone = { task: 't', agents: [{ name: 'a', instruction: 'Do a.' }] }
  expect(growthOf(graphOf(sequentialWorkflow.plan(alone)))).toBeNull()
  const filled = mapOf({ body: { kind: 'template', template: '{{ item }}' } })
  expect(growthOf(graphOf(filled.plan({ list: [] })))).toBeNull()
})
