// The skills in the workspaces of tasks, beside those that the daemon has for all tasks (D-69).
// P1. A skill of a workspace never replaces one that the daemon has, except for a built-in one (D-43).
// P2. A broken skill of a workspace is left out, and the log says so once.
// P3. At most `workspacesMax` workspaces are kept. Their files are looked at when a task or a run asks for them.
// P4. Those who ask at the same time share one look, which begins after they asked: the runs of a team begin together.
import { join } from 'node:path'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { loadSkills } from '../skills/load-skills.ts'
import type { Skill } from '../skills/skill.ts'
import { stampOfSkills } from './file-stamps.ts'

const workspacesMax = 20
/** They travel with each run, so there is less of them than the daemon may have. */
const skillsMax = 100
const charsMax = 2_000_000

interface Found {
  readonly stamp: string
  readonly skills: readonly Skill[]
  /** What was told about them. */
  readonly told: ReadonlySet<string>
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
  const kept = new Map<string, () => Promise<Found>>()
  return async (workspace) => {
    const folder = join(workspace, 'skills')
    const look = kept.get(folder) ?? sharedLook<Found>((before) => lookAt(folder, before))
    kept.delete(folder)
    kept.set(folder, look)
    if (kept.size > workspacesMax) kept.delete(kept.keys().next().value as string)
    const { skills } = await look()
    return skills.filter(({ name }) => !of.reserved(name))
  }

  async function lookAt(folder: string, before: Found | null): Promise<Found> {
    const stamp = await stampOfSkills([folder])
    if (before?.stamp === stamp) return before
    const { skills, diagnostics } = await loadSkills([folder])
    const used = withinBounds(skills)
    const message = `Its skills are too many or too long. Beaver uses ${used.length} of ${skills.length}: the first ones, at most ${skillsMax} with ${charsMax} characters in all.`
    const faults = used.length < skills.length ? [...diagnostics, { file: folder, severity: 'error' as const, message }] : diagnostics
    for (const fault of faults) if (before?.told.has(lineOf(fault)) !== true) of.tell(fault)
    return { stamp, skills: used.map((skill) => ({ ...skill, fromWorkspace: true })), told: new Set(faults.map(lineOf)) }
  }
}

function withinBounds(skills: readonly Skill[]): readonly Skill[] {
  let chars = 0
  const over = skills.findIndex(({ description, body }, i) => i >= skillsMax || (chars += description.length + body.length) > charsMax)
  return over === -1 ? skills : skills.slice(0, over)
}

const lineOf = ({ file, message }: LoadDiagnostic): string => `${file}: ${message}`

/** Looks one at a time. A look that is under way does not count for those who ask now: they share the next one. */
function sharedLook<Result>(look: (before: Result | null) => Promise<Result>): () => Promise<Result> {
  let before: Result | null = null
  let running: Promise<unknown> | null = null
  let next: Promise<Result> | null = null

  function begin(): Promise<Result> {
    next = null
    const looked = look(before).then((found) => (before = found))
    const over = (): void => void (running = null)
    running = looked.then(over, over)
    return looked
  }

  return () => next ?? (running === null ? begin() : (next = running.then(begin)))
}
