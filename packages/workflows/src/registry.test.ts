import { describe, expect, it } from 'vitest'
import {
  addedWorkflowTools,
  addWorkflows,
  createTeamWorkflowTools,
  findTaskWorkflow,
  findWorkflow,
  isWorkflowTool,
  programOf,
  taskWorkflowNames,
  workflowErrorCodes,
  workflowToolPrefix,
} from './index.ts'

const names = [
  'SequentialWorkflow',
  'ConcurrentWorkflow',
  'MixtureOfAgents',
  'AgentRearrange',
  'GraphWorkflow',
]

it.each(taskWorkflowNames().map((name) => [name, findTaskWorkflow(name)] as const))(
  'the schema of %s is made when somebody asks for it, not when a process loads the workflows',
  (_, workflow) => {
    expect(Object.getOwnPropertyDescriptor(workflow, 'parameters')).toMatchObject({
      get: expect.any(Function) as () => object,
    })
  },
)

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
    'groupchat',
    'AgentTeam',
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

  it('knows more workflow tools than it offers by itself: those that the composition of tests added', () => {
    const more = addedWorkflowTools().map((workflow) => workflow.name)
    expect(more).toEqual(['GroupChat', 'HierarchicalWorkflow', 'MajorityVote'])
    for (const name of more)
      expect([
        findWorkflow(name)?.name,
        isWorkflowTool(workflowToolPrefix + name),
        names.includes(name),
      ]).toEqual([name, true, false])
  })

  it('refuses a workflow that has the name of another one, and takes the same again', () => {
    const known = [...taskWorkflowNames()]
    const [chat] = addedWorkflowTools()
    if (chat === undefined) return expect.fail('no workflow was added')
    addWorkflows([chat])
    expect(() => addWorkflows([{ ...chat }])).toThrow('There are two workflows GroupChat.')
    expect(taskWorkflowNames()).toEqual(known)
  })

  it('knows AgentTeam as what a task may be, and as no tool', () => {
    expect(findTaskWorkflow('AgentTeam')?.name).toBe('AgentTeam')
    expect(findTaskWorkflow('GraphWorkflow')?.name).toBe('GraphWorkflow')
    expect(findTaskWorkflow(`${workflowToolPrefix}AgentTeam`)).toBeNull()
    expect(
      [programOf('AgentTeam'), programOf('GroupChat'), programOf('SequentialWorkflow')].map(
        (program) => program === null,
      ),
    ).toEqual([false, false, true])
  })

  it('requires task, agents, edges and output_agent of GraphWorkflow (WT-69) and task and agents of SequentialWorkflow (WT-22)', () => {
    expect(findWorkflow('GraphWorkflow')?.parameters).toMatchObject({
      required: ['task', 'agents', 'edges', 'output_agent'],
    })
    expect(findWorkflow('SequentialWorkflow')?.parameters).toMatchObject({ required: ['task', 'agents'] })
  })

  it('says in every description when to choose the tool and when not', () => {
    for (const workflow of [...createTeamWorkflowTools(), ...addedWorkflowTools()])
      expect(workflow.description).toMatch(/Choose it .*[Nn]ot /)
  })
})

it('the table holds the codes of D-38, too_many_edges, impossible_evidence, model_not_allowed, and those of D-12', () => {
  expect(Object.keys(workflowErrorCodes).toSorted()).toEqual(
    (
      'invalid_arguments agents_empty duplicate_agent invalid_agent_name aggregator_required empty_flow empty_segment unknown_agent repeated_agent agent_not_in_flow ' +
      'edges_required edges_shape unknown_node cycle island unknown_output_agent unreachable_output_agent unknown_skill too_many_agents too_many_edges ' +
      'impossible_evidence model_not_allowed workflow_recursion workflow_too_deep unknown_workflow invalid_definition'
    )
      .split(' ')
      .toSorted(),
  )
})
