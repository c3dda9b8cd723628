// AgentProfile: what a root agent is configured as, read from an `agent_profile.json` (S1 §2.1, D-10, D-17).
// P1. What cannot be used is a diagnostic that says where and why, never an exception. P2. A field nobody knows is told and left out.
import { z } from 'zod'

export interface AgentProfile {
  readonly name: string
  readonly description: string | null
  /** Stands in the system prompt beside what Beaver says; `null` for nothing. */
  readonly systemPrompt: string | null
  /** Answers with tool calls in one run; `null`: the configured bound. */
  readonly maxToolIterations: number | null
  /** Ids with a prefix: `system:`, `workflow:`, `kb:`. `null`: what an agent without a profile has. */
  readonly toolIds: readonly string[] | null
}

export interface ProfileDiagnostic {
  readonly code: 'invalid_profile' | 'unknown_field'
  readonly message: string
  /** Dotted; empty for the whole. */
  readonly path: string
}

const fields = {
  name: z.string().trim().min(1, 'must not be empty').max(128, 'must have at most 128 characters'),
  description: z.string().optional(),
  system_prompt: z.string().max(100_000, 'must have at most 100000 characters').optional(),
  max_tool_iterations: z.int('must be a whole number').min(1, 'must be at least 1').max(10_000, 'must be at most 10000').optional(),
  tool_ids_inventory: z.array(z.string()).max(1_000, 'must list at most 1000 ids').optional(),
}
const agentProfile = z.object(fields)

/** As it stands in a file. */
export type AgentProfileInput = Readonly<z.input<typeof agentProfile>>

/** The profile in the JSON of a file; `null` when it cannot be used. */
export function readProfile(json: unknown): { readonly profile: AgentProfile | null; readonly diagnostics: readonly ProfileDiagnostic[] } {
  const parsed = agentProfile.safeParse(json)
  if (!parsed.success) {
    const diagnostics = parsed.error.issues.map((issue): ProfileDiagnostic => {
      const path = issue.path.join('.')
      return { code: 'invalid_profile', path, message: `${path === '' ? 'The profile' : `"${path}"`}: ${issue.message}.` }
    })
    return { profile: null, diagnostics }
  }
  const { name, description, system_prompt, max_tool_iterations, tool_ids_inventory } = parsed.data
  const unknown = Object.keys(json as object).filter((key) => !Object.hasOwn(fields, key))
  return {
    profile: {
      name,
      description: description ?? null,
      systemPrompt: system_prompt === undefined || system_prompt.trim() === '' ? null : system_prompt,
      maxToolIterations: max_tool_iterations ?? null,
      toolIds: tool_ids_inventory ?? null,
    },
    diagnostics: unknown.map((key) => ({
      code: 'unknown_field',
      path: key,
      message: `The field ${JSON.stringify(key)} is not known and was left out; the fields are ${Object.keys(fields).join(', ')}.`,
    })),
  }
}
