// Every refusal is right and names the offending item, checked against oracles that share no code with the
// checks.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Call, calls, faultyCalls, tools } from '../../test/calls.ts'
import { errorOf } from '@beaver/testing'
import { findWorkflow, type Workflow, type WorkflowError } from '../index.ts'

const runs = { numRuns: 300 }
const faultsOfAll = [
  'agents_empty',
  'duplicate_agent',
  'invalid_agent_name',
  'invalid_arguments',
  'too_many_agents',
]
const faultsOf: Readonly<Record<string, readonly string[]>> = {
  MixtureOfAgents: ['aggregator_required'],
  GraphWorkflow: ['edges_required', 'edges_shape'],
}

describe.each(tools.map((name) => [name, findWorkflow(name) as Workflow] as const))(
  '%s',
  (name, workflow) => {
    it('refuses a good call into which one fault was put, with its code and its place, and names what is wrong', () => {
      const seen = new Set<string>()
      fc.assert(
        fc.property(faultyCalls(name), ({ args, code, path, named }) => {
          const error = errorOf(workflow.plan(args))
          seen.add(error.code)
          expect({ ...error, message: '' }).toEqual({ code, path, message: '' })
          expect(error.message).toContain(named)
        }),
        runs,
      )
      expect([...seen].toSorted()).toEqual([...faultsOfAll, ...(faultsOf[name] ?? [])].toSorted())
    })
  },
)

it.each([
  ['MixtureOfAgents', ['duplicate_agent']],
  ['AgentRearrange', ['agent_not_in_flow', 'empty_flow', 'empty_segment', 'repeated_agent', 'unknown_agent']],
  [
    'GraphWorkflow',
    ['cycle', 'edges_required', 'island', 'unknown_node', 'unknown_output_agent', 'unreachable_output_agent'],
  ],
] as const)(
  '%s: every refusal of its structure is right and names the offending item (%j)',
  (name, codes) => {
    const workflow = findWorkflow(name) as Workflow
    const seen = new Set<string>()
    fc.assert(
      fc.property(calls[name], (args) => {
        const result = workflow.plan(args)
        if (result.ok) return
        seen.add(result.error.code)
        expectOffender(args, result.error)
      }),
      { ...runs, numRuns: 1_000 },
    )
    expect([...seen].toSorted()).toEqual(codes)
  },
)

function expectOffender(
  { agents, aggregator, flow = '', edges = [], output_agent: output = '' }: Call,
  { code, path, message }: WorkflowError,
): void {
  const members = agents.map((agent) => agent.name)
  const tokens = flow.split(/->|,/).map((token) => token.trim())
  const named = [...message.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1] ?? '')
  switch (code) {
    case 'duplicate_agent':
      expect(members).toContain(aggregator?.name)
      return expect(named).toContain(aggregator?.name)
    case 'agent_not_in_flow': {
      const missing = members[Number(path.split('.')[1])]
      expect(tokens).not.toContain(missing)
      return expect(named).toContain(missing)
    }
    case 'empty_flow':
      return expect(flow.trim()).toBe('')
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
      return cycle.slice(1).forEach((to, index) => expect(edges).toContainEqual([cycle[index], to]))
    }
    case 'edges_required':
      expect(edges).toEqual([])
      return expect(named).toEqual(expect.arrayContaining(members))
    case 'island': {
      const connected = new Set([output])
      for (const _ of members)
        for (const edge of edges)
          if (edge.some((end) => connected.has(end))) for (const end of edge) connected.add(end)
      return expect(named.filter((each) => members.includes(each) && each !== output)).toEqual(
        members.filter((each) => !connected.has(each)),
      )
    }
    case 'unknown_node':
      expect(members).not.toContain('ghost')
      expect(edges[Number(path.split('.')[1])]?.[Number(path.split('.')[2])]).toBe('ghost')
      return expect(named).toContain('ghost')
    case 'unknown_output_agent':
      expect(output).toBe('nobody')
      return expect(named).toContain('nobody')
    case 'unreachable_output_agent':
      expect(edges.filter(([, to]) => to === output)).toEqual([])
      expect(edges.filter(([from]) => from === output)).not.toEqual([])
      return expect(named).toContain(output)
    default:
      expect.fail(`unexpected ${code}: ${message}`)
  }
}
