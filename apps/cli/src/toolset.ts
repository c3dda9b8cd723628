// The tools, workflow definitions and profiles of the configuration, as a daemon here would load them.
import { loadToolset, type Toolset } from '@beaver/agent'
import type { Config } from '@beaver/config'

/** @throws {BeaverError} `invalid_configuration` */
export function toolsetOf({ tools, workflows, profiles, profile }: Config): Promise<Toolset> {
  return loadToolset({ tools, workflows, profiles, profileDefault: profile ?? null })
}
