import { describe, expect, it } from 'vitest'
import { agents, dependencies, graphOf } from '@beaver/testing'
import { concurrentWorkflow } from './concurrent.ts'

describe('ConcurrentWorkflow', () => {
  it('builds the independent nodes of WT-30 and WT-31, all of them outputs in declared order', () => {
    const graph = graphOf(
      concurrentWorkflow.plan({
        task: '从多个独立角度调研同一主题',
        agents: agents('official_sources', 'media_sources', 'data_sources'),
      }),
    )
    expect(dependencies(graph)).toEqual([
      ['official_sources', []],
      ['media_sources', []],
      ['data_sources', []],
    ])
    expect(graph).toMatchObject({
      workflow: 'ConcurrentWorkflow',
      outputs: ['official_sources', 'media_sources', 'data_sources'],
      output: null,
    })
  })

  it('takes one agent for the only output', () => {
    expect(graphOf(concurrentWorkflow.plan({ task: 'x', agents: agents('a') })).output).toBe('a')
  })

  it('tells the model to choose it only for truly independent work, and what to use instead (WT-32)', () => {
    expect(concurrentWorkflow.description).toMatch(/only for truly independent work/)
    expect(concurrentWorkflow.description).toMatch(
      /Not for "search for facts first, then analyse from the facts".*GraphWorkflow or MixtureOfAgents/,
    )
  })
})
