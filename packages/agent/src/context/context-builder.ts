// What a model is told: the system prompt and the first user message. Pure: the same inputs give the same text.
// X1. Order of the conversation: system prompt, activated skills, the session's visible history, this run's message (CB-02).
// X2. No skill's body stands in the system prompt; skills are messages of their own (SK-13).
import type { ChatMessage, EvidenceRequirement, RunState } from '@beaver/core'
import type { Skill } from '../skills/skill.ts'

const base = `You are an agent in Beaver, a runtime for teams of agents.
Work only from what you were given and from what your tools return. Call tools to find facts; never invent a figure, a file or a source.
When you are done, answer with the result itself, in the language of the task.`

export interface SystemPromptParts {
  readonly agentName: string
  readonly sessionId: string
  readonly taskId: string
  readonly workspace: string
  readonly worker: boolean
  /** The skills with guidance that route a root run's first turn, the primary first. */
  readonly routing: readonly Skill[]
}

export function systemPrompt(parts: SystemPromptParts): string {
  const session = [
    '# Session',
    `- session: ${parts.sessionId}`,
    `- task: ${parts.taskId}`,
    `- agent: ${parts.agentName}`,
    `- workspace: ${parts.workspace}`,
  ].join('\n')
  const work = parts.worker
    ? '# Your part\nYou are one node of a team. Do only what <instruction> asks; other nodes do the rest. What they found is in <dependency_output>. Your final answer is handed on as it is.'
    : '# Your part\nYou have the whole task. Do it yourself, or call one workflow tool to have a team do it.'
  return [base, session, work, ...routingSection(parts.routing)].join('\n\n')
}

function routingSection(skills: readonly Skill[]): string[] {
  const primary = skills[0]
  if (primary?.guidance === null || primary === undefined) return []
  const template = JSON.stringify({ skill_name: primary.name, template: primary.guidance })
  return [
    `# Task Agent Team Routing
The activated skill below gives guidance for a team. Choose one execution path in this first response:
- Call the workflow tool it prefers now for staged collection, extraction, validation, comparison, research or reporting. Fill the agents from the guidance.
- Work alone only if the task is plainly a single step, if the user asked not to delegate, or if the guidance does not fit.
Call no ordinary tool before this choice. If you work alone, do not explain the choice.
${template}`,
  ]
}

/** A node's message: the team's task, its own instruction, what it depends on, and what its result must rest on. */
export function workerMessage(node: {
  task: string
  instruction: string
  dependencies: readonly { readonly node_id: string; readonly output: string }[]
  requiredEvidence: readonly EvidenceRequirement[]
}): string {
  return [
    `<task>\n${node.task}\n</task>`,
    `<instruction>\n${node.instruction}\n</instruction>`,
    ...node.dependencies.map(({ node_id, output }) => `<dependency_output from=${JSON.stringify(node_id)}>\n${output}\n</dependency_output>`),
    ...(node.requiredEvidence.length === 0
      ? []
      : [`<required_evidence>\n${node.requiredEvidence.map((each) => `- ${describeRequirement(each)}`).join('\n')}\n</required_evidence>`]),
  ].join('\n\n')
}

export function describeRequirement(requirement: EvidenceRequirement): string {
  if (typeof requirement === 'string') return requirement
  switch (requirement.kind) {
    case 'tool_succeeded':
      return `The tool ${requirement.tool} must be called and succeed${(requirement.times_min ?? 1) > 1 ? ` at least ${requirement.times_min} times` : ''}.`
    case 'output_length':
      return `The final answer must have ${bounds(requirement)} characters.`
    case 'output_matches':
      return `The final answer must match the regular expression /${requirement.pattern}/.`
    default:
      return requirement satisfies never
  }
}

const bounds = ({ min, max }: { min?: number | undefined; max?: number | undefined }): string =>
  [...(min === undefined ? [] : [`at least ${min}`]), ...(max === undefined ? [] : [`at most ${max}`])].join(' and ') || 'any number of'

/** The messages of a run's next provider call. `history` is the visible transcript of the session's earlier tasks. */
export function conversation(run: RunState, history: readonly ChatMessage[]): readonly ChatMessage[] {
  return history.length === 0 ? run.messages : [...run.messages.slice(0, run.historyIndex), ...history, ...run.messages.slice(run.historyIndex)]
}
