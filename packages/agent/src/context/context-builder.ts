// Builds what a model reads: the system prompt and the first user message. Pure: the same inputs give the same text.
// X1. The conversation has this order: system prompt, activated skills, the session's visible history, this run's message (CB-02).
// X2. The system prompt contains no skill's body. Skills are messages of their own (SK-13).
// X4. What differs between runs of one profile comes last, so that their requests begin with the same text and a provider's cache works.
// X3. The system prompt contains the memory as it was when the run began (ME-03, ME-07).
import type { ChatMessage, ContextPart, EvidenceRequirement, MemorySnapshot, RunState } from '@beaver/core'
import type { Skill } from '../skills/skill.ts'
import { describeRequirement } from './describe-requirement.ts'

const base = `You are an agent in Beaver, a runtime for teams of agents.
Work only from what you were given and from what your tools return. Call tools to find facts; never invent a figure, a file or a source.
When you are done, answer with the result itself, in the language of the task.`

export interface SystemPromptParts {
  readonly agentName: string
  readonly sessionId: string
  readonly taskId: string
  readonly workspace: string
  readonly worker: boolean
  /** Whether the agent has workflow tools. Only a root has them. */
  readonly teams: boolean
  /** What the agent's own configuration says. Empty: nothing. */
  readonly own: string
  readonly memory: MemorySnapshot | { readonly unreadable: string }
  /** The skills with guidance that route the first turn of a root run, the primary skill first. */
  readonly routing: readonly Skill[]
}

export interface PromptSection {
  readonly part: ContextPart['part']
  /** Empty: the section is left out. */
  readonly text: string
}

export function systemPrompt(parts: SystemPromptParts): string {
  return joinSections(promptSections(parts))
}

/** The system prompt in its parts, in order (CB-01). */
export function promptSections(parts: SystemPromptParts): readonly PromptSection[] {
  const session = `# Session\n- session: ${parts.sessionId}\n- task: ${parts.taskId}\n- agent: ${parts.agentName}\n- workspace: ${parts.workspace}`
  const work = parts.worker
    ? '# Your part\nYou are one node of a team. Do only what <instruction> asks; other nodes do the rest. What they found is in <dependency_output>. Your final answer is handed on as it is.'
    : `# Your part\nYou have the whole task. Do it yourself${parts.teams ? ', or call one workflow tool to have a team do it' : ''}.`
  return [
    { part: 'base', text: base },
    { part: 'execution', text: work },
    { part: 'profile', text: parts.own === '' ? '' : `# You\n${parts.own}` },
    { part: 'memory', text: memorySection(parts.memory) },
    { part: 'routing', text: routingSection(parts.routing) },
    { part: 'session', text: session },
  ]
}

export const joinSections = (sections: readonly PromptSection[]): string => sections.flatMap(({ text }) => (text === '' ? [] : [text])).join('\n\n')

function memorySection(memory: SystemPromptParts['memory']): string {
  if ('unreadable' in memory) return '# Memory\nThe memory of earlier runs cannot be read now.'
  if (memory.user.length === 0 && memory.memory.length === 0) return ''
  return `# Memory\nWhat earlier runs kept, as it was when this run began.${entriesOf('user', memory.user)}${entriesOf('memory', memory.memory)}`
}

function entriesOf(target: string, entries: readonly string[]): string {
  return entries.length === 0 ? '' : `\n## ${target}\n${entries.map((entry) => `- ${entry.replaceAll('\n', '\n  ')}`).join('\n')}`
}

function routingSection(skills: readonly Skill[]): string {
  const primary = skills[0]
  if (primary?.guidance === null || primary === undefined) return ''
  const template = JSON.stringify({ skill_name: primary.name, template: primary.guidance })
  return `# Task Agent Team Routing
The activated skill below gives guidance for a team. Before anything else, choose one execution path in this first response:
- Call the workflow tool it prefers now for staged collection, extraction, validation, comparison, research or reporting. Fill the agents from the guidance.
- Work alone only if the task is plainly a single step, if the user asked not to delegate, or if the guidance does not fit.
Call no ordinary tool before this choice. If you work alone, do not explain the choice.
${template}`
}

/**
 * The message of a node: the team's task, the node's own instruction, its dependency outputs, and the evidence that its result must rest on.
 *
 * @example
 * const node = { task: 'Describe the tides.', instruction: 'Write one paragraph.', requiredEvidence: [] }
 * const message = workerMessage({ ...node, dependencies: [{ node_id: 'researcher', output: 'Twice a day.' }] })
 * message.includes('Twice a day.') // => true
 */
export function workerMessage(node: {
  task: string
  instruction: string
  dependencies: readonly { readonly node_id: string; readonly output: string }[]
  requiredEvidence: readonly EvidenceRequirement[]
  validationRules?: readonly EvidenceRequirement[]
  evidenceContract?: string | null
}): string {
  const { requiredEvidence, validationRules = [], evidenceContract = null } = node
  return [
    `<task>\n${node.task}\n</task>`,
    `<instruction>\n${node.instruction}\n</instruction>`,
    ...node.dependencies.map(({ node_id, output }) => `<dependency_output from=${JSON.stringify(node_id)}>\n${output}\n</dependency_output>`),
    ...requirementSection('required_evidence', requiredEvidence),
    ...requirementSection('validation_rules', validationRules),
    ...(evidenceContract === null ? [] : [`<evidence_contract>\n${evidenceContract}\n</evidence_contract>`]),
  ].join('\n\n')
}

const requirementSection = (tag: string, requirements: readonly EvidenceRequirement[]): string[] =>
  requirements.length === 0 ? [] : [`<${tag}>\n${requirements.map((each) => `- ${describeRequirement(each)}`).join('\n')}\n</${tag}>`]

/** The messages of a run's next provider call. `history` is the visible transcript of the session's earlier tasks. */
export function conversation(run: RunState, history: readonly ChatMessage[]): readonly ChatMessage[] {
  if (history.length <= run.historyDropped) return run.messages
  const kept = run.historyDropped === 0 ? history : history.slice(run.historyDropped)
  return [...run.messages.slice(0, run.historyIndex), ...kept, ...run.messages.slice(run.historyIndex)]
}
