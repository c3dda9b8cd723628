// Loads the tools, workflow definitions and profiles of the configuration, as a daemon would load them here.
// All commands that look at workflows import this module, so they know the same workflows as a daemon.
import type { Config } from '@beaver/platform'
import { teamPatterns } from '@beaver/team-patterns'
import { builtinToolOptions, loadToolset, type Toolset } from '@beaver/tools'
import { addWorkflows } from '@beaver/workflows'

addWorkflows(teamPatterns)

/** @throws {BeaverError} `invalid_configuration` */
export function toolsetOf(config: Config): Promise<Toolset> {
  const { tools, workflows, profiles, profile, trust } = config
  return loadToolset({
    tools,
    accepted: Object.fromEntries(trust.files),
    workflows,
    profiles,
    profileDefault: profile ?? null,
    builtin: builtinToolOptions(config),
  })
}
