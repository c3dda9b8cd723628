import { describe, expect, it } from 'vitest'
import { createTeamWorkflowTools, findWorkflow, isWorkflowTool, workflowErrorCodes, workflowToolPrefix } from './index.ts'

const names = ['SequentialWorkflow', 'ConcurrentWorkflow', 'MixtureOfAgents', 'AgentRearrange', 'GraphWorkflow']

describe('the registry', () => {
  it('holds exactly the five workflows of v1, in a fixed order', () => {
    expect(createTeamWorkflowTools().map((workflow) => workflow.name)).toEqual(names)
    expect(createTeamWorkflowTools()).toEqual(createTeamWorkflowTools())
  })

  it.each(names)('finds %s under the short and the prefixed name', (name) => {
    expect(findWorkflow(name)?.name).toBe(name)
    expect(findWorkflow(`mcp_local_team_workflow_mcp_${name}`)?.name).toBe(name)
    expect(isWorkflowTool(`mcp_local_team_workflow_mcp_${name}`)).toBe(true)
  })

  it.each([
    'graphworkflow',
    'GroupChat',
    '',
    workflowToolPrefix,
    `${workflowToolPrefix}${workflowToolPrefix}GraphWorkflow`,
    'mcp_other_GraphWorkflow',
    '__proto__',
    'constructor',
  ])('does not know %j', (name) => {
    expect(findWorkflow(name)).toBeNull()
    expect(isWorkflowTool(name)).toBe(false)
  })

  it('requires task, agents, edges and output_agent of GraphWorkflow (WT-69) and task and agents of SequentialWorkflow (WT-22)', () => {
    expect(findWorkflow('GraphWorkflow')?.parameters).toMatchObject({ required: ['task', 'agents', 'edges', 'output_agent'] })
    expect(findWorkflow('SequentialWorkflow')?.parameters).toMatchObject({ required: ['task', 'agents'] })
  })

  it('says in every description when to choose the tool and when not', () => {
    for (const workflow of createTeamWorkflowTools()) expect(workflow.description).toMatch(/Choose it .*[Nn]ot /)
  })
})

it('the table holds the codes of D-38, and too_many_edges', () => {
  expect(Object.keys(workflowErrorCodes).toSorted()).toEqual(
    (
      'invalid_arguments agents_empty duplicate_agent invalid_agent_name aggregator_required empty_flow empty_segment unknown_agent repeated_agent agent_not_in_flow ' +
      'edges_required edges_shape unknown_node cycle island unknown_output_agent unreachable_output_agent unknown_skill too_many_agents too_many_edges'
    )
      .split(' ')
      .toSorted(),
  )
})
