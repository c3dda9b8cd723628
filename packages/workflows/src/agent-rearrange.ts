// AgentRearrange: steps written as a flow text; consecutive steps are fully connected (S0 §6.6, D-32).
// R1. The graph has no cycle and no agent that does not lead to the last step: a flow cannot say either, because each agent
//     appears in it once and each step feeds the next. R2. The outputs are the agents of the last step, in declared order.
import type { Edge } from '@beaver/core'
import { z } from 'zod'
import { agentsFault, agentsField, placed, taskField } from './agent-spec.ts'
import { parseFlow } from './flow.ts'
import { parsedJson } from './spelling.ts'
import { edgeLimitFault, teamGraph, teamTopology } from './team-graph.ts'
import { defineWorkflow } from './workflow.ts'
import { refuse } from './workflow-error.ts'
import { copiedCharsMax, quote } from './wording.ts'

export const agentRearrange = defineWorkflow({
  name: 'AgentRearrange',
  description:
    'Runs agents in steps written as a flow text; the agents of a step run at the same time, and each gets the outputs of all agents of the step before. ' +
    'Choose it for "collect, then several analyses, then one summary". Not when an agent needs only some of the step before: use GraphWorkflow. ' +
    'For a plain chain use SequentialWorkflow.',
  input: z.strictObject({
    task: taskField,
    agents: agentsField('The agents the flow names, each exactly once.'),
    flow: z
      .string()
      .describe(
        'The steps: "->" between steps, "," between the agents of a step, for example "collector -> tactics, players -> synthesizer". Agent names only.',
      ),
  }),
  shapeFault({ flow }) {
    const list = typeof flow === 'string' ? parsedJson(flow) : flow
    if (!Array.isArray(list)) return null
    const steps = list.map((step: unknown) =>
      [step]
        .flat()
        .filter((name) => typeof name === 'string')
        .join(', '),
    )
    return refuse('invalid_arguments', 'flow', `"flow" is a JSON array, but must be one text. Write ${quote(steps.join(' -> '), copiedCharsMax)}.`)
  },
  build({ task, agents, flow }, limits) {
    const fault = agentsFault(placed(agents), limits)
    if (fault !== null) return fault
    const names = agents.map((agent) => agent.name)
    const parsed = parseFlow(flow, names)
    if (!parsed.ok) return parsed
    const joints = parsed.steps.slice(1).map((step, index) => ({ from: parsed.steps[index] ?? [], to: step }))
    const edgeCount = joints.reduce((sum, { from, to }) => sum + from.length * to.length, 0)
    const edges = (): Edge[] => joints.flatMap(({ from, to }) => from.flatMap((source) => to.map((target): Edge => [source, target])))
    return edgeLimitFault(edgeCount, 'flow', limits) ?? teamGraph({ workflow: 'AgentRearrange', task, agents, topology: teamTopology(agents, edges()) })
  },
})
