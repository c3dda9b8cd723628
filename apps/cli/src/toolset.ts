// Loads the tools, workflow definitions and profiles of the configuration, as a daemon here would.
import type { Config } from '@beaver/platform'
import { builtinToolOptions, loadToolset, type Toolset } from '@beaver/tools'

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
