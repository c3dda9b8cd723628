import { agents, graphOf } from '@beaver/testing'
import { growthOf } from '@beaver/workflows'
import { expect, it } from 'vitest'
import { agentTeam } from '../agent-team/agent-team.ts'
import { groupChat } from '../group-chat/group-chat.ts'
import { hierarchicalWorkflow } from '../hierarchical/hierarchical-workflow.ts'

const [a, b] = agents('a', 'b')

it('is the bound of the rounds, turns or steps', () => {
  const people = { task: 't', manager: b, workers: [a] }
  const delegating = hierarchicalWorkflow.plan({ ...people, rounds_max: 2, delegations_max: 3 })
  expect(growthOf(graphOf(delegating))).toBe(12)
  const led = agentTeam.plan({ members: [a], coordinator: b, message: 'm', max_steps: 9 })
  expect(growthOf(graphOf(led))).toBe(9)
  const talk = { task: 't', agents: [a, b], turns_max: 4, speaker: 'bids' }
  expect(growthOf(graphOf(groupChat.plan(talk)))).toBe(20)
})

it('is null for a chat that is complete', () => {
  expect(growthOf(graphOf(groupChat.plan({ task: 't', agents: [a], turns_max: 3 })))).toBeNull()
})
