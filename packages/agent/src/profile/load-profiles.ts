// Loads the profile files that the configuration names. A broken profile does not keep another from loading.
// What is wrong with it is a diagnostic. If two files have the same profile name, the file that is given
// first wins.
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { readJsonFile } from '../read-json-file.ts'
import { type AgentProfile, readProfile } from './agent-profile.ts'
import { resolveInventory, type ToolCatalog } from './inventory.ts'

export interface LoadedProfiles {
  readonly profiles: ReadonlyMap<string, AgentProfile>
  /** The file of each profile, by its name. */
  readonly fileOf: ReadonlyMap<string, string>
  readonly diagnostics: readonly LoadDiagnostic[]
}

/**
 * Loads profiles and checks their inventories against the catalog. Ids that name nothing stay in the profile
 * and add no tool.
 *
 * @example
 * const { profiles, diagnostics } = await loadProfiles(['./profiles/clerk.json'], { tools: [], definitions: [] })
 * profiles.get('clerk')?.systemPrompt // => 'You answer in one sentence.'
 * diagnostics // => []
 */
export async function loadProfiles(files: readonly string[], catalog: ToolCatalog): Promise<LoadedProfiles> {
  const profiles = new Map<string, AgentProfile>()
  const fileOf = new Map<string, string>()
  const diagnostics: LoadDiagnostic[] = []
  for (const file of files) {
    const tell = (severity: LoadDiagnostic['severity'], message: string): void =>
      void diagnostics.push({ file, severity, message })
    const json = await readJsonFile(file, diagnostics)
    if (json === undefined) continue
    const { profile, diagnostics: told } = readProfile(json)
    for (const { message } of told) tell(profile === null ? 'error' : 'warning', message)
    if (profile === null) continue
    const other = fileOf.get(profile.name)
    if (other !== undefined) {
      tell(
        'warning',
        `The profile ${JSON.stringify(profile.name)} is already loaded from ${other}. This one is left out.`,
      )
      continue
    }
    for (const { index, message } of resolveInventory(profile.toolIds ?? [], catalog).diagnostics)
      tell('warning', `tool_ids_inventory.${index}: ${message}`)
    profiles.set(profile.name, profile)
    fileOf.set(profile.name, file)
  }
  return { profiles, fileOf, diagnostics }
}
