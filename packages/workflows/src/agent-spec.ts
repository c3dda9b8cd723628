// WorkflowAgentSpec: one slot that the root agent fills, and the checks that every workflow makes of its
// slots (WT-05 to WT-08). Unknown fields are refused. Names are unique and compared exactly. A
// requirement that is accepted can be checked.
import { modelSettings } from '@beaver/core'
import { outputSchema, plannedRequirement } from '@beaver/core/evidence'
import { z } from 'zod'
import { agentNameCharsMax, agentNameFault } from './agent-name.ts'
import type { WorkflowLimits } from './workflow.ts'
import { type Refusal, refuse } from './workflow-error.ts'
import { quote } from './arguments/wording.ts'

const filled = () =>
  z
    .string()
    .min(1)
    .refine((text) => text.trim() !== '', 'is blank: write some text')

const { temperature, top_p, output_tokens_max, reasoning_effort } = modelSettings.shape

/** One agent of a workflow. */
export const workflowAgentSpec = z
  .strictObject({
    name: z
      .string()
      .meta({ minLength: 1, maxLength: agentNameCharsMax })
      .describe('Unique; letters, digits, spaces, _ - . only. Other fields name the agent exactly so.')
      .meta({ brief: '' }),
    instruction: filled()
      .describe(
        'What it does, in full: it sees this, the task and the outputs of the agents it depends on, nothing else.',
      )
      .meta({ brief: 'In full: it sees no conversation.' }),
    use_skill: filled().optional().describe('Exact name of a skill, if it needs one.').meta({ brief: '' }),
    skill_query: filled().optional().describe('Or a few words to find a skill by.').meta({ brief: '' }),
    allowed_tool_names: z
      .array(z.string().min(1))
      .nullable()
      .optional()
      .describe('Limits its tools to these; [] to none. It adds none. Default: no limit.')
      .meta({ brief: 'Only these; []: none.' }),
    required_evidence: z
      .array(plannedRequirement)
      .optional()
      .describe('What its result must rest on: objects are checked by code, texts only shown to it.')
      .meta({ brief: 'Code checks objects, not texts.' }),
    validation_rules: z
      .array(plannedRequirement)
      .optional()
      .describe('Rules for its output, in the same form.')
      .meta({ brief: null }),
    evidence_contract: filled()
      .optional()
      .describe('How it must give evidence, in words.')
      .meta({ brief: null }),
    model: filled()
      .max(200)
      .optional()
      .describe('The name of a configured model, or endpoint/name. Default: the main one.')
      .meta({ brief: null }),
    // A model writes this, so it has no free fields of the endpoint. It knows what the others mean.
    model_settings: z
      .strictObject({
        temperature: temperature.describe(''),
        top_p: top_p.describe(''),
        output_tokens_max: output_tokens_max.describe(''),
        reasoning_effort: reasoning_effort.describe(''),
      })
      .optional()
      .describe('How its model is asked. Default: as the endpoint is configured.')
      .meta({ brief: null }),
    output_schema: outputSchema
      .optional()
      .describe('The JSON Schema of its output. Default: any text.')
      .meta({ brief: null }),
  })
  .describe(
    '{"name": "…", "instruction": "…"}, with optional skill_query, use_skill, allowed_tool_names, required_evidence, validation_rules, evidence_contract, model, model_settings, output_schema.',
  )
/** One agent of a workflow, as the root agent describes it. */
export type WorkflowAgentSpec = z.infer<typeof workflowAgentSpec>

/** The `task` field, which every workflow has. */
export const taskField = filled()
  .describe('The task of the whole team, self-contained. Every agent sees it.')
  .meta({ brief: '' })

/**
 * The `agents` field. `each` says what the agents are to the workflow, `brief` says it to the model if it
 * needs to know.
 *
 * @example
 * agentsField('The speakers.').safeParse([]).success // => false
 */
export const agentsField = (each: string, brief = '') =>
  z.array(workflowAgentSpec).min(1).describe(each).meta({ brief })

/** An agent and its place in the arguments. */
export interface PlacedAgent {
  readonly agent: WorkflowAgentSpec
  readonly path: string
}

/**
 * The agents of the field `agents`, with their places.
 *
 * @example
 * placed([{ name: 'a', instruction: 'Draft.' }])[0]?.path // => 'agents.0'
 */
export const placed = (agents: readonly WorkflowAgentSpec[]): PlacedAgent[] =>
  agents.map((agent, index) => ({ agent, path: `agents.${index}` }))

/**
 * What is wrong with the agents as a set: too many, a bad name, a model that they may not name, the same name
 * twice.
 *
 * @example
 * const agent = { name: 'a', instruction: 'Draft.' }
 * agentsFault(placed([agent]), { agentsMax: 8, edgesMax: 8 }) // => null
 * agentsFault(placed([agent, agent]), { agentsMax: 8, edgesMax: 8 })?.error.code // => 'duplicate_agent'
 */
export function agentsFault(agents: readonly PlacedAgent[], limits: WorkflowLimits): Refusal | null {
  if (agents.length > limits.agentsMax) {
    return refuse(
      'too_many_agents',
      'agents',
      `There are ${agents.length} agents; the limit agentsMax is ${limits.agentsMax}. Use fewer agents.`,
    )
  }
  const places = new Map<string, string>()
  for (const { agent, path } of agents) {
    const fault = agentNameFault(agent.name)
    if (fault !== null)
      return refuse('invalid_agent_name', `${path}.name`, `The agent name ${quote(agent.name)} ${fault}.`)
    const chosen =
      limits.modelChoice === false
        ? (['model', 'model_settings'] as const).find((field) => agent[field] !== undefined)
        : undefined
    if (chosen !== undefined) {
      return refuse(
        'model_not_allowed',
        `${path}.${chosen}`,
        `The agent ${quote(agent.name)} has "${chosen}", which your profile does not allow. Leave it out.`,
      )
    }
    const taken = places.get(agent.name)
    if (taken !== undefined) {
      return refuse(
        'duplicate_agent',
        `${path}.name`,
        `The agent name ${quote(agent.name)} of ${path} is already taken by ${taken}. Give each agent a different name.`,
      )
    }
    places.set(agent.name, path)
  }
  return null
}
