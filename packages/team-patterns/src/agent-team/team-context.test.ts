import type { AgentNode } from '@beaver/core/graph'
import { sequentialWorkflow, teamContextOf } from '@beaver/workflows'
import { describe, expect, it } from 'vitest'
import { agents, graphOf } from '@beaver/testing'
import { agentTeam } from './agent-team.ts'

describe('the team of a member', () => {
  it('has the name, the strategy and the members of an AgentTeam', () => {
    const graph = graphOf(agentTeam.plan({ name: 'articles', members: ['a', 'b'], message: 'm' }))
    expect(teamContextOf('team1', graph, graph.nodes[0] as AgentNode)).toEqual({
      team_run_id: 'team1',
      workflow: 'AgentTeam',
      team: 'articles',
      strategy: 'leader_worker',
      node_id: 'Coordinator #plan',
      member_name: 'Coordinator',
      members: ['a', 'b'],
      coordinator: 'Coordinator',
    })
  })

  it('has the agents of the graph for any other workflow', () => {
    const graph = graphOf(sequentialWorkflow.plan({ task: 't', agents: agents('a', 'b') }))
    expect(teamContextOf('team1', graph, graph.nodes[1] as AgentNode)).toMatchObject({
      team: 'SequentialWorkflow',
      strategy: null,
      members: ['a', 'b'],
    })
  })
})
