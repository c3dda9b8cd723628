// GraphWorkflow: the one tool that takes edges (S0 §6.7, D-33). Duplicate edges count once, a self-loop is a
// cycle, and edges may have any order. More than one agent needs edges. Every agent is in the output agent's
// weakly connected component, unless `allow_disconnected` is set. Other components are islands. If the output
// agent's component has other agents, at least one edge leads to it. Otherwise its answer would rest on no
// work. An output agent alone in its component (one agent, or `allow_disconnected`) needs no edge. An agent
// need not lead to the output agent: other sinks are allowed and are in `outputs`. The output agent need not
// be a sink: its text is still the team's `final_output`, and what follows it runs too.
import { type Edge, findCycle, type Topology, weakComponents } from '@beaver/core'
import { z } from 'zod'
import { agentsFault, agentsField, placed, taskField } from '../agent-spec.ts'
import { edgeListFault } from './edge-list.ts'
import { edgeLimitFault, teamGraph, teamTopology } from './team-graph.ts'
import { workflowOf } from '../workflow.ts'
import { type Refusal, refuse } from '../workflow-error.ts'
import { didYouMean, quote, quoteAll } from '../arguments/wording.ts'

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
