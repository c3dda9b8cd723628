// The flow text of AgentRearrange: `collector -> tactics, players -> synthesizer`. It is structure, not
// natural language (S0 §6.6, D-32). `->` separates steps, `,` separates the agents of a step. Names are
// trimmed and then compared exactly. Every agent appears once. Other arrows, commas, quotes and brackets
// cannot be part of a name. They are refused, with the corrected flow.
import { arrows, commas, wrappers } from './separators.ts'
import { type Refusal, refuse } from '../workflow-error.ts'
import { copiedCharsMax, didYouMean, quote, quoteAll } from '../arguments/wording.ts'

/** The steps of a flow over the agents in `names`, each step in written order. */
export function parseFlow(
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
