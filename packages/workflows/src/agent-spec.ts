// WorkflowAgentSpec: one slot the root agent fills, and the checks every workflow makes of its slots (S0 §6.3, §7.2, §8.2).
// A1. Unknown fields are refused. A2. Names are unique, compared exactly. A3. A pattern that is accepted compiles.
import { evidenceRequirement } from '@beaver/core'
import { z } from 'zod'
import { agentNameCharsMax, agentNameFault } from './agent-name.ts'
import type { WorkflowLimits } from './workflow.ts'
import { type Refusal, refuse } from './workflow-error.ts'
import { quote } from './wording.ts'

const filled = () =>
  z
    .string()
    .min(1)
    .refine((text) => text.trim() !== '', 'is blank: write some text')

const requirement = evidenceRequirement.superRefine((value, context) => {
  if (typeof value === 'string') return
  if (value.kind === 'output_matches' && !compiles(value.pattern)) {
    context.addIssue({
      code: 'custom',
      path: ['pattern'],
      message: `is ${quote(value.pattern)}, which is not a regular expression: correct it (JavaScript syntax, flag u)`,
    })
  }
  if (value.kind === 'output_length' && (value.min ?? 0) > (value.max ?? Infinity)) {
    context.addIssue({ code: 'custom', path: ['min'], message: `is ${value.min}, more than max, which is ${value.max}: no output could pass` })
  }
})

/** One agent of a workflow. */
export const workflowAgentSpec = z
  .strictObject({
    name: z
      .string()
      .meta({ minLength: 1, maxLength: agentNameCharsMax })
      .describe('Unique name of the agent: only letters, digits, spaces, "_", "-" and ".". Other fields refer to the agent by exactly this name.'),
    instruction: filled().describe('What this agent does, in full: it sees the task, this text and the outputs of the agents it depends on, and nothing else.'),
    skill_query: filled().optional().describe('What kind of skill the agent needs, in a few words; one is looked for. Leave out when none is needed.'),
    use_skill: filled().optional().describe('The exact name of a skill the agent must use. Wins over skill_query.'),
    allowed_tool_names: z
      .array(z.string().min(1))
      .nullable()
      .optional()
      .describe('Ceiling on the tools of the agent. Absent or null: no ceiling. []: no tools at all. It never adds a tool.'),
    required_evidence: z
      .array(requirement)
      .optional()
      .describe('What the result must rest on. An object is checked by code; a string is shown to the agent and not checked.'),
  })
  .describe('{"name": "…", "instruction": "…"}, with optional skill_query, use_skill, allowed_tool_names, required_evidence.')
export type WorkflowAgentSpec = z.infer<typeof workflowAgentSpec>

/** The `task` field every workflow has. */
export const taskField = filled().describe('The task of the whole team, complete and self-contained. Every agent is shown it.')

/** The `agents` field. `each` says what the agents are to the workflow. */
export const agentsField = (each: string) => z.array(workflowAgentSpec).min(1).describe(each)

/** An agent and where it stands in the arguments. */
export interface PlacedAgent {
  readonly agent: WorkflowAgentSpec
  readonly path: string
}

export const placed = (agents: readonly WorkflowAgentSpec[]): PlacedAgent[] => agents.map((agent, index) => ({ agent, path: `agents.${index}` }))

/** What is wrong with the agents as a set: too many, a bad name, the same name twice. */
export function agentsFault(agents: readonly PlacedAgent[], limits: WorkflowLimits): Refusal | null {
  if (agents.length > limits.agentsMax) {
    return refuse('too_many_agents', 'agents', `There are ${agents.length} agents; the limit agentsMax is ${limits.agentsMax}. Use fewer agents.`)
  }
  const places = new Map<string, string>()
  for (const { agent, path } of agents) {
    const fault = agentNameFault(agent.name)
    if (fault !== null) return refuse('invalid_agent_name', `${path}.name`, `The agent name ${quote(agent.name)} ${fault}.`)
    const taken = places.get(agent.name)
    if (taken !== undefined) {
      return refuse('duplicate_agent', `${path}.name`, `The agent name ${quote(agent.name)} is taken by ${taken} already. Give each agent a name of its own.`)
    }
    places.set(agent.name, path)
  }
  return null
}

function compiles(pattern: string): boolean {
  try {
    RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}
