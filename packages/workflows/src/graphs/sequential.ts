// SequentialWorkflow: a chain. Each agent gets the output of the one before it (S0 §6.3).
import type { Edge } from '@beaver/core'
import { z } from 'zod'
import { agentsFault, agentsField, placed, taskField } from '../agent-spec.ts'
import { edgeLimitFault, teamGraph, teamTopology } from './team-graph.ts'
import { workflowOf } from '../workflow.ts'

/** The workflow `SequentialWorkflow`: a chain of agents. */
export const sequentialWorkflow = workflowOf({
  name: 'SequentialWorkflow',
  description:
    'Runs agents one after the other; each gets the output of the agent before it. Choose it when every step needs the step before: ' +
    'collect, then extract, then check, then write. Not for steps that could run at the same time: use ConcurrentWorkflow, MixtureOfAgents or GraphWorkflow.',
  input: z.strictObject({
    task: taskField,
    agents: agentsField('The agents in the order in which they run. The last one writes the result of the team.'),
  }),
  build({ task, agents }, limits) {
    const edges = agents.slice(1).map((agent, index): Edge => [agents[index]?.name ?? '', agent.name])
    const fault = agentsFault(placed(agents), limits) ?? edgeLimitFault(edges.length, 'agents', limits)
    return fault ?? teamGraph({ workflow: 'SequentialWorkflow', task, agents, topology: teamTopology(agents, edges) })
  },
})
