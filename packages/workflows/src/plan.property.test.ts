// What holds for every call of every workflow, checked against oracles that share no code with the builders.
import { canonicalJson, type ExecutionGraph } from '@beaver/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { agents } from '../test/kit.ts'
import { createTeamWorkflowTools, graphWorkflow, type Workflow, type WorkflowError } from './index.ts'

const runs = { seed: 42, numRuns: 200 }
const names = ['a', 'B', '收集者', 'data collector', 'v1.2', '__proto__', 'x-y', 'हिन्दी']
const team = fc.shuffledSubarray(names, { minLength: 1 })

/** A call over a team of distinct names that may have one of the faults of its workflow. */
const calls: Record<string, fc.Arbitrary<object>> = {
  SequentialWorkflow: team.map((members) => ({ agents: agents(...members) })),
  ConcurrentWorkflow: team.map((members) => ({ agents: agents(...members) })),
  MixtureOfAgents: fc.record({ agents: team.map((members) => agents(...members)), aggregator: fc.constantFrom('a', 'merger').map((name) => agents(name)[0]) }),
  AgentRearrange: team.chain((members) =>
    fc.record({
      agents: fc.constant(agents(...members)),
      flow: fc.oneof({ weight: 3, arbitrary: goodFlow(members) }, { weight: 2, arbitrary: anyFlow(members) }),
    }),
  ),
  GraphWorkflow: team.chain((members) => fc.oneof({ weight: 3, arbitrary: forwardEdges(members) }, { weight: 2, arbitrary: anyEdges(members) })),
}

function goodFlow(members: readonly string[]): fc.Arbitrary<string> {
  const separators = fc.array(fc.constantFrom(',', '->', ' , ', ' -> '), { minLength: members.length, maxLength: members.length })
  return fc
    .tuple(fc.shuffledSubarray([...members], { minLength: members.length }), separators)
    .map(([order, between]) => order.map((name, index) => (index === 0 ? '' : between[index]) + name).join(''))
}

function anyFlow(members: readonly string[]): fc.Arbitrary<string> {
  const loose = fc.array(fc.constantFrom(...members, 'ghost', ',', '->', ' '), { maxLength: 12 }).map((tokens) => tokens.join(''))
  const repeated = fc.array(fc.constantFrom(...members), { minLength: 1, maxLength: 6 }).map((order) => order.join(' -> '))
  return fc.oneof(loose, repeated)
}

function forwardEdges(members: readonly string[]): fc.Arbitrary<object> {
  const pairs = members.flatMap((from, index) => members.slice(index + 1).map((to) => [from, to]))
  return fc.record({
    agents: fc.constant(agents(...members)),
    edges: fc.shuffledSubarray(pairs),
    output_agent: fc.constantFrom(...members),
    allow_disconnected: fc.boolean(),
  })
}

function anyEdges(members: readonly string[]): fc.Arbitrary<object> {
  const end = fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...members) }, { weight: 1, arbitrary: fc.constant('ghost') })
  const output = fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...members) }, { weight: 1, arbitrary: fc.constant('nobody') })
  return fc.record({
    agents: fc.constant(agents(...members)),
    edges: fc.array(fc.tuple(end, end), { maxLength: 8 }),
    output_agent: output,
    allow_disconnected: fc.boolean(),
  })
}

const callOf = (workflow: Workflow): fc.Arbitrary<object> => (calls[workflow.name] as fc.Arbitrary<object>).map((args) => ({ task: 'x', ...args }))

/** Kahn: how many nodes can be completed one after the other. */
function completable(graph: ExecutionGraph): number {
  const done = new Set<string>()
  for (let before = -1; before < done.size;) {
    before = done.size
    for (const node of graph.nodes) if (node.depends_on.every((id) => done.has(id))) done.add(node.node_id)
  }
  return done.size
}

describe.each(createTeamWorkflowTools().map((workflow) => [workflow.name, workflow] as const))('%s', (_, workflow) => {
  it('accepts only acyclic graphs whose dependencies exist and stand in declared order, and whose outputs are the sinks', () => {
    let accepted = 0
    fc.assert(
      fc.property(callOf(workflow), (args) => {
        const result = workflow.plan(args)
        if (!result.ok) return
        accepted++
        const { nodes, outputs, output } = result.graph
        const ids = nodes.map((node) => node.node_id)
        expect(new Set(ids).size).toBe(ids.length)
        expect(completable(result.graph)).toBe(nodes.length)
        for (const { depends_on: needed } of nodes) expect(needed).toEqual(ids.filter((id) => needed.includes(id)))
        expect(outputs).toEqual(ids.filter((id) => nodes.every((node) => !node.depends_on.includes(id))))
        expect(output === null ? outputs.length > 1 : ids.includes(output)).toBe(true)
      }),
      runs,
    )
    expect(accepted).toBeGreaterThan(50)
  })

  it('builds the same graph twice, whatever the order of the keys', () => {
    fc.assert(
      fc.property(callOf(workflow), (args) => {
        const [once, again] = [workflow.plan(args), workflow.plan(turned(args))]
        expect(again).toEqual(once)
        expect(canonicalJson(again)).toBe(canonicalJson(once))
      }),
      runs,
    )
  })

  it('leaves its arguments as they were', () => {
    fc.assert(
      fc.property(callOf(workflow), (args) => {
        const before = structuredClone(args)
        workflow.plan(deepFrozen(args))
        expect(args).toEqual(before)
      }),
      runs,
    )
  })

  it('never throws, whatever JSON it is called with', () => {
    fc.assert(
      fc.property(
        callOf(workflow),
        fc.jsonValue(),
        fc.constantFrom('task', 'agents', 'agents.0', 'agents.0.name', 'flow', 'edges', 'edges.0', 'aggregator', 'output_agent', 'more'),
        (args, odd, path) => {
          const [key = '', ...rest] = path.split('.')
          expect(workflow.plan(odd)).toHaveProperty('ok', false)
          const member = rest.length === 0 ? odd : [rest.length === 1 ? odd : { name: odd, instruction: 'x' }]
          for (const value of [member, { toString: odd, valueOf: odd }, [[{ toString: odd, valueOf: odd }]]]) {
            const result = workflow.plan({ ...args, [key]: value })
            if (!result.ok) expect(result.error.message).toMatch(/\S/)
          }
        },
      ),
      runs,
    )
  })
})

it('GraphWorkflow answers the same for every order of the edges, and for repeated ones', () => {
  const call = team
    .chain((members) => forwardEdges(members))
    .chain((args) => {
      const { edges } = args as { edges: string[][] }
      return fc.record({ args: fc.constant(args), shuffled: fc.shuffledSubarray([...edges, ...edges], { minLength: edges.length * 2 }) })
    })
  fc.assert(
    fc.property(call, ({ args, shuffled }) => {
      expect(graphWorkflow.plan({ task: 'x', ...args, edges: shuffled })).toEqual(graphWorkflow.plan({ task: 'x', ...args }))
    }),
    runs,
  )
})

it.each([
  ['MixtureOfAgents', ['duplicate_agent']],
  ['AgentRearrange', ['agent_not_in_flow', 'empty_flow', 'empty_segment', 'repeated_agent', 'unknown_agent']],
  ['GraphWorkflow', ['cycle', 'edges_required', 'island', 'unknown_node', 'unknown_output_agent', 'unreachable_output_agent']],
])('%s: every refusal is right and names the offending item (%j)', (name, codes) => {
  const workflow = createTeamWorkflowTools().find((each) => each.name === name) as Workflow
  const seen = new Set<string>()
  fc.assert(
    fc.property(callOf(workflow), (args) => {
      const result = workflow.plan(args)
      if (result.ok) return
      seen.add(result.error.code)
      expectOffender(args as Args, result.error)
    }),
    { ...runs, numRuns: 600 },
  )
  expect([...seen].toSorted()).toEqual(codes)
})

interface Args {
  agents: { name: string }[]
  aggregator?: { name: string }
  flow: string
  edges: [string, string][]
  output_agent: string
}

function expectOffender(args: Args, { code, path, message }: WorkflowError): void {
  const members = args.agents.map((agent) => agent.name)
  const tokens = (args.flow ?? '').split(/->|,/).map((token) => token.trim())
  const named = [...message.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1] ?? '')
  switch (code) {
    case 'duplicate_agent':
      expect(members).toContain(args.aggregator?.name)
      return expect(named).toContain(args.aggregator?.name)
    case 'agent_not_in_flow': {
      const missing = members[Number(path.split('.')[1])]
      expect(tokens).not.toContain(missing)
      return expect(named).toContain(missing)
    }
    case 'empty_flow':
      return expect(args.flow.trim()).toBe('')
    case 'empty_segment':
      expect(tokens).toContain('')
      return expect(message).toMatch(/^Step \d+ of \d+/)
    case 'repeated_agent':
      return expect(tokens.filter((token) => token === named[1]).length).toBeGreaterThan(1)
    case 'unknown_agent':
      expect(members).not.toContain(named[1])
      return expect(tokens).toContain(named[1])
    case 'cycle': {
      const cycle = named
      expect(cycle.at(-1)).toBe(cycle[0])
      return cycle.slice(1).forEach((to, index) => expect(args.edges).toContainEqual([cycle[index], to]))
    }
    case 'edges_required':
      expect(args.edges).toEqual([])
      return expect(named).toEqual(expect.arrayContaining(members))
    case 'island': {
      const connected = new Set([args.output_agent])
      for (const _ of members) for (const edge of args.edges) if (edge.some((end) => connected.has(end))) for (const end of edge) connected.add(end)
      return expect(named.filter((each) => members.includes(each) && each !== args.output_agent)).toEqual(members.filter((each) => !connected.has(each)))
    }
    case 'unknown_node':
      expect(members).not.toContain('ghost')
      expect(args.edges[Number(path.split('.')[1])]?.[Number(path.split('.')[2])]).toBe('ghost')
      return expect(named).toContain('ghost')
    case 'unknown_output_agent':
      return expect(named).toContain('nobody')
    case 'unreachable_output_agent':
      expect(args.edges.filter(([, to]) => to === args.output_agent)).toEqual([])
      expect(args.edges.filter(([from]) => from === args.output_agent)).not.toEqual([])
      return expect(named).toContain(args.output_agent)
    default:
      expect.fail(`unexpected ${code}: ${message}`)
  }
}

const turned = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(turned)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .map(([key, member]) => [key, turned(member)])
            .toReversed(),
        )
      : value

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFrozen)
  return value
}
