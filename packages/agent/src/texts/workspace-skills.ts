// The skills in the workspaces of tasks, beside the daemon's own (D-69), of which they may replace only
// built-in ones (D-43). A broken skill is left out, and the log says so once. At most `workspacesMax`
// workspaces are kept. Callers share one look at the files, which counts for `freshMs`, because the runs of a
// team begin together. A caller that asks for `now` gets a later look.
import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, steadyClock } from '@beaver/core'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { loadSkills } from '../skills/load-skills.ts'
import { skillFileName } from '../skills/skill-file.ts'
import type { Skill } from '../skills/skill.ts'

const workspacesMax = 20
/** They travel with each run, so there is less of them than the daemon may have. */
const skillsMax = 100
const charsMax = 2_000_000

/** How long a look counts, in milliseconds. */
const freshMs = 100

interface Found {
  readonly stamp: string
  readonly skills: readonly Skill[]
  /** What was told about them. */
  readonly reported: ReadonlySet<string>
}

/** @param how.now looks at the files, however short ago somebody did. Default: false */
type SkillsOfWorkspaces = (workspace: string, how?: { readonly now?: boolean }) => Promise<readonly Skill[]>

/**
 * Returns a function that gives the skills of a workspace. It reads them again only if their files have
 * changed.
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
  /** Default: the steady clock. */
  readonly clock?: Clock
}): SkillsOfWorkspaces {
  const { clock = steadyClock } = of
  const kept = new Map<string, Look<Found>>()
  return async (workspace, { now = false } = {}) => {
    const folder = join(workspace, 'skills')
    const loadShared = kept.get(folder) ?? sharedLook<Found>((before) => lookAt(folder, before), clock)
    kept.delete(folder)
    kept.set(folder, loadShared)
    if (kept.size > workspacesMax) kept.delete(kept.keys().next().value as string)
    const { skills } = await loadShared(now)
    return skills.filter(({ name }) => !of.reserved(name))
  }

  async function lookAt(folder: string, before: Found | null): Promise<Found> {
    const stamp = await stampOfSkills([folder])
    if (before?.stamp === stamp) return before
    const { skills, diagnostics } = await loadSkills([folder])
    const used = withinBounds(skills)
    const message = `Its skills are too many or too long. Beaver uses ${used.length} of ${skills.length}: the first ones, at most ${skillsMax} with ${charsMax} characters in all.`
    const faults =
      used.length < skills.length
        ? [...diagnostics, { file: folder, severity: 'error' as const, message }]
        : diagnostics
    for (const fault of faults) if (before?.reported.has(lineOf(fault)) !== true) of.tell(fault)
    return {
      stamp,
      skills: used.map((skill) => ({ ...skill, fromWorkspace: true })),
      reported: new Set(faults.map(lineOf)),
    }
  }
}

function withinBounds(skills: readonly Skill[]): readonly Skill[] {
  let chars = 0
  const over = skills.findIndex(
    ({ description, body }, i) => i >= skillsMax || (chars += description.length + body.length) > charsMax,
  )
  return over === -1 ? skills : skills.slice(0, over)
}

const lineOf = ({ file, message }: LoadDiagnostic): string => `${file}: ${message}`

type Look<Result> = (now: boolean) => Promise<Result>

/**
 * Looks one at a time. A look that is under way does not count for those who ask for `now`: they share the
 * next one.
 */
function sharedLook<Result>(load: (before: Result | null) => Promise<Result>, clock: Clock): Look<Result> {
  let before: Result | null = null
  let newest: { readonly looked: Promise<Result>; readonly atMs: number } | null = null
  let running: Promise<unknown> | null = null
  let next: Promise<Result> | null = null

  function begin(): Promise<Result> {
    next = null
    const looked = load(before).then((found) => (before = found))
    newest = { looked, atMs: clock.now() }
    const over = (): void => void (running = null)
    running = looked.then(over, over)
    return looked
  }

  return (now) => {
    if (!now && newest !== null && clock.now() - newest.atMs < freshMs) return newest.looked
    return next ?? (running === null ? begin() : (next = running.then(begin)))
  }
}

// Stamps of files: a text that changes when one of the files changes, is added or is removed. No file is
// read. A link counts as what it leads to. An inaccessible file has a stamp of its own, so its return is
// noticed.

/** How many files are looked at together. */
const atOnceMax = 64

/**
 * The stamp of the skills in these folders.
 *
 * @example
 * (await stampOfSkills(['./skills'])) === (await stampOfSkills(['./skills'])) // => true
 */
export const stampOfSkills = (folders: readonly string[]): Promise<string> =>
  stampOf(folders, (folder, name) => join(folder, name, skillFileName))

/**
 * The stamp of the JSON files in these folders, and of single files.
 *
 * @example
 * (await stampOfJson(['./workflows'], [])) === (await stampOfJson([], [])) // => false
 */
export const stampOfJson = (folders: readonly string[], files: readonly string[]): Promise<string> =>
  stampOf(folders, (folder, name) => (name.endsWith('.json') ? join(folder, name) : null), files)

async function stampOf(
  folders: readonly string[],
  fileOf: (folder: string, name: string) => string | null,
  files: readonly string[] = [],
): Promise<string> {
  const hash = createHash('sha256')
  for (const folder of folders) {
    const names = await readdir(folder).catch((error: unknown) => codeOf(error))
    hash.update(`${folder}\n${typeof names === 'string' ? names : ''}\n`)
    if (typeof names === 'string') continue
    const found = names.toSorted().flatMap((name) => fileOf(folder, name) ?? [])
    for (let i = 0; i < found.length; i += atOnceMax)
      for (const line of await Promise.all(found.slice(i, i + atOnceMax).map(stampLineOf))) hash.update(line)
  }
  for (const file of files) hash.update(await stampLineOf(file))
  return hash.digest('hex')
}

async function stampLineOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
    return `${file} ${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}\n`
  } catch (error) {
    return `${file} ${codeOf(error)}\n`
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN'
