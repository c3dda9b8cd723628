// SequentialWorkflow: a chain. Each agent gets the output of the one before it (WT-21).
import type { Edge } from '@beaver/core/graph'
import { z } from 'zod'
import { agentsFault, agentsField, placed, taskField } from '../agent-spec.ts'
import { edgeLimitFault, teamGraph, teamTopology } from './team-graph.ts'
import { workflowOf } from '../workflow.ts'

/** The workflow `SequentialWorkflow`: a chain of agents. */
export const sequentialWorkflow = workflowOf({
  name: 'SequentialWorkflow',
  description:
    'Runs agents in a chain. Choose it when every step needs the one before. Not for independent steps.',
  input: z.strictObject({
    task: taskField,
    agents: agentsField(
      'The agents in the order in which they run. The last one writes the result of the team.',
      'In order; the last writes the result.',
    ),
  }),
  build({ task, agents }, limits) {
    const edges = agents.slice(1).map((agent, index): Edge => [agents[index]?.name ?? '', agent.name])
    const fault = agentsFault(placed(agents), limits) ?? edgeLimitFault(edges.length, 'agents', limits)
    return (
      fault ??
      teamGraph({ workflow: 'SequentialWorkflow', task, agents, topology: teamTopology(agents, edges) })
    )
  },
})
