import { expect, it } from 'vitest'
import { graph, node } from '../../test/log.ts'
import { completed, eventsOf, facts, step, team } from '../../test/team.ts'
import type { AgentNode } from './execution-graph.ts'

const demanding = (over: Partial<AgentNode>): AgentNode => ({ ...node('a'), ...over })

it('fails a node whose output breaks a rule, as missing evidence does', () => {
  const gated = team(
    graph(demanding({ validation_rules: [{ kind: 'output_contains', texts: ['Total'] }] }), node('b', 'a')),
  )
  step(gated, [])
  expect(step(gated, [completed('a', facts('no sum'))])).toEqual([
    'node_evidence_evaluated a refused',
    'node_failed a',
    'node_blocked b by a',
    'task_team_run_failed incomplete',
  ])
  expect(gated.nodes.get('a')?.failure).toEqual({
    class: 'evidence_missing',
    message: 'The output does not contain 1 of 1 required text: "Total".',
  })
})

it('compares figures with what the node was given: outputs, the task and its instruction', () => {
  const check = { required_evidence: [{ kind: 'numbers_from_dependencies' as const }] }
  const after = (output: string): string[] => {
    const gated = team(graph(node('a'), { ...node('b', 'a'), ...check, instruction: 'Name 3 points.' }))
    step(gated, [])
    step(gated, [completed('a', facts('Revenue: HK$1,200 million'))])
    return step(gated, [completed('b', facts(output))], {
      outputs: new Map([['a', 'Revenue: HK$1,200 million']]),
    })
  }
  expect(after('3 points: HK$1.2bn')[0]).toBe('node_evidence_evaluated b passed')
  expect(after('3 points: HK$1.3bn')[0]).toBe('node_evidence_evaluated b refused')
})

it('compares figures with the instruction that the program gave, and not with the one of the graph', () => {
  const check = { required_evidence: [{ kind: 'numbers_from_dependencies' as const }] }
  const instruction = ['Sum up 40 pages: ', { value: 'Revenue: HK$7 million' }]
  const after = (output: string): string | undefined => {
    const gated = team(graph({ ...node('b'), ...check, instruction: 'Sum up {{ count }} of 12 pages.' }))
    step(gated, [], { program: { enter: () => ({ kind: 'run', input: { instruction } }) } })
    return step(gated, [completed('b', facts(output))])[0]
  }
  expect(after('On 40 pages: HK$7m.')).toBe('node_evidence_evaluated b passed')
  expect(after('On 12 pages.')).toBe('node_evidence_evaluated b refused')
})

it('records a contract, which fails nothing', () => {
  const gated = team(graph(demanding({ evidence_contract: 'Name each file.' })))
  const [verdict] = eventsOf(gated, [completed('a')])
  expect(verdict).toMatchObject({
    type: 'node_evidence_evaluated',
    data: {
      passed: true,
      checks: [
        { field: 'evidence_contract', requirement: 'Name each file.', status: 'not_checked', rests_on: [] },
      ],
    },
  })
})

it('gives one verdict with the checks of both fields and the contract, in that order', () => {
  const gated = team(
    graph(
      demanding({
        required_evidence: ['x'],
        validation_rules: [{ kind: 'output_length', min: 1 }],
        evidence_contract: 'y',
      }),
    ),
  )
  const [verdict] = eventsOf(gated, [completed('a')])
  expect(
    verdict?.type === 'node_evidence_evaluated' &&
      verdict.data.checks.map((check) => [check.field, check.status]),
  ).toEqual([
    [undefined, 'not_checked'],
    ['validation_rules', 'passed'],
    ['evidence_contract', 'not_checked'],
  ])
})
