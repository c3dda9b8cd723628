// MixtureOfAgents: independent experts, then one aggregator that depends on all of them (WT-41). The
// experts are in declared order, and the aggregator is last. The aggregator is none of the experts.
import type { Edge } from '@beaver/core/graph'
import { z } from 'zod'
import { agentsFault, agentsField, placed, taskField, workflowAgentSpec } from '../agent-spec.ts'
import { renamedAdvice } from '../arguments/field-names.ts'
import { isRecord } from '../arguments/json-text.ts'
import { edgeLimitFault, teamGraph, teamTopology } from './team-graph.ts'
import { workflowOf } from '../workflow.ts'
import { refuse } from '../workflow-error.ts'
import { example, quote } from '../arguments/wording.ts'

export const mixtureOfAgents = workflowOf({
  name: 'MixtureOfAgents',
  description:
    'Runs experts at the same time; an aggregator merges their outputs. Choose it for several views of one question. Not if facts must be found first.',
  input: z.strictObject({
    task: taskField,
    agents: agentsField('The experts, without the aggregator. None may need the output of another.'),
    aggregator: workflowAgentSpec
      .describe(
        'The agent that merges the outputs of all experts: {"name": "…", "instruction": "…"}. It must not be in agents too.',
      )
      .meta({ brief: '' }),
  }),
  shapeFault(args) {
    const { aggregator, agents } = args
    if (aggregator === undefined || aggregator === null) {
      const advice = renamedAdvice('aggregator', args, ['task', 'agents', 'aggregator'])
      const form = 'Add the agent that merges the outputs: "aggregator": {"name": "…", "instruction": "…"}.'
      return refuse('aggregator_required', 'aggregator', `"aggregator" is missing. ${advice || form}`)
    }
    const named: unknown = Array.isArray(agents)
      ? agents.find((agent: unknown) => isRecord(agent) && agent['name'] === aggregator)
      : undefined
    if (typeof aggregator !== 'string' || named === undefined) return null
    const problem = `"aggregator" is ${quote(aggregator)}, the name of an agent of "agents", but must be an agent of its own.`
    return refuse(
      'invalid_arguments',
      'aggregator',
      `${problem} Take it out of "agents" and write "aggregator": ${example(named) || '{"name": "…", "instruction": "…"}'}.`,
    )
  },
  build({ task, agents: experts, aggregator }, limits) {
    const fault =
      agentsFault([...placed(experts), { agent: aggregator, path: 'aggregator' }], limits) ??
      edgeLimitFault(experts.length, 'agents', limits)
    if (fault !== null) return fault
    const agents = [...experts, aggregator]
    const edges = experts.map((expert): Edge => [expert.name, aggregator.name])
    return teamGraph({ workflow: 'MixtureOfAgents', task, agents, topology: teamTopology(agents, edges) })
  },
})
