// Judges arguments that a person wrote in place of those of the model, before the decision is journaled: they must be a JSON object that fits the tool,
// and no rule may forbid the call. When the call begins, the loop judges it again, so nothing depends on this daemon having the same tools.
import { type ExternalTools, externalTool, permissionOf, type PermissionRule, readCallArguments, type Tool } from '@beaver/agent'
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
    if (own === null && offered?.describes === true) {
      const told = await external.describe?.({ name, callId: '', arguments: args.value as JsonObject })
      return told?.inputFault ?? told?.refused?.message ?? null
    }
    const { decision, rule } = permissionOf(tool, args.value, rules)
    return decision === 'deny' ? `This rule forbids it: ${rule ?? name}` : null
  }
}
