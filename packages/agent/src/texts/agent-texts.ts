// The texts of a daemon: its skills, workflow definitions and profiles. They are plain data, so that each
// worker thread gets the same ones.
import type { Workflow, WorkflowDefinitionFile } from '@beaver/workflows'
import { definitionsOf } from '../definitions/load-definitions.ts'
import type { LoopServices } from '../loop/loop-services.ts'
import type { AgentProfile } from '../profile/agent-profile.ts'
import type { Skill } from '../skills/skill.ts'

/** The skills, definitions and profiles that runs have from their start. */
export interface AgentTexts {
  readonly skills: readonly Skill[]
  readonly definitions: readonly WorkflowDefinitionFile[]
  readonly profiles: readonly AgentProfile[]
}

/**
 * The services of loops with these texts.
 *
 * @example
 * import { systemClock } from '@beaver/core'
 * import { failurePolicies } from '@beaver/core/supervision'
 * import { scriptedProvider } from '@beaver/testing'
 *
 * const services: LoopServices = {
 *   providers: onlyProvider(scriptedProvider([])),
 *   tools: [],
 *   skills: [],
 *   definitions: [],
 *   profiles: new Map(),
 *   profileDefault: null,
 *   failurePolicies,
 *   clock: systemClock,
 *   random: Math.random,
 *   toolTimeoutMs: 60_000,
 *   permissions: [],
 *   skillSelection: 'off',
 * }
 * const { skills } = await loadSkills(['./skills'])
 * withTexts(services, { skills, definitions: [], profiles: [] }).skills.map(({ name }) => name) // => ['tides']
 */
export function withTexts(
  services: LoopServices,
  { skills, definitions, profiles }: AgentTexts,
): LoopServices {
  const workflows: readonly Workflow[] = definitionsOf(definitions)
  return {
    ...services,
    skills,
    definitions: workflows,
    profiles: new Map(profiles.map((profile) => [profile.name, profile])),
  }
}

/**
 * The services of one loop, with the skills of the workspace of its task. They replace the built-in skills of
 * their names (D-43).
 *
 * @param own absent: the same services
 * @example
 * import { systemClock } from '@beaver/core'
 * import { failurePolicies } from '@beaver/core/supervision'
 * import { scriptedProvider } from '@beaver/testing'
 *
 * const services: LoopServices = {
 *   providers: onlyProvider(scriptedProvider([])),
 *   tools: [],
 *   skills: [],
 *   definitions: [],
 *   profiles: new Map(),
 *   profileDefault: null,
 *   failurePolicies,
 *   clock: systemClock,
 *   random: Math.random,
 *   toolTimeoutMs: 60_000,
 *   permissions: [],
 *   skillSelection: 'off',
 * }
 * const { skills } = await loadSkills(['./skills'])
 * withWorkspaceSkills(services, skills).skills.map(({ name }) => name) // => ['tides']
 * withWorkspaceSkills(services, undefined) === services // => true
 * withWorkspaceSkills(services, skills, []).skills // => []
 */
export function withWorkspaceSkills(
  services: LoopServices,
  own: readonly Skill[] | undefined,
  only?: readonly string[],
): LoopServices {
  if ((own === undefined || own.length === 0) && only === undefined) return services
  const names = new Set(own?.map(({ name }) => name))
  const all = [...(own ?? []), ...services.skills.filter(({ name }) => !names.has(name))]
  return {
    ...services,
    skills: only === undefined ? all : all.filter(({ name }) => only.includes(name)),
    toolboxesOf: services.toolboxesOf ?? services,
  }
}
