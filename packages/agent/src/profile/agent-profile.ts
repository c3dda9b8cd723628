// AgentProfile: the configuration of a root agent, read from an `agent_profile.json` (CT-02, D-10, D-17). A
// value that cannot be used is a diagnostic that says where and why, never an exception. An unknown field is
// reported and left out.
import { type JsonObject, modelSettings, type ModelSettings } from '@beaver/core'
import { type BudgetLimits, budgetLimits } from '@beaver/core/budget'
import { outputSchema } from '@beaver/core/evidence'
import { z } from 'zod'

/** A profile that was read. */
export interface AgentProfile {
  readonly name: string
  readonly description: string | null
  /** The system prompt contains this text beside Beaver's own. `null`: nothing. */
  readonly systemPrompt: string | null
  /** How many answers with tool calls one run may have. `null`: the configured bound. */
  readonly maxToolIterations: number | null
  /** How many turns in a row may be the same. `null`: there is no bound. Absent: the configured bound. */
  readonly repeatsMax?: number | null
  /** The most that a task with this profile may use. Absent: as much as the configuration says. */
  readonly budget?: BudgetLimits
  /** The name of the root's model in the configuration. Absent: the main model. */
  readonly model?: string
  /** How the root asks its model, beyond what the endpoint sets. Absent: as the endpoint sets. */
  readonly modelSettings?: ModelSettings
  /**
   * Whether the root's workflow calls may name `model` and `model_settings` for an agent. Absent: they may
   * not.
   */
  readonly modelChoice?: boolean
  /** The JSON Schema of the root's final answer, if the task has none of its own. Absent: any text. */
  readonly outputSchema?: JsonObject
  /** Ids with a prefix: `system:`, `workflow:`, `kb:`. `null`: what an agent without a profile has. */
  readonly toolIds: readonly string[] | null
}

export interface ProfileDiagnostic {
  readonly code: 'invalid_profile' | 'unknown_field'
  readonly message: string
  /** The dotted path of the field. Empty for the whole file. */
  readonly path: string
}

const fields = {
  name: z.string().trim().min(1, 'must not be empty').max(128, 'must have at most 128 characters'),
  description: z.string().optional(),
  system_prompt: z.string().max(100_000, 'must have at most 100000 characters').optional(),
  max_tool_iterations: z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(10_000, 'must be at most 10000')
    .optional(),
  repeats_max: z
    .int('must be a whole number, or null')
    .min(2, 'must be at least 2')
    .max(10_000, 'must be at most 10000')
    .nullable()
    .optional(),
  budget: budgetLimits.optional(),
  model: z.string().min(1, 'must not be empty').max(200, 'must have at most 200 characters').optional(),
  model_settings: modelSettings.optional(),
  model_choice: z.boolean('must be true or false').optional(),
  output_schema: outputSchema.optional(),
  tool_ids_inventory: z.array(z.string()).max(1_000, 'must list at most 1000 ids').optional(),
}
const agentProfile = z.object(fields)

/** The profile in the form of its file. */
export type AgentProfileInput = Readonly<z.input<typeof agentProfile>>

/**
 * Reads the profile from the JSON of a file. `profile` is `null` if it cannot be used.
 *
 * @example
 * readProfile({ name: 'clerk', system_prompt: 'You answer in one sentence.' }).profile?.name // => 'clerk'
 * const { profile, diagnostics } = readProfile({ name: 7 })
 * profile // => null
 * diagnostics.map(({ code, path }) => [code, path]) // => [['invalid_profile', 'name']]
 */
export function readProfile(json: unknown): {
  readonly profile: AgentProfile | null
  readonly diagnostics: readonly ProfileDiagnostic[]
} {
  const parsed = agentProfile.safeParse(json)
  if (!parsed.success) {
    const diagnostics = parsed.error.issues.map((issue): ProfileDiagnostic => {
      const path = issue.path.join('.')
      return {
        code: 'invalid_profile',
        path,
        message: `${path === '' ? 'The profile' : `"${path}"`}: ${issue.message}.`,
      }
    })
    return { profile: null, diagnostics }
  }
  const {
    name,
    description,
    system_prompt,
    max_tool_iterations,
    repeats_max,
    budget,
    model,
    model_settings,
    model_choice,
    output_schema,
    tool_ids_inventory,
  } = parsed.data
  const unknown = Object.keys(json as object).filter((key) => !Object.hasOwn(fields, key))
  return {
    profile: {
      name,
      description: description ?? null,
      systemPrompt: system_prompt === undefined || system_prompt.trim() === '' ? null : system_prompt,
      maxToolIterations: max_tool_iterations ?? null,
      ...(repeats_max === undefined ? {} : { repeatsMax: repeats_max }),
      ...(budget === undefined ? {} : { budget }),
      ...(model === undefined ? {} : { model }),
      ...(model_settings === undefined ? {} : { modelSettings: model_settings }),
      ...(model_choice === undefined ? {} : { modelChoice: model_choice }),
      ...(output_schema === undefined ? {} : { outputSchema: output_schema }),
      toolIds: tool_ids_inventory ?? null,
    },
    diagnostics: unknown.map((key) => ({
      code: 'unknown_field',
      path: key,
      message: `The field ${JSON.stringify(key)} is not known and was left out. The fields are ${Object.keys(fields).join(', ')}.`,
    })),
  }
}
