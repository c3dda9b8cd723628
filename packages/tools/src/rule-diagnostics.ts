// What is wrong with the permission rules of a configuration, for the log of a daemon and for the screens of
// the command line.
import { type PermissionRule, type RuleFault, ruleFaults } from '@beaver/agent'
import type { Toolset } from './load-toolset.ts'

/** The part of the configuration that the rules are checked against. */
export interface RuledConfig {
  readonly permissions: { readonly rules: readonly PermissionRule[] }
  readonly mcp: Readonly<Record<string, unknown>>
}

/**
 * The rules that can never hold for the tools of a configuration. The tools of MCP servers are not known,
 * only how their names begin.
 */
export const configuredRuleFaults = (
  { permissions, mcp }: RuledConfig,
  { tools }: Pick<Toolset, 'tools'>,
): RuleFault[] =>
  ruleFaults(permissions.rules, { tools, beginnings: Object.keys(mcp).map((server) => `${server}_`) })

/** One sentence about a rule. */
export const ruleFaultText = ({ place, rule, reason }: RuleFault): string =>
  `Permission rule ${place} (${rule}) never holds: ${reason}.`
