// The folders in which skills are looked for, in the order in which they win a name (D-43).
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A folder in which skills are looked for. */
export interface SkillPlace {
  readonly source: 'configured' | 'workspace' | 'built-in'
  readonly folder: string
}

/** The folder of the skills that come with Beaver. */
export const builtinSkills = fileURLToPath(new URL('../../../../skills', import.meta.url))

/**
 * The folders in which skills are looked for, in the order in which they win a name.
 *
 * @param options `configured`: the folders of the configuration; `workspace`: the folder that contains
 * `skills`, or `null` if the skills of workspaces are switched off. All paths are absolute.
 * @example
 * const places = skillPlaces({ configured: ['/srv/skills'], workspace: '/srv/notes' })
 * places.map(({ source }) => source) // => ['configured', 'workspace', 'built-in']
 * places[1]?.folder // => '/srv/notes/skills'
 */
export function skillPlaces(options: {
  readonly configured: readonly string[]
  readonly workspace: string | null
}): SkillPlace[] {
  const places: SkillPlace[] = [
    ...options.configured.map((folder): SkillPlace => ({ source: 'configured', folder })),
    ...(options.workspace === null
      ? []
      : [{ source: 'workspace' as const, folder: join(options.workspace, 'skills') }]),
    { source: 'built-in', folder: builtinSkills },
  ]
  // In Beaver's own checkout, the workspace's folder is also the built-in one, so it is read once.
  return places
    .filter(({ folder }, i) => places.findIndex((other) => other.folder === folder) === i)
    .map((place) => (place.folder === builtinSkills ? { ...place, source: 'built-in' } : place))
}
