import { describe, expect, it } from 'vitest'
import { agentNodes, agents, dependencies, graphOf, refuses } from '@beaver/testing'
import { sequentialWorkflow } from './sequential.ts'

describe('SequentialWorkflow', () => {
  it('builds the chain of WT-21: each agent depends on exactly the one before it', () => {
    const args = {
      task: '比较 MGM China 和 Galaxy Entertainment，输出中文财务报告',
      agents: [
        { name: 'source_collector', instruction: '收集官方财务披露来源' },
        { name: 'metric_extractor', instruction: '提取可比财务指标' },
        { name: 'validator', instruction: '校验周期、币种、单位、来源一致性' },
        { name: 'reporter', instruction: '生成中文报告、对比表和 chart-ready data' },
      ],
    }
    const graph = graphOf(sequentialWorkflow.plan(args))
    expect(dependencies(graph)).toEqual([
      ['source_collector', []],
      ['metric_extractor', ['source_collector']],
      ['validator', ['metric_extractor']],
      ['reporter', ['validator']],
    ])
    expect(agentNodes(graph).map((node) => node.instruction)).toEqual(
      args.agents.map((agent) => agent.instruction),
    )
    expect(graph).toMatchObject({
      workflow: 'SequentialWorkflow',
      task: args.task,
      outputs: ['reporter'],
      output: 'reporter',
    })
  })

  it('takes one agent for its own output', () => {
    expect(graphOf(sequentialWorkflow.plan({ task: 'x', agents: agents('a') }))).toMatchObject({
      outputs: ['a'],
      output: 'a',
    })
  })

  it('builds 512 agents and names the edge limit when it is lower', () => {
    const args = { task: 'x', agents: agents(...Array.from({ length: 512 }, (_, index) => `a${index}`)) }
    expect(graphOf(sequentialWorkflow.plan(args)).nodes).toHaveLength(512)
    refuses(
      sequentialWorkflow,
      args,
      { code: 'too_many_edges', path: 'agents', parts: ['511 edges', 'edgesMax is 510'] },
      { limits: { edgesMax: 510 } },
    )
  })
})
