// AgentRearrange: steps written as a flow text. Consecutive steps are fully connected (WT-57, D-32), and an
// agent appears once, so there is no cycle and every agent leads to the last step, whose agents are the
// outputs.
import type { Edge } from '@beaver/core/graph'
import { z } from 'zod'
import { agentsFault, agentsField, placed, taskField } from '../agent-spec.ts'
import { renamedAdvice } from '../arguments/field-names.ts'
import { isRecord, nearJson } from '../arguments/json-text.ts'
import { copiedCharsMax, didYouMean, quote, quoteAll } from '../arguments/wording.ts'
import { type Refusal, refuse } from '../workflow-error.ts'
import { workflowOf } from '../workflow.ts'
import { arrows, commas, wrappers } from './separators.ts'
import { edgeLimitFault, teamGraph, teamTopology } from './team-graph.ts'

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
    const problem =
      flow === undefined ? '"flow" is missing.' : `"flow" is ${quote(flow)}, but must be one text.`
    const steps = names.length > 1 ? names.join(' -> ') : 'collector -> tactics, players -> synthesizer'
    return refuse(
      'invalid_arguments',
      'flow',
      `${problem} ${renamedAdvice('flow', args, ['task', 'agents', 'flow']) || `Write the steps, for example ${quote(steps, copiedCharsMax)}.`}`,
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

// The flow text of AgentRearrange: `collector -> tactics, players -> synthesizer` (WT-51, D-32). `->`
// separates steps, `,` the agents of a step. Names are trimmed and compared exactly. Other arrows, commas,
// quotes and brackets cannot be part of a name; they are refused, with the corrected flow.

/** The steps of a flow over the agents in `names`, each step in written order. */
function parseFlow(
  flow: string,
  names: readonly string[],
): { readonly ok: true; readonly steps: readonly (readonly string[])[] } | Refusal {
  if (flow.trim() === '')
    return refuse(
      'empty_flow',
      'flow',
      `"flow" is empty. Write the steps, for example ${quote(names.join(' -> '))}.`,
    )
  const steps = stepsIn(flow)
  const fault = stepsFault(flow, steps, names)
  if (fault === null) return { ok: true, steps }
  return markFault(flow, names) ?? fault
}

const stepsIn = (flow: string): string[][] =>
  flow.split('->').map((step) => step.split(',').map((name) => name.trim()))

const stepsFault = (
  flow: string,
  steps: readonly (readonly string[])[],
  names: readonly string[],
): Refusal | null => emptyFault(steps) ?? agentFault(flow, steps.flat(), names)

function emptyFault(steps: readonly (readonly string[])[]): Refusal | null {
  for (const [index, step] of steps.entries()) {
    const empty = step.indexOf('')
    if (empty === -1) continue
    const place =
      step.length === 1
        ? `Step ${index + 1} of ${steps.length} is empty`
        : `Step ${index + 1} of ${steps.length} has an empty place ${empty === 0 ? 'at its beginning' : `after ${quote(step[empty - 1])}`}`
    return refuse(
      'empty_segment',
      'flow',
      `${place}. Name an agent on both sides of every "->" and ",", or remove the separator.`,
    )
  }
  return null
}

function agentFault(flow: string, written: readonly string[], names: readonly string[]): Refusal | null {
  const known = new Set(names)
  const unknown = written.find((name) => !known.has(name))
  if (unknown !== undefined) {
    const marks = wrongMarks(flow)
    if (marks !== '')
      return refuse(
        'invalid_arguments',
        'flow',
        `${onlyMarks}, but it holds ${marks} too. Write the steps again with the names ${quoteAll(names)}.`,
      )
    const advice = 'Use the exact name of an agent, or add an agent of that name.'
    return refuse(
      'unknown_agent',
      'flow',
      `"flow" names ${quote(unknown)}, but the agents are ${quoteAll(names)}.${didYouMean(unknown, names)} ${advice}`,
    )
  }
  const seen = new Set<string>()
  for (const name of written) {
    if (seen.has(name))
      return refuse(
        'repeated_agent',
        'flow',
        `"flow" names ${quote(name)} more than once. Each agent runs once: remove it from one place, or add a second agent with another name.`,
      )
    seen.add(name)
  }
  const missing = names.findIndex((name) => !seen.has(name))
  if (missing === -1) return null
  return refuse(
    'agent_not_in_flow',
    `agents.${missing}.name`,
    `The agent ${quote(names[missing])} does not appear in "flow". Name it in a step, or remove the agent.`,
  )
}

const onlyMarks = 'Only "->" separates the steps of "flow", and only "," the agents of a step'

/** The corrected flow, if other marks are all that is wrong with it. It is advised only if it is accepted. */
function markFault(flow: string, names: readonly string[]): Refusal | null {
  const marks = wrongMarks(flow)
  const corrected = tidy(rewritten(flow))
  if (marks === '' || stepsFault(corrected, stepsIn(corrected), names) !== null) return null
  return refuse(
    'invalid_arguments',
    'flow',
    `${onlyMarks}, but it holds ${marks} too: write ${quote(corrected, copiedCharsMax)}.`,
  )
}

/**
 * The flow with every mark that models use as a separator corrected, also the marks with spaces in them (`-
 * >`) and the doubled ones (`>>`).
 */
function rewritten(flow: string): string {
  return flow
    .replaceAll(brokenArrows, '->')
    .replaceAll(arrows, '->')
    .replaceAll(doubledArrows, '->')
    .replaceAll(commas, ',')
    .replaceAll(wrappers, '')
}

const brokenArrows = /[-=]{1,16}[ \t]{1,16}>/g
const doubledArrows = /->(?:[ \t]{0,16}->)+/g

const tidy = (flow: string): string =>
  flow
    .split('->')
    .map((step) =>
      step
        .split(',')
        .map((name) => name.trim())
        .join(', '),
    )
    .join(' -> ')

function wrongMarks(flow: string): string {
  const others = flow.replaceAll(brokenArrows, ' ').replaceAll(arrows, ' ')
  const broken = flow.match(brokenArrows) ?? []
  const rest = flow.replaceAll(brokenArrows, ' ')
  const marks = [
    ...broken,
    ...(rest.match(arrows) ?? []),
    ...(others.match(commas) ?? []),
    ...(others.match(wrappers) ?? []),
  ]
  return [...new Set(marks)].filter((mark) => mark !== '->').join(' ')
}
