import { describe, expect, it } from 'vitest'
import { code, graph, node } from '../../test/log.ts'
import type { JsonObject } from '../json.ts'
import type { ExecutionGraph } from './execution-graph.ts'
import { authorsOf, givenTo, materialOf } from './given-facts.ts'

const team = (of: ExecutionGraph, inputs: Record<string, JsonObject> = {}) => ({
  graph: of,
  inputOf: (id: string) => inputs[id] ?? null,
  outputOf: (id: string) => (id === 'lost' ? null : `${id} says`),
})

describe('a node is given', () => {
  const last = node('c', 'a', 'b', 'lost')
  const of = graph(node('a'), node('b'), node('lost'), last)

  it('the outputs of the nodes it depends on, the task and its instruction', () => {
    expect(givenTo(team(of), last)).toEqual({ outputs: ['a says', 'b says'], texts: ['x', 'Do c.'] })
  })

  it('only the outputs that its program shows it', () => {
    expect(givenTo(team(of, { c: { dependency_outputs: ['b'] } }), last).outputs).toEqual(['b says'])
  })

  it('what its program put into its instruction: the words of others are what others said', () => {
    expect(
      givenTo(team(of, { c: { instruction: ['Sum up ', { value: 'Twice a day.' }, ' now.'] } }), last),
    ).toEqual({
      outputs: ['a says', 'b says', 'Twice a day.'],
      texts: ['x', 'Sum up ', ' now.'],
    })
  })
})

describe('the final output of a team', () => {
  it('comes from its last node, and rests on what that one was given', () => {
    expect(materialOf(team(graph(node('a'), node('b', 'a'))))).toEqual({
      outputs: ['a says'],
      texts: ['x', 'Do b.'],
    })
  })

  it('of one agent that waits for nobody rests on no output', () => {
    expect(materialOf(team(graph(node('a')))).outputs).toEqual([])
  })

  it('comes from the agents behind a code node, which only passes on', () => {
    const of = graph(node('a'), node('b', 'a'), node('c'), code('joined', 'b', 'c'), code('out', 'joined'))
    expect(authorsOf(of).map(({ node_id }) => node_id)).toEqual(['b', 'c'])
    expect(materialOf(team(of)).outputs).toEqual(['a says'])
  })

  it('that is joined from several outputs rests on what each of them was given, told once', () => {
    expect(materialOf(team(graph(node('a'), node('b', 'a'), node('c', 'a')))).outputs).toEqual(['a says'])
  })
})
