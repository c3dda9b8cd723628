// Loads the skills of a daemon from their places, and says of each whether somebody configured it.
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { type LoadedSkills, loadSkills } from '../skills/load-skills.ts'
import { builtinSkills, type SkillPlace } from '../skills/skill-places.ts'
import type { Skill } from '../skills/skill.ts'

/**
 * Loads the skills of these places, and marks those of a workspace. A configured folder that is not there is
 * a fault: its disk may be away.
 *
 * @example
 * const { skills } = await loadPlacedSkills([{ source: 'configured', folder: './skills' }])
 * skills.map(({ name }) => name) // => ['tides']
 * const { diagnostics } = await loadPlacedSkills([{ source: 'configured', folder: './away' }])
 * diagnostics.map(({ message }) => message) // => ['This folder of skills does not exist.']
 */
export async function loadPlacedSkills(places: readonly SkillPlace[]): Promise<LoadedSkills> {
  const { skills, diagnostics } = await loadSkills(places.map(({ folder }) => folder))
  const workspace = places.find(({ source }) => source === 'workspace')?.folder
  const marked = skills.map((skill) =>
    dirname(skill.folder) === workspace ? { ...skill, fromWorkspace: true } : skill,
  )
  const configured = places.flatMap(({ source, folder }) => (source === 'configured' ? [folder] : []))
  return { skills: marked, diagnostics: [...diagnostics, ...(await missing(configured))] }
}

/**
 * Whether a skill comes with Beaver. Only such a skill may be replaced by one of a workspace (D-43).
 *
 * @example
 * const { skills } = await loadSkills(['./skills'])
 * skills.map(isBuiltin) // => [false]
 */
export const isBuiltin = ({ folder }: Skill): boolean => dirname(folder) === builtinSkills

async function missing(folders: readonly string[]): Promise<LoadDiagnostic[]> {
  const there = await Promise.all(folders.map(exists))
  return folders.flatMap((file, i) =>
    there[i] === true
      ? []
      : [{ file, severity: 'error' as const, message: 'This folder of skills does not exist.' }],
  )
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch {
    return false
  }
}
