import type { ExecutionGraph } from '@beaver/core'
import { expect, it } from 'vitest'
import { agentTeam } from '../agent-team/agent-team.ts'
import { readDefinition } from '../definitions/read-definition.ts'
import { definitionWorkflow } from '../definitions/definition-workflow.ts'
import { sequentialWorkflow } from '../graphs/sequential.ts'
import { groupChat } from '../group-chat/group-chat.ts'
import { hierarchicalWorkflow } from '../hierarchical/hierarchical-workflow.ts'
import type { PlanResult } from '../workflow.ts'
import { growthOf } from './growth.ts'

const agent = (name: string) => ({ name, instruction: `Do ${name}.` })
const graphOf = (planned: PlanResult): ExecutionGraph => {
  if (!planned.ok) throw new Error(planned.error.message)
  return planned.graph
}
const mapOf = (map: object) => {
  const { definition } = readDefinition('each', {
    interfaceInputs: { list: { dataFlowType: 'ARRAY' } },
    interfaceOutputs: { all: { dataFlowType: 'STRING', multi: true } },
    nodes: [{ id: 'all', kind: 'map', items: '{{ inputs.list }}', ...map }],
  })
  if (definition === null) throw new Error('It cannot be read.')
  return definitionWorkflow(definition, new Map([['each', definition]]))
}

it('is the bound of the rounds, turns, steps or items', () => {
  const people = { task: 't', manager: agent('m'), workers: [agent('a')] }
  expect(growthOf(graphOf(hierarchicalWorkflow.plan({ ...people, rounds_max: 2, delegations_max: 3 })))).toBe(
    12,
  )
  expect(
    growthOf(
      graphOf(agentTeam.plan({ members: [agent('a')], coordinator: agent('c'), message: 'm', max_steps: 9 })),
    ),
  ).toBe(9)
  const talk = { task: 't', agents: [agent('a'), agent('b')], turns_max: 4, speaker: 'bids' }
  expect(growthOf(graphOf(groupChat.plan(talk)))).toBe(20)
  const body = { kind: 'agent', instruction: 'Read {{ item }}.' }
  expect(growthOf(graphOf(mapOf({ body, maxItems: 30 }).plan({ list: [] })))).toBe(30)
  expect(
    growthOf(graphOf(mapOf({ body, maxItems: 30 }).plan({ list: [] }, { limits: { agentsMax: 7 } }))),
  ).toBe(7)
})

it('is null for a graph that is complete', () => {
  expect(growthOf(graphOf(sequentialWorkflow.plan({ task: 't', agents: [agent('a')] })))).toBeNull()
  expect(
    growthOf(graphOf(mapOf({ body: { kind: 'template', template: '{{ item }}' } }).plan({ list: [] }))),
  ).toBeNull()
  expect(growthOf(graphOf(groupChat.plan({ task: 't', agents: [agent('a')], turns_max: 3 })))).toBeNull()
})
