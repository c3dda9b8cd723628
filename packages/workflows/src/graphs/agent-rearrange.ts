// AgentRearrange: steps written as a flow text. Consecutive steps are fully connected (S0 §6.6, D-32). The
// graph has no cycle, and every agent leads to the last step, because an agent appears once and each step
// feeds the next. The outputs are the agents of the last step, in declared order.
import type { Edge } from '@beaver/core'
import { z } from 'zod'
import { agentsFault, agentsField, placed, taskField } from '../agent-spec.ts'
import { parseFlow } from './flow.ts'
import { renamedAdvice } from '../arguments/field-names.ts'
import { isRecord, nearJson } from '../arguments/json-text.ts'
import { edgeLimitFault, teamGraph, teamTopology } from './team-graph.ts'
import { workflowOf } from '../workflow.ts'
import { refuse } from '../workflow-error.ts'
import { copiedCharsMax, quote } from '../arguments/wording.ts'

export const agentRearrange = workflowOf({
  name: 'AgentRearrange',
  description:
    'Runs agents in steps. Choose it for "collect, several analyses, one summary". Not if one needs part of a step.',
  input: z.strictObject({
    task: taskField,
    agents: agentsField('The agents the flow names, each exactly once.'),
    flow: z
      .string()
      .describe(
        'The steps: "->" between steps, "," between the agents of a step, for example "collector -> tactics, players -> synthesizer". Agent names only.',
      )
      .meta({ brief: 'Such as "collector -> tactics, players -> writer".' }),
  }),
  shapeFault(args) {
    const { flow, agents } = args
    const list = typeof flow === 'string' ? nearJson(flow)?.value : flow
    if (Array.isArray(list))
      return refuse(
        'invalid_arguments',
        'flow',
        `"flow" is a JSON array, but must be one text. ${flowAdvice(list)}`,
      )
    if (typeof flow === 'string') return null
    const names = Array.isArray(agents)
      ? agents.flatMap((agent: unknown) =>
          isRecord(agent) && typeof agent['name'] === 'string' ? [agent['name']] : [],
        )
      : []
    const said = flow === undefined ? '"flow" is missing.' : `"flow" is ${quote(flow)}, but must be one text.`
    const steps = names.length > 1 ? names.join(' -> ') : 'collector -> tactics, players -> synthesizer'
    return refuse(
      'invalid_arguments',
      'flow',
      `${said} ${renamedAdvice('flow', args, ['task', 'agents', 'flow']) || `Write the steps, for example ${quote(steps, copiedCharsMax)}.`}`,
    )
  },
  build({ task, agents, flow }, limits) {
    const fault = agentsFault(placed(agents), limits)
    if (fault !== null) return fault
    const names = agents.map((agent) => agent.name)
    const parsed = parseFlow(flow, names)
    if (!parsed.ok) return parsed
    const joints = parsed.steps.slice(1).map((step, index) => ({ from: parsed.steps[index] ?? [], to: step }))
    const edgeCount = joints.reduce((sum, { from, to }) => sum + from.length * to.length, 0)
    const edges = (): Edge[] =>
      joints.flatMap(({ from, to }) => from.flatMap((source) => to.map((target): Edge => [source, target])))
    return (
      edgeLimitFault(edgeCount, 'flow', limits) ??
      teamGraph({ workflow: 'AgentRearrange', task, agents, topology: teamTopology(agents, edges()) })
    )
  },
})

/**
 * The flow that an array probably means: one step for each item. If an agent is in several items, the array
 * is no list of steps.
 */
function flowAdvice(list: readonly unknown[]): string {
  const steps = list.map((step) =>
    (isRecord(step) ? Object.values(step) : [step])
      .flat()
      .filter((name): name is string => typeof name === 'string'),
  )
  const names = steps.flat()
  if (steps.some((step) => step.length === 0) || new Set(names).size < names.length)
    return 'Write the steps, "->" between them and "," within one: "a -> b, c -> d".'
  return `Write ${quote(steps.map((step) => step.join(', ')).join(' -> '), copiedCharsMax)}.`
}
