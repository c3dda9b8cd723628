// ConcurrentWorkflow: independent nodes without dependencies (WT-31). Every agent is an output of the team.
import { z } from 'zod'
import { agentsFault, agentsField, placed, taskField } from '../agent-spec.ts'
import { teamGraph, teamTopology } from './team-graph.ts'
import { workflowOf } from '../workflow.ts'

export const concurrentWorkflow = workflowOf({
  name: 'ConcurrentWorkflow',
  description:
    'Runs agents apart. Choose it only for truly independent work. Not for "search for facts first, then analyse from the facts": use GraphWorkflow or MixtureOfAgents.',
  input: z.strictObject({
    task: taskField,
    agents: agentsField('The agents. None may need the output of another.'),
  }),
  build({ task, agents }, limits) {
    return (
      agentsFault(placed(agents), limits) ??
      teamGraph({ workflow: 'ConcurrentWorkflow', task, agents, topology: teamTopology(agents, []) })
    )
  },
})
