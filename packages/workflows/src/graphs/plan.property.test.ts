// What holds for every call of every workflow, checked against oracles that share no code with the builders.
import { canonicalJson } from '@beaver/core'
import type { ExecutionGraph } from '@beaver/core/graph'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Call, calls, forwardEdges, goodCalls, team, type Tool, tools } from '../../test/calls.ts'
import { dependencies, graphOf } from '@beaver/testing'
import { findWorkflow, graphWorkflow, type Workflow } from '../index.ts'

const runs = { numRuns: 100 }
const lists = {
  allowed_tool_names: ['web_search'],
  required_evidence: [{ kind: 'tool_succeeded', tool: 'web_search' }],
}

/** Kahn: how many nodes can be completed one after the other. */
function completable(graph: ExecutionGraph): number {
  const done = new Set<string>()
  for (let before = -1; before < done.size;) {
    before = done.size
    for (const node of graph.nodes) if (node.depends_on.every((id) => done.has(id))) done.add(node.node_id)
  }
  return done.size
}

/** What hangs together with `start`, in whatever direction. */
function connected(graph: ExecutionGraph, start: string): Set<string> {
  const reached = new Set([start])
  for (let before = 0; before < reached.size;) {
    before = reached.size
    for (const { node_id, depends_on } of graph.nodes)
      if ([node_id, ...depends_on].some((id) => reached.has(id)))
        for (const id of [node_id, ...depends_on]) reached.add(id)
  }
  return reached
}

/** What each workflow promises of its edges, as `depends_on` by node. */
const promised: Readonly<Record<Tool, (call: Call) => [string, string[]][]>> = {
  SequentialWorkflow: ({ agents }) =>
    agents.map(({ name }, index) => [name, index === 0 ? [] : [agents[index - 1]?.name ?? '']]),
  ConcurrentWorkflow: ({ agents }) => agents.map(({ name }) => [name, []]),
  MixtureOfAgents: ({ agents, aggregator }) => [
    ...agents.map(({ name }): [string, string[]] => [name, []]),
    [aggregator?.name ?? '', agents.map(({ name }) => name)],
  ],
  AgentRearrange: ({ agents, flow = '' }) => {
    const steps = flow.split('->').map((step) => step.split(',').map((name) => name.trim()))
    const before = (name: string): string[] => steps[steps.findIndex((step) => step.includes(name)) - 1] ?? []
    return agents.map(({ name }) => [
      name,
      agents.map((agent) => agent.name).filter((each) => before(name).includes(each)),
    ])
  },
  GraphWorkflow: ({ agents, edges = [] }) =>
    agents.map(({ name }) => [
      name,
      agents
        .map((agent) => agent.name)
        .filter((from) => edges.some((edge) => edge[0] === from && edge[1] === name)),
    ]),
}

describe.each(tools.map((name) => [name, findWorkflow(name) as Workflow] as const))(
  '%s',
  (name, workflow) => {
    it('accepts every good call, with exactly the edges it promises', () => {
      fc.assert(
        fc.property(goodCalls[name], (call) => {
          expect(dependencies(graphOf(workflow.plan(call)))).toEqual(promised[name](call))
        }),
        runs,
      )
    })

    it('accepts only acyclic graphs whose dependencies exist and stand in declared order, and whose outputs are the sinks', () => {
      let accepted = 0
      fc.assert(
        fc.property(calls[name], (args) => {
          const result = workflow.plan(args)
          if (!result.ok) return
          accepted++
          const { nodes, outputs, output } = result.graph
          const ids = nodes.map((node) => node.node_id)
          expect(new Set(ids).size).toBe(ids.length)
          expect(completable(result.graph)).toBe(nodes.length)
          for (const { depends_on: needed } of nodes)
            expect(needed).toEqual(ids.filter((id) => needed.includes(id)))
          expect(outputs).toEqual(ids.filter((id) => nodes.every((node) => !node.depends_on.includes(id))))
          expect(output === null ? outputs.length > 1 : ids.includes(output)).toBe(true)
        }),
        runs,
      )
      expect(accepted).toBeGreaterThan(25)
    })

    it('accepts only what hangs together with its output, and an output that rests on the work of others', () => {
      fc.assert(
        fc.property(calls[name], (args) => {
          const result = workflow.plan(args)
          if (!result.ok || name === 'ConcurrentWorkflow') return
          const { nodes, outputs, output } = result.graph
          const end = output ?? outputs[0] ?? ''
          const team = connected(result.graph, end)
          if (args.allow_disconnected !== true) {
            if (name === 'AgentRearrange' && !args.flow?.includes('->')) expect(team.size).toBe(1)
            else expect(team.size).toBe(nodes.length)
          }
          if (team.size > 1) expect(nodes.find((node) => node.node_id === end)?.depends_on).not.toEqual([])
        }),
        runs,
      )
    })

    it('builds the same graph twice, whatever the order of the keys: equal, and equal byte for byte', () => {
      fc.assert(
        fc.property(calls[name], (args) => {
          const [once, again] = [workflow.plan(args), workflow.plan(turned(args))]
          expect(again).toEqual(once)
          expect(canonicalJson(again)).toBe(canonicalJson(once))
          expect(JSON.stringify(workflow.plan(structuredClone(args)))).toBe(JSON.stringify(once))
        }),
        runs,
      )
    })

    it('leaves its arguments as they were, and shares nothing of them', () => {
      fc.assert(
        fc.property(calls[name], (call) => {
          const args = { ...call, agents: call.agents.map((agent) => ({ ...agent, ...lists })) }
          const before = structuredClone(args)
          const result = workflow.plan(deepFrozen(args))
          expect(args).toEqual(before)
          if (result.ok) expect(sharedObjects(result.graph, new Set(objectsIn(args)))).toEqual([])
        }),
        runs,
      )
    })

    it('never throws, whatever JSON it is called with', () => {
      fc.assert(
        fc.property(
          calls[name],
          fc.jsonValue(),
          fc.constantFrom(
            'task',
            'agents',
            'agents.0',
            'agents.0.name',
            'flow',
            'edges',
            'edges.0',
            'aggregator',
            'output_agent',
            'more',
          ),
          (args, odd, path) => {
            const [key = '', ...rest] = path.split('.')
            expect(workflow.plan(odd)).toHaveProperty('ok', false)
            const member =
              rest.length === 0 ? odd : [rest.length === 1 ? odd : { name: odd, instruction: 'x' }]
            for (const value of [
              member,
              { toString: odd, valueOf: odd },
              [[{ toString: odd, valueOf: odd }]],
              JSON.stringify(odd),
              [JSON.stringify(odd)],
            ]) {
              const result = workflow.plan({ ...args, [key]: value })
              if (!result.ok) expect(result.error.message).toMatch(/\S/)
            }
          },
        ),
        runs,
      )
    })
  },
)

it('GraphWorkflow answers the same for every order of the edges, and for repeated ones', () => {
  const call = team.chain(forwardEdges).chain((args) => {
    const edges = args.edges ?? []
    return fc.record({
      args: fc.constant(args),
      shuffled: fc.shuffledSubarray([...edges, ...edges], { minLength: edges.length * 2 }),
    })
  })
  fc.assert(
    fc.property(call, ({ args, shuffled }) => {
      const [once, again] = [graphWorkflow.plan(args), graphWorkflow.plan({ ...args, edges: shuffled })]
      expect(again).toEqual(once)
      expect(JSON.stringify(again)).toBe(JSON.stringify(once))
    }),
    runs,
  )
})

it('AgentRearrange builds the same graph for every order of the agents of a step', () => {
  const workflow = findWorkflow('AgentRearrange') as Workflow
  const call = goodCalls.AgentRearrange.chain((args) => {
    const steps = (args.flow ?? '').split('->').map((step) => step.split(','))
    return fc
      .tuple(...steps.map((step) => fc.shuffledSubarray(step, { minLength: step.length })))
      .map((turnedSteps) => ({
        args,
        flow: turnedSteps.map((step) => step.join(',')).join('->'),
      }))
  })
  fc.assert(
    fc.property(call, ({ args, flow }) => {
      expect(JSON.stringify(workflow.plan({ ...args, flow }))).toBe(JSON.stringify(workflow.plan(args)))
    }),
    runs,
  )
})

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

const objectsIn = (value: unknown): object[] =>
  typeof value === 'object' && value !== null ? [value, ...Object.values(value).flatMap(objectsIn)] : []
const sharedObjects = (value: unknown, of: ReadonlySet<object>): object[] =>
  objectsIn(value).filter((each) => of.has(each))
