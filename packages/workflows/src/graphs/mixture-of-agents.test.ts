import { describe, expect, it } from 'vitest'
import { agents, dependencies, graphOf, refuses } from '@beaver/testing'
import { mixtureOfAgents } from './mixture-of-agents.ts'

const args = {
  task: '对一个问题做多角度分析并汇总',
  agents: agents('tactics', 'players', 'media'),
  aggregator: { name: 'synthesizer', instruction: '合并所有分析' },
}

describe('MixtureOfAgents', () => {
  it('builds the experts and the aggregator of WT-40', () => {
    const graph = graphOf(mixtureOfAgents.plan(args))
    expect(dependencies(graph)).toEqual([
      ['tactics', []],
      ['players', []],
      ['media', []],
      ['synthesizer', ['tactics', 'players', 'media']],
    ])
    expect(graph).toMatchObject({
      workflow: 'MixtureOfAgents',
      outputs: ['synthesizer'],
      output: 'synthesizer',
    })
  })

  it.each([undefined, null])('aggregator_required: refuses %j for the aggregator', (aggregator) => {
    refuses(
      mixtureOfAgents,
      { ...args, aggregator },
      {
        code: 'aggregator_required',
        path: 'aggregator',
        parts: ['"aggregator": {"name": "…", "instruction": "…"}'],
      },
    )
  })

  it('duplicate_agent: the aggregator must not have the name of an expert', () => {
    refuses(
      mixtureOfAgents,
      { ...args, aggregator: agents('media')[0] },
      { code: 'duplicate_agent', path: 'aggregator.name', parts: ['"media"', 'agents.2'] },
    )
  })

  it('invalid_agent_name: checks the name of the aggregator too', () => {
    refuses(
      mixtureOfAgents,
      { ...args, aggregator: agents('a>b')[0] },
      { code: 'invalid_agent_name', path: 'aggregator.name', parts: ['"a>b"', 'U+003E'] },
    )
  })

  it.each([
    ['synthesizer', 'aggregator', 'Write an object: {"name":"synthesizer","instruction":"…"}'],
    ['{"name":"s","instruction":"t"}', 'aggregator', 'JSON text inside a string'],
    [{ name: 's' }, 'aggregator.instruction', 'is missing'],
    [{ name: 's', instruction: 't', layers: 2 }, 'aggregator.layers', 'is not known'],
  ])('invalid_arguments: refuses %j for the aggregator', (aggregator, path, part) => {
    refuses(
      mixtureOfAgents,
      { ...args, aggregator },
      { code: 'invalid_arguments', path, parts: [`"${path}"`, part] },
    )
  })

  it('has no layers parameter (WT-43)', () => {
    refuses(
      mixtureOfAgents,
      { ...args, layers: 3 },
      { code: 'invalid_arguments', path: 'layers', parts: ['"layers"'] },
    )
  })

  it('counts the aggregator as an agent, and one edge per expert', () => {
    expect(mixtureOfAgents.plan(args, { limits: { agentsMax: 4, edgesMax: 3 } }).ok).toBe(true)
    refuses(
      mixtureOfAgents,
      args,
      { code: 'too_many_agents', path: 'agents', parts: ['4 agents', 'agentsMax is 3'] },
      { limits: { agentsMax: 3 } },
    )
    refuses(
      mixtureOfAgents,
      args,
      { code: 'too_many_edges', path: 'agents', parts: ['3 edges', 'edgesMax is 2'] },
      { limits: { edgesMax: 2 } },
    )
  })
})
