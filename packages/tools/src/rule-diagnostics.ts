// What is wrong with the permission rules of a configuration, for a daemon's log and for the command line.
import { type PermissionRule, type RuleFault, ruleFaults } from '@beaver/agent'
import type { Toolset } from './load-toolset.ts'

export interface RuledConfig {
  readonly permissions: { readonly rules: readonly PermissionRule[] }
  readonly mcp: Readonly<Record<string, unknown>>
}

/** The rules that can never match. Of MCP servers' tools, only the beginnings of the names are known. */
export const configuredRuleFaults = (
  { permissions, mcp }: RuledConfig,
  { tools }: Pick<Toolset, 'tools'>,
): RuleFault[] =>
  ruleFaults(permissions.rules, { tools, beginnings: Object.keys(mcp).map((server) => `${server}_`) })

export const ruleFaultText = ({ place, rule, reason }: RuleFault): string =>
  `Permission rule ${place} (${rule}) never holds: ${reason}.`
