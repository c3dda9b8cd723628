// Judges arguments that a person wrote in place of those of the model, before the decision is journaled: they
// must be a JSON object that fits the tool, and no rule may forbid the call. When the call begins, the loop
// judges it again, so nothing depends on this daemon having the same tools.
import {
  describedTool,
  type ExternalTools,
  externalTool,
  permissionOf,
  type PermissionRule,
  readCallArguments,
  type Tool,
} from '@beaver/agent'
import type { JsonObject } from '@beaver/core'
import type { ArgumentsJudge } from '@beaver/runtime'
import type { Agents } from './agents.ts'

export function argumentsJudge(
  agents: Pick<Agents, 'toolNamed'>,
  { external, rules }: { readonly external: ExternalTools; readonly rules: readonly PermissionRule[] },
): ArgumentsJudge {
  return async ({ name, arguments: text }) => {
    const args = readCallArguments(name, text)
    if (!args.ok) return args.message
    const own = agents.toolNamed(name)
    const offered = external.tools.find((tool) => tool.name === name)
    const tool: Tool | null = own ?? (offered === undefined ? null : externalTool(offered))
    if (tool === null) return null
    const fault = tool.inputFault?.(args.value) ?? null
    if (fault !== null) return fault
    const told =
      own === null && offered?.describes === true
        ? await external.describe?.({ name, callId: '', arguments: args.value as JsonObject })
        : undefined
    const refused = told?.inputFault ?? told?.refused?.message ?? null
    // Without its run, a call may act on something that is not known here. The loop knows it.
    if (refused !== null || (told?.unreadable ?? null) !== null) return refused
    const { decision, rule } = permissionOf(
      told === undefined ? tool : describedTool(tool, told),
      args.value,
      rules,
    )
    return decision === 'deny' ? `This rule forbids it: ${rule ?? name}` : null
  }
}
