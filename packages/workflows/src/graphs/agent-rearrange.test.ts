import { describe, expect, it } from 'vitest'
import { agents, dependencies, graphOf, refuses } from '@beaver/testing'
import { agentRearrange } from './agent-rearrange.ts'

const of = (flow: unknown, ...names: string[]) => ({
  task: 'x',
  agents: agents(...(names.length === 0 ? ['a', 'b', 'c'] : names)),
  flow,
})
const refused = (flow: unknown, code: string, parts: string[], path = 'flow') =>
  refuses(agentRearrange, of(flow), { code, path, parts })

describe('AgentRearrange builds', () => {
  it('the flow of WT-50, with consecutive steps fully connected (WT-57)', () => {
    const names = ['collector', 'tactics', 'players', 'media', 'synthesizer']
    const graph = graphOf(
      agentRearrange.plan({
        task: '先收集，再多角度分析，再汇总',
        agents: agents(...names),
        flow: 'collector -> tactics, players, media -> synthesizer',
      }),
    )
    expect(dependencies(graph)).toEqual([
      ['collector', []],
      ['tactics', ['collector']],
      ['players', ['collector']],
      ['media', ['collector']],
      ['synthesizer', ['tactics', 'players', 'media']],
    ])
    expect(graph).toMatchObject({
      workflow: 'AgentRearrange',
      outputs: ['synthesizer'],
      output: 'synthesizer',
    })
  })

  it('a last step of several agents: outputs in declared order, not in the order of the flow', () => {
    expect(graphOf(agentRearrange.plan(of('a -> c, b')))).toMatchObject({ outputs: ['b', 'c'], output: null })
  })

  it('each of one step to each of the next, whatever the declared order', () => {
    const graph = graphOf(agentRearrange.plan(of('d,b->c,a', 'a', 'b', 'c', 'd')))
    expect(dependencies(graph)).toEqual([
      ['a', ['b', 'd']],
      ['b', []],
      ['c', ['b', 'd']],
      ['d', []],
    ])
  })

  it('names with spaces, hyphens and other scripts, trimmed', () => {
    const graph = graphOf(
      agentRearrange.plan(of(' data collector->a- ,\n分析者 ', 'data collector', 'a-', '分析者')),
    )
    expect(dependencies(graph)).toEqual([
      ['data collector', []],
      ['a-', ['data collector']],
      ['分析者', ['data collector']],
    ])
  })

  it('a name that ends with a hyphen before an arrow', () => {
    expect(dependencies(graphOf(agentRearrange.plan(of('a--> b', 'a-', 'b'))))).toEqual([
      ['a-', []],
      ['b', ['a-']],
    ])
  })

  it('one step and one agent', () => expect(graphOf(agentRearrange.plan(of('a', 'a'))).output).toBe('a'))
})

describe('AgentRearrange refuses', () => {
  it.each(['', '  \n'])('empty_flow: %j', (flow) =>
    refused(flow, 'empty_flow', ['"flow" is empty', '"a -> b -> c"']),
  )

  it.each([
    ['a -> -> b', 'Step 2 of 3 is empty'],
    ['-> a', 'Step 1 of 2 is empty'],
    ['a, b ->', 'Step 2 of 2 is empty'],
    ['a -> b, , c', 'Step 2 of 2 has an empty place after "b"'],
    ['a -> ,b', 'Step 2 of 2 has an empty place at its beginning'],
    ['a, b, c,', 'Step 1 of 1 has an empty place after "c"'],
  ])('empty_segment: %j', (flow, part) => refused(flow, 'empty_segment', [part]))

  it('unknown_agent: a name that is not declared, with the one that was probably meant', () => {
    refused('a -> b -> ghost', 'unknown_agent', ['"ghost"', '"a", "b", "c"'])
    refuses(agentRearrange, of('Collector -> b', 'collector', 'b'), {
      code: 'unknown_agent',
      path: 'flow',
      parts: ['"Collector"', 'Did you mean "collector"?'],
    })
  })

  it.each(['a -> b -> a -> c', 'a, a -> b, c'])('repeated_agent: %j (a cycle cannot be written)', (flow) =>
    refused(flow, 'repeated_agent', ['"a"']),
  )

  it('agent_not_in_flow: every declared agent must appear', () =>
    refused('a -> c', 'agent_not_in_flow', ['"b"'], 'agents.1.name'))

  it.each([
    ['a → b, c', '→', '"a -> b, c"'],
    ['a ⇒ b, c', '⇒', '"a -> b, c"'],
    ['a ⟶ b ➡️ c', '⟶ ➡️', '"a -> b -> c"'],
    ['a -> b，c', '，', '"a -> b, c"'],
    ['a -> b、c', '、', '"a -> b, c"'],
    ['a --> b, c', '-->', '"a -> b, c"'],
    ['a => b; c', '=> ;', '"a -> b, c"'],
    ['a > b | c', '> |', '"a -> b, c"'],
    ['"a" -> [b, c]', '" [ ]', '"a -> b, c"'],
    ['a -&gt; b; c', '-&gt; ;', '"a -> b, c"'],
    ['a -\\u003e b, c', '-\\u003e', '"a -> b, c"'],
    ['a－＞b，c', '－＞ ，', '"a -> b, c"'],
    ['a - > b, c', '- >', '"a -> b, c"'],
    ['a >> b, c', '>', '"a -> b, c"'],
    ['a -->> b -> -> c', '--> >', '"a -> b -> c"'],
  ])('invalid_arguments: the separators of %j, with the flow rewritten', (flow, marks, corrected) => {
    refused(flow, 'invalid_arguments', [`holds ${marks} too`, `write ${corrected}.`])
  })

  it.each(['a - > x', 'a → x, c', 'a → b', '-> - > a', '→', '>>>>', 'a →→ , b c'])(
    '%j: advises no flow that would be refused',
    (flow) => {
      const planned = agentRearrange.plan(of(flow, 'a', 'b', 'c'))
      expect(planned.ok || planned.error.message).not.toMatch(/write "(?!edges)/)
    },
  )

  it('invalid_arguments: a rewritten flow of 300 agents is shown whole', () => {
    const names = Array.from({ length: 300 }, (_, index) => `n${index}`)
    refuses(agentRearrange, of(names.join(' → '), ...names), {
      code: 'invalid_arguments',
      path: 'flow',
      parts: [`write "${names.join(' -> ')}".`],
    })
  })

  it.each([[['a', ['b', 'c']]], ['["a", ["b", "c"]]']])(
    'invalid_arguments: the array %j, with the text to write',
    (flow) => {
      refused(flow, 'invalid_arguments', ['Write "a -> b, c".'])
    },
  )

  it.each([undefined, null, 3, { a: 'b' }])('invalid_arguments: %j', (flow) =>
    refused(flow, 'invalid_arguments', ['"flow" is']),
  )

  it('too_many_edges: fully connected steps multiply', () => {
    const names = Array.from({ length: 184 }, (_, index) => `n${index}`)
    const flow = `${names.slice(0, 92).join(',')} -> ${names.slice(92).join(',')}`
    refuses(agentRearrange, of(flow, ...names), {
      code: 'too_many_edges',
      path: 'flow',
      parts: ['8464 edges', 'edgesMax is 8192'],
    })
    expect(agentRearrange.plan(of(flow, ...names), { limits: { edgesMax: 8464 } }).ok).toBe(true)
  })
})
