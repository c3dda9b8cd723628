// GraphWorkflow: the one tool that takes edges (WT-61, D-33), in any order; duplicates count once, and a
// self-loop is a cycle. Every agent is in the output agent's weakly connected component, unless
// `allow_disconnected` is set. If that component has other agents, at least one edge leads to the output
// agent: otherwise its answer would rest on no work. Other sinks are allowed and are in `outputs`. The output
// agent need not be a sink: its text is still the team's `final_output`, and what follows it runs too.
import { type Edge, findCycle, type Topology, weakComponents } from '@beaver/core/graph'
import { z } from 'zod'
import { agentsFault, agentsField, placed, taskField } from '../agent-spec.ts'
import { renamedAdvice } from '../arguments/field-names.ts'
import { isRecord, nearJson } from '../arguments/json-text.ts'
import { copiedCharsMax, didYouMean, quote, quoteAll } from '../arguments/wording.ts'
import { type Refusal, refuse } from '../workflow-error.ts'
import { workflowOf } from '../workflow.ts'
import { arrow, arrows } from './separators.ts'
import { edgeLimitFault, teamGraph, teamTopology } from './team-graph.ts'

// Reads the `edges` field of GraphWorkflow in the forms that models really produce, and advises the correct
// spelling. If all of the list can be read, the advice covers the whole list.

const fields = ['task', 'agents', 'edges', 'output_agent', 'allow_disconnected']

/** What is wrong with the shape of `edges`. Whether the names exist is checked later. */
function edgeListFault(args: Readonly<Record<string, unknown>>): Refusal | null {
  const { edges } = args
  const names = namesIn(args['agents'])
  if (edges === undefined || edges === null) {
    const advice = dependencyAdvice(args['agents']) || renamedAdvice('edges', args, fields)
    const pair = names.length > 1 ? [[names[0], names[1]]] : [['collector', 'writer']]
    return refuse(
      'edges_required',
      'edges',
      `"edges" is missing. ${advice || `Write an array of [from, to] pairs of agent names, for example ${quote(pair)}; for a single agent write [].`}`,
    )
  }
  if (!Array.isArray(edges)) {
    const inside =
      typeof edges === 'string' && nearJson(edges) !== null
        ? 'It is JSON text inside a string: write the array itself. '
        : ''
    return refuse(
      'edges_shape',
      'edges',
      `"edges" is ${quote(edges)}, but must be an array of [from, to] pairs. ${inside}${listAdvice(edges, names)}`,
    )
  }
  for (const [index, edge] of edges.entries()) {
    if (Array.isArray(edge) && edge.length === 2 && edge.every((end) => typeof end === 'string')) continue
    const problem = `Edge ${index} is ${quote(edge)}, but must be a [from, to] pair of agent names.`
    const chain = Array.isArray(edge) && edge.length > 2 ? ' Write one pair per edge.' : ''
    return refuse('edges_shape', `edges.${index}`, `${problem}${chain} ${listAdvice(edges, names)}`)
  }
  return null
}

type Pair = readonly [from: string, to: string]

function listAdvice(edges: unknown, names: readonly string[]): string {
  const pairs = pairsIn(edges, names)
  if (pairs !== null && pairs.length > 0) return `Write "edges": ${quote(pairs, copiedCharsMax)}.`
  return `Write "edges": [["<from>", "<to>"], …]${names.length === 0 ? '' : ` with the names of the agents: ${quoteAll(names)}`}.`
}

/** If agents have fields for what they wait for, the edges that follow from these. */
function dependencyAdvice(agents: unknown): string {
  if (!Array.isArray(agents)) return ''
  const pairs = agents.filter(isRecord).flatMap((agent) => {
    const from = agent['depends_on'] ?? agent['dependsOn'] ?? agent['dependencies']
    return [from]
      .flat()
      .flatMap((each): unknown[] => (each === undefined || each === null ? [] : [[each, agent['name']]]))
  })
  if (pairs.length === 0 || !pairs.flat().every((end) => typeof end === 'string')) return ''
  return `Which agent waits for which is said by edges, not by the agents: write "edges": ${quote(pairs, copiedCharsMax)}.`
}

const namesIn = (agents: unknown): string[] =>
  Array.isArray(agents)
    ? agents.flatMap((agent: unknown) =>
        isRecord(agent) && typeof agent['name'] === 'string' ? [agent['name']] : [],
      )
    : []

const endNames = [
  ['from', 'to'],
  ['source', 'target'],
  ['src', 'dst'],
  ['start', 'end'],
  ['parent', 'child'],
  ['before', 'after'],
] as const

/** A text in a list in an object in a list. Deeper values are never meant as edges. */
const depthMax = 4

/** The pairs that a list in a wrong form probably means. `null` if a part of it cannot be read. */
function pairsIn(value: unknown, names: readonly string[], depth = 0): readonly Pair[] | null {
  if (depth > depthMax) return null
  if (typeof value === 'string') {
    const near = nearJson(value)
    return near === null ? pairsInText(value) : pairsIn(near.value, names, depth + 1)
  }
  if (isRecord(value)) return pairsInRecord(value, names, depth)
  if (!Array.isArray(value)) return null
  const ends = value.map((end) => nameOf(end, names))
  // A list of names, none of which is an edge of its own, is one edge or a chain.
  if (value.length > 1 && ends.every((end) => end !== null && !arrow.test(end) && nearJson(end) === null))
    return chained(ends as string[])
  return all(
    value.map((each: unknown) =>
      typeof each === 'object' || typeof each === 'string' ? pairsIn(each, names, depth + 1) : null,
    ),
  )
}

function pairsInRecord(
  value: Readonly<Record<string, unknown>>,
  names: readonly string[],
  depth: number,
): readonly Pair[] | null {
  for (const [from, to] of endNames) {
    if (value[from] === undefined || value[to] === undefined) continue
    const [sources, targets] = [[value[from]].flat(), [value[to]].flat()].map((ends) =>
      ends.map((end) => nameOf(end, names)),
    )
    return all(
      (sources ?? []).flatMap((source) =>
        (targets ?? []).map((target) =>
          source === null || target === null ? null : [[source, target] as const],
        ),
      ),
    )
  }
  const entries = Object.entries(value)
  const [first] = entries
  if (entries.length === 1 && first !== undefined && Array.isArray(first[1]) && !names.includes(first[0]))
    return pairsIn(first[1], names, depth + 1)
  return all(
    entries.flatMap(([from, targets]) =>
      [targets].flat().map((to): Pair[] | null => {
        const name = nameOf(to, names)
        return name === null || (names.length > 0 && !names.includes(from)) ? null : [[from, name]]
      }),
    ),
  )
}

/** Reads `a -> b; b -> c`, with any arrow, as one pair in each line or as a chain. */
function pairsInText(text: string): readonly Pair[] | null {
  const parts = text
    .replaceAll(arrows, '->')
    .split(/[\n;；,，、]/u)
    .map((part) => part.trim())
    .filter((part) => part !== '')
  return all(
    parts.map((part) => {
      const ends = part.split('->').map((end) => end.trim())
      return ends.length > 1 && ends.every((end) => end !== '') ? chained(ends) : null
    }),
  )
}

const chained = (ends: readonly string[]): Pair[] => ends.slice(1).map((to, index) => [ends[index] ?? '', to])

/**
 * A name, even if it is a number. A number that is no name may be an index of any counting, so it is not
 * read.
 */
function nameOf(end: unknown, names: readonly string[]): string | null {
  if (typeof end === 'string') return end
  return typeof end === 'number' && names.includes(String(end)) ? String(end) : null
}

const all = (parts: readonly (readonly Pair[] | null)[]): readonly Pair[] | null =>
  parts.some((part) => part === null) ? null : (parts as readonly (readonly Pair[])[]).flat()

/** The workflow `GraphWorkflow`: agents and edges. */
export const graphWorkflow = workflowOf({
  name: 'GraphWorkflow',
  description:
    'Runs agents along edges. Choose it when agents need different outputs of others. Not when a simpler tool says it.',
  input: z.strictObject({
    task: taskField,
    agents: agentsField('The agents the edges connect.'),
    edges: z
      .array(z.array(z.string()).length(2))
      .describe(
        '[from, to] pairs of agent names: "to" needs the output of "from". No cycles. [] only for a single agent. Example: [["collector", "writer"]].',
      )
      .meta({ brief: '[from, to] names. No cycles.' }),
    output_agent: z
      .string()
      .describe('The name of the agent whose text is the result of the team.')
      .meta({ brief: '' }),
    allow_disconnected: z
      .boolean()
      .optional()
      .describe('true: agents may be unconnected with the output agent. Default false.')
      .meta({ brief: '' }),
  }),
  shapeFault: edgeListFault,
  build(
    { task, agents, edges, output_agent: output, allow_disconnected: allowDisconnected = false },
    limits,
  ) {
    const pairs = edges.map(([from = '', to = '']): Edge => [from, to])
    const names = agents.map((agent) => agent.name)
    const fault = agentsFault(placed(agents), limits) ?? namesFault(names, pairs, output)
    if (fault !== null) return fault
    const topology = teamTopology(agents, pairs)
    return (
      edgeLimitFault(topology.edgeCount, 'edges', limits) ??
      shapeFault(topology, output, allowDisconnected) ??
      teamGraph({ workflow: 'GraphWorkflow', task, agents, topology, output })
    )
  },
})

function namesFault(names: readonly string[], edges: readonly Edge[], output: string): Refusal | null {
  const known = new Set(names)
  const advice = (name: string): string =>
    `but the agents are ${quoteAll(names)}.${didYouMean(name, names)} Use the exact name of an agent`
  for (const [index, edge] of edges.entries()) {
    const end = edge.findIndex((name) => !known.has(name))
    const name = edge[end]
    if (name !== undefined)
      return refuse(
        'unknown_node',
        `edges.${index}.${end}`,
        `Edge ${index}, ${quote(edge)}, names ${quote(name)}, ${advice(name)}, or add an agent of that name.`,
      )
  }
  if (!known.has(output))
    return refuse(
      'unknown_output_agent',
      'output_agent',
      `"output_agent" is ${quote(output)}, ${advice(output)}.`,
    )
  if (edges.length === 0 && names.length > 1) {
    return refuse(
      'edges_required',
      'edges',
      `"edges" is empty, but there are ${names.length} agents: ${quoteAll(names)}. Connect them, or use ConcurrentWorkflow for independent work.`,
    )
  }
  return null
}

function shapeFault(topology: Topology, output: string, allowDisconnected: boolean): Refusal | null {
  const cycle = findCycle(topology)
  if (cycle !== null) {
    const [first = ''] = cycle
    const advice = cycle.length === 1 ? 'Remove this edge' : 'Remove one of these edges'
    return refuse(
      'cycle',
      'edges',
      `The edges form a cycle: ${[...cycle, first].map((name) => quote(name)).join(' -> ')}. ${advice}.`,
    )
  }
  const component = weakComponents(topology).find((nodes) => nodes.includes(output)) ?? []
  if (!allowDisconnected && component.length < topology.nodes.length) {
    const connected = new Set(component)
    const islands = topology.nodes.filter((node) => !connected.has(node))
    const path = `agents.${topology.nodes.indexOf(islands[0] ?? '')}.name`
    return refuse(
      'island',
      path,
      `Not connected with the output agent ${quote(output)}: ${quoteAll(islands)}. Add edges that connect them, remove them, or set "allow_disconnected" to true.`,
    )
  }
  if (component.length > 1 && topology.dependenciesOf.get(output)?.length === 0) {
    const after = topology.dependentsOf.get(output) ?? []
    return refuse(
      'unreachable_output_agent',
      'output_agent',
      `No edge leads to the output agent ${quote(output)}; it only leads to ${quoteAll(after)}. Edges are [from, to]: add an edge that ends at it, turn the edges round, or name the agent that comes last.`,
    )
  }
  return null
}
