// Calls of the five workflow tools for the properties: good ones, ones that may have a fault, and ones with
// one known fault.
import fc from 'fast-check'
import { agents } from '@beaver/testing'

const names = ['a', 'B', '收集者', 'data collector', 'v1.2', '__proto__', 'x-y', 'हिन्दी']
export const team = fc.shuffledSubarray(names, { minLength: 1 })

export interface Call {
  readonly task: string
  readonly agents: readonly { readonly name: string; readonly instruction: string }[]
  readonly aggregator?: { readonly name: string; readonly instruction: string }
  readonly flow?: string
  readonly edges?: readonly (readonly [from: string, to: string])[]
  readonly output_agent?: string
  readonly allow_disconnected?: boolean
}

export type Tool =
  | 'SequentialWorkflow'
  | 'ConcurrentWorkflow'
  | 'MixtureOfAgents'
  | 'AgentRearrange'
  | 'GraphWorkflow'
export const tools: readonly Tool[] = [
  'SequentialWorkflow',
  'ConcurrentWorkflow',
  'MixtureOfAgents',
  'AgentRearrange',
  'GraphWorkflow',
]

const task = fc.constant('x')
const plain = team.chain((members) => fc.record({ task, agents: fc.constant(agents(...members)) }))
const withAggregator = (name: fc.Arbitrary<string>): fc.Arbitrary<Call> =>
  fc.record({
    task,
    agents: team.map((members) => agents(...members)),
    aggregator: name.map((each) => ({ name: each, instruction: 'Merge.' })),
  })

/** Calls that are accepted, all of them. */
export const goodCalls: Readonly<Record<Tool, fc.Arbitrary<Call>>> = {
  SequentialWorkflow: plain,
  ConcurrentWorkflow: plain,
  MixtureOfAgents: withAggregator(fc.constant('merger')),
  AgentRearrange: team.chain((members) =>
    fc.record({ task, agents: fc.constant(agents(...members)), flow: goodFlow(members) }),
  ),
  GraphWorkflow: team.chain(goodGraph),
}

/** Calls over a team of distinct names that may have one of the faults of their workflow. */
export const calls: Readonly<Record<Tool, fc.Arbitrary<Call>>> = {
  ...goodCalls,
  MixtureOfAgents: withAggregator(fc.constantFrom('a', 'merger')),
  AgentRearrange: team.chain((members) =>
    fc.record({
      task,
      agents: fc.constant(agents(...members)),
      flow: fc.oneof({ weight: 3, arbitrary: goodFlow(members) }, { weight: 2, arbitrary: anyFlow(members) }),
    }),
  ),
  GraphWorkflow: team.chain((members) =>
    fc.oneof({ weight: 3, arbitrary: forwardEdges(members) }, { weight: 2, arbitrary: anyEdges(members) }),
  ),
}

function goodFlow(members: readonly string[]): fc.Arbitrary<string> {
  const separators = fc.array(fc.constantFrom(',', '->', ' , ', ' -> '), {
    minLength: members.length,
    maxLength: members.length,
  })
  return fc
    .tuple(fc.shuffledSubarray([...members], { minLength: members.length }), separators)
    .map(([order, between]) =>
      order.map((name, index) => (index === 0 ? '' : between[index]) + name).join(''),
    )
}

function anyFlow(members: readonly string[]): fc.Arbitrary<string> {
  const loose = fc
    .array(fc.constantFrom(...members, 'ghost', ',', '->', ' '), { maxLength: 12 })
    .map((tokens) => tokens.join(''))
  const repeated = fc
    .array(fc.constantFrom(...members), { minLength: 1, maxLength: 6 })
    .map((order) => order.join(' -> '))
  return fc.oneof(loose, repeated)
}

/** A tree that hangs together, with more forward edges; the output is an agent some edge leads to. */
function goodGraph(members: readonly string[]): fc.Arbitrary<Call> {
  const tree = fc.tuple(
    ...members.slice(1).map((to, index) => fc.nat(index).map((from) => [members[from] ?? '', to] as const)),
  )
  const more = fc.shuffledSubarray(
    members.flatMap((from, index) => members.slice(index + 1).map((to) => [from, to] as const)),
  )
  return fc
    .tuple(
      tree,
      more,
      fc.constantFrom(...(members.length === 1 ? members : members.slice(1))),
      fc.boolean(),
      fc.shuffledSubarray([...members], { minLength: members.length }),
    )
    .map(([needed, others, output_agent, allow_disconnected, declared]) => ({
      task: 'x',
      agents: agents(...declared),
      edges: [...others, ...needed],
      output_agent,
      allow_disconnected,
    }))
}

export function forwardEdges(members: readonly string[]): fc.Arbitrary<Call> {
  const pairs = members.flatMap((from, index) => members.slice(index + 1).map((to) => [from, to] as const))
  return fc.record({
    task,
    agents: fc.constant(agents(...members)),
    edges: fc.shuffledSubarray(pairs),
    output_agent: fc.constantFrom(...members),
    allow_disconnected: fc.boolean(),
  })
}

function anyEdges(members: readonly string[]): fc.Arbitrary<Call> {
  const end = fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom(...members) },
    { weight: 1, arbitrary: fc.constant('ghost') },
  )
  const output = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...members) },
    { weight: 1, arbitrary: fc.constant('nobody') },
  )
  return fc.record({
    task,
    agents: fc.constant(agents(...members)),
    edges: fc.array(fc.tuple(end, end), { maxLength: 8 }),
    output_agent: output,
    allow_disconnected: fc.boolean(),
  })
}

/**
 * A good call with one fault put into it: the code it must be refused with, and what the message must name.
 */
export interface Faulty {
  readonly args: object
  readonly code: string
  readonly path: string
  readonly named: string
}

type Fault = (call: Call, at: number) => Faulty

const faults: readonly Fault[] = [
  (call) => ({ args: { ...call, agents: [] }, code: 'agents_empty', path: 'agents', named: '"agents"' }),
  (call, at) => ({
    args: { ...call, [`extra ${at}`]: at },
    code: 'invalid_arguments',
    path: `extra ${at}`,
    named: `"extra ${at}"`,
  }),
  (call, at) =>
    agentFault(
      call,
      at,
      { surplus: at },
      { code: 'invalid_arguments', path: 'surplus', named: `agents.${at}.surplus` },
    ),
  (call, at) =>
    agentFault(
      call,
      at,
      { instruction: undefined },
      { code: 'invalid_arguments', path: 'instruction', named: `agents.${at}.instruction` },
    ),
  (call, at) =>
    agentFault(
      call,
      at,
      { instruction: ' ' },
      { code: 'invalid_arguments', path: 'instruction', named: `agents.${at}.instruction` },
    ),
  (call, at) => agentFault(call, at, { name: 17 }, { code: 'invalid_arguments', path: 'name', named: '17' }),
  (call, at) =>
    agentFault(
      call,
      at,
      { name: `bad/${at}` },
      { code: 'invalid_agent_name', path: 'name', named: `"bad/${at}"` },
    ),
  (call, at) =>
    agentFault(
      call,
      at,
      { use_skill: ['s'] },
      { code: 'invalid_arguments', path: 'use_skill', named: '["s"]' },
    ),
  (call, at) => {
    const twin = call.agents[at] ?? { name: '', instruction: '' }
    const path = `agents.${call.agents.length}.name`
    return {
      args: { ...call, agents: [...call.agents, twin] },
      code: 'duplicate_agent',
      path,
      named: JSON.stringify(twin.name),
    }
  },
  (call) => ({ args: { ...call, task: '' }, code: 'invalid_arguments', path: 'task', named: '"task"' }),
  (call) => {
    const many = Array.from({ length: 513 }, (_, index) => `n${index}`)
    const count = many.length + (call.aggregator === undefined ? 0 : 1)
    return {
      args: { ...call, agents: agents(...many) },
      code: 'too_many_agents',
      path: 'agents',
      named: `${count} agents`,
    }
  },
]

function agentFault(
  call: Call,
  at: number,
  fields: object,
  { code, path, named }: { code: string; path: string; named: string },
): Faulty {
  const changed = call.agents.map((agent, index) => (index === at ? { ...agent, ...fields } : agent))
  return { args: { ...call, agents: changed }, code, path: `agents.${at}.${path}`, named }
}

/** Faults of the fields that one workflow has. */
const ownFaults: Readonly<Record<Tool, readonly Fault[]>> = {
  SequentialWorkflow: [],
  ConcurrentWorkflow: [],
  MixtureOfAgents: [
    (call) => ({
      args: { ...call, aggregator: undefined },
      code: 'aggregator_required',
      path: 'aggregator',
      named: '"aggregator"',
    }),
    (call) => ({
      args: { ...call, aggregator: 'merger' },
      code: 'invalid_arguments',
      path: 'aggregator',
      named: '"merger"',
    }),
  ],
  AgentRearrange: [
    (call) => ({
      args: { ...call, flow: `${call.flow} → ghost` },
      code: 'invalid_arguments',
      path: 'flow',
      named: '→',
    }),
    (call) => ({
      args: { ...call, flow: `ghost，${call.flow}` },
      code: 'invalid_arguments',
      path: 'flow',
      named: '，',
    }),
  ],
  GraphWorkflow: [
    (call) => ({
      args: { ...call, edges: undefined },
      code: 'edges_required',
      path: 'edges',
      named: '"edges"',
    }),
    (call) => ({
      args: { ...call, edges: { a: 'b' } },
      code: 'edges_shape',
      path: 'edges',
      named: '{"a":"b"}',
    }),
    (call) => ({
      args: { ...call, edges: [...(call.edges ?? []), 'a > b'] },
      code: 'edges_shape',
      path: `edges.${call.edges?.length ?? 0}`,
      named: '"a > b"',
    }),
  ],
}

/** Good calls of a tool, each with one of the faults that every workflow refuses, or of its own. */
export const faultyCalls = (tool: Tool): fc.Arbitrary<Faulty> =>
  goodCalls[tool].chain((call) =>
    fc
      .tuple(fc.constantFrom(...faults, ...ownFaults[tool]), fc.nat(call.agents.length - 1))
      .map(([fault, at]) => fault(call, at)),
  )
