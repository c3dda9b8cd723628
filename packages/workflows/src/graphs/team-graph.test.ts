import { executionGraph } from '@beaver/core/graph'
import { describe, expect, it } from 'vitest'
import { agentNodes, agents, graphOf } from '@beaver/testing'
import { sequentialWorkflow } from './sequential.ts'

const full = {
  name: 'collector',
  instruction: 'Collect.',
  skill_query: 'web search',
  use_skill: 'finance',
  allowed_tool_names: ['web_search'],
  required_evidence: [
    'two sources',
    { kind: 'tool_succeeded', tool: 'web_search', times_min: 2, arguments_match: { query: 'x' } },
  ],
  validation_rules: ['be brief', { kind: 'output_schema', schema: { type: 'object' } }],
  evidence_contract: 'Name each source.',
}

describe('a node', () => {
  it('carries the descriptor of EG-02, without a role', () => {
    const [node] = agentNodes(graphOf(sequentialWorkflow.plan({ task: 'x', agents: agents('collector') })))
    expect(node?.agent).toEqual({
      name: 'collector',
      role: '',
      system_prompt: '',
      metadata: {
        sub_agent_kind: 'generic_skill_worker',
        workflow_tool: 'SequentialWorkflow',
        workflow_agent_name: 'collector',
      },
    })
  })

  it('carries every slot of its agent', () => {
    const [node] = agentNodes(graphOf(sequentialWorkflow.plan({ task: 'x', agents: [full] })))
    const { name, ...slots } = full
    expect(node).toMatchObject({ node_id: name, ...slots })
  })

  it('has no skill fields, no tool scope and no requirements when its agent gives none', () => {
    const [node] = agentNodes(graphOf(sequentialWorkflow.plan({ task: 'x', agents: agents('a') })))
    expect(Object.keys(node ?? {})).toEqual([
      'kind',
      'node_id',
      'agent',
      'instruction',
      'depends_on',
      'allowed_tool_names',
      'required_evidence',
    ])
    expect(node).toMatchObject({ allowed_tool_names: null, required_evidence: [] })
  })

  it.each([
    [undefined, null],
    [null, null],
    [[], []],
    [['web_fetch'], ['web_fetch']],
  ])('keeps the three states of allowed_tool_names apart: %j is %j', (given, kept) => {
    const [node] = agentNodes(
      graphOf(
        sequentialWorkflow.plan({ task: 'x', agents: [{ ...agents('a')[0], allowed_tool_names: given }] }),
      ),
    )
    expect(node?.allowed_tool_names).toEqual(kept)
  })
})

describe('a graph', () => {
  it('holds the task verbatim and parses as an ExecutionGraph', () => {
    const graph = graphOf(sequentialWorkflow.plan({ task: ' 比较 \n', agents: [full] }))
    expect(graph.task).toBe(' 比较 \n')
    expect(executionGraph.parse(graph)).toEqual(graph)
  })

  it('shares nothing with the arguments', () => {
    const args = { task: 'x', agents: [structuredClone(full)] }
    const graph = graphOf(sequentialWorkflow.plan(args))
    const before = structuredClone(graph)
    args.agents[0]?.allowed_tool_names.push('exec')
    Object.assign(args.agents[0]?.required_evidence[1] ?? {}, { tool: 'exec' })
    expect(graph).toEqual(before)
  })
})
