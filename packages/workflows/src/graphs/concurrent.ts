// ConcurrentWorkflow: independent nodes without dependencies (S0 §6.4). Every agent is an output of the team.
import { z } from 'zod'
import { agentsFault, agentsField, placed, taskField } from '../agent-spec.ts'
import { teamGraph, teamTopology } from './team-graph.ts'
import { workflowOf } from '../workflow.ts'

export const concurrentWorkflow = workflowOf({
  name: 'ConcurrentWorkflow',
  description:
    'Runs agents at the same time; none sees what another does, and the result holds the output of each. Choose it only for truly independent work: ' +
    'the same topic from several sources that do not need each other. Not for "search for facts first, then analyse from the facts", ' +
    'and not when one text must come out: use GraphWorkflow or MixtureOfAgents.',
  input: z.strictObject({
    task: taskField,
    agents: agentsField('The agents. None may need the output of another.'),
  }),
  build({ task, agents }, limits) {
    return agentsFault(placed(agents), limits) ?? teamGraph({ workflow: 'ConcurrentWorkflow', task, agents, topology: teamTopology(agents, []) })
  },
})
