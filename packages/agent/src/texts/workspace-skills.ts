// The skills in the workspaces of tasks, beside those that the daemon has for all tasks (D-69).
// P1. A skill of a workspace never replaces one that the daemon has, except for a built-in one (D-43).
// P2. A broken skill of a workspace is left out, and the log says so once.
// P3. At most `workspacesMax` workspaces are kept. Their files are looked at when a task or a run asks for them.
import { join } from 'node:path'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { loadSkills } from '../skills/load-skills.ts'
import type { Skill } from '../skills/skill.ts'
import { stampOfSkills } from './file-stamps.ts'

const workspacesMax = 20
/** They travel with each run, so there are fewer than the daemon may have. */
const skillsMax = 100

interface Kept {
  readonly stamp: string
  readonly skills: readonly Skill[]
}

/**
 * Returns a function that gives the skills of a workspace. It reads them again only if their files have changed.
 *
 * @param of.reserved whether there is a skill of this name that may not be replaced
 * @param of.tell gets what is wrong with files
 * @example
 * const skillsIn = workspaceSkills({ reserved: () => false, tell: () => {} })
 * const skills = await skillsIn('.')
 * skills.map(({ name, fromWorkspace }) => [name, fromWorkspace]) // => [['tides', true]]
 */
export function workspaceSkills(of: {
  readonly reserved: (name: string) => boolean
  readonly tell: (diagnostic: LoadDiagnostic) => void
}): (workspace: string) => Promise<readonly Skill[]> {
  const kept = new Map<string, Kept>()
  return async (workspace) => {
    const folder = join(workspace, 'skills')
    const stamp = await stampOfSkills([folder])
    const before = kept.get(folder)
    const now = before?.stamp === stamp ? before : { stamp, skills: await load(folder) }
    kept.delete(folder)
    kept.set(folder, now)
    if (kept.size > workspacesMax) kept.delete(kept.keys().next().value as string)
    return now.skills.filter(({ name }) => !of.reserved(name))
  }

  async function load(folder: string): Promise<readonly Skill[]> {
    const { skills, diagnostics } = await loadSkills([folder])
    for (const diagnostic of diagnostics) of.tell(diagnostic)
    if (skills.length > skillsMax)
      of.tell({ file: folder, severity: 'error', message: `It has ${skills.length} skills. Beaver uses the first ${skillsMax} of a workspace.` })
    return skills.slice(0, skillsMax).map((skill) => ({ ...skill, fromWorkspace: true }))
  }
}
