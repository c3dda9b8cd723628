// Loads skills from disk: `<folder>/*/SKILL.md`, one level, leniently (D-43), at most `skillsMax`. A broken
// skill is a diagnostic and does not stop the others. Of two equal names, the folder that is given first
// wins. Loading a skill executes nothing in it.
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { findGuidance } from './find-guidance.ts'
import { readFrontMatter } from './read-front-matter.ts'
import { readSkillFile, skillFileName } from './skill-file.ts'
import type { Skill } from './skill.ts'

/** The loaded skills, and what was wrong with files. */
export interface LoadedSkills {
  readonly skills: readonly Skill[]
  readonly diagnostics: readonly LoadDiagnostic[]
}

export type Tell = (severity: LoadDiagnostic['severity'], message: string) => void

const skillsMax = 2_000
const nameCharsMax = 200

/**
 * Loads the skills of several folders. A folder that does not exist contains none.
 *
 * @example
 * const { skills, diagnostics } = await loadSkills(['./skills'])
 * skills.map(({ name }) => name) // => ['tides']
 * diagnostics // => []
 */
export async function loadSkills(folders: readonly string[]): Promise<LoadedSkills> {
  const skills = new Map<string, Skill>()
  const diagnostics: LoadDiagnostic[] = []
  for (const parent of folders) {
    for (const folderName of await foldersIn(parent, diagnostics)) {
      const folder = join(parent, folderName)
      const file = join(folder, skillFileName)
      const tell: Tell = (severity, message) => void diagnostics.push({ file, severity, message })
      const read = await readSkillFile(folder)
      if (read.kind === 'refused') tell('error', read.reason)
      const skill = read.kind === 'read' ? parseSkill({ bytes: read.bytes, folder, folderName }, tell) : null
      if (skill === null) continue
      const winner = skills.get(skill.name)
      if (winner !== undefined)
        tell(
          'warning',
          `The skill ${skill.name} is already loaded from ${winner.folder}. This one is left out.`,
        )
      else if (skills.size >= skillsMax) tell('error', `More than ${skillsMax} skills. This one is left out.`)
      else skills.set(skill.name, skill)
    }
  }
  return { skills: [...skills.values()], diagnostics }
}

/** The names of possible skill folders, in order. */
async function foldersIn(parent: string, diagnostics: LoadDiagnostic[]): Promise<string[]> {
  try {
    const entries = await readdir(parent, { withFileTypes: true })
    return entries
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map(({ name }) => name)
      .toSorted()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'EUNKNOWN'
    if (code !== 'ENOENT')
      diagnostics.push({
        file: parent,
        severity: 'error',
        message: `The folder of skills cannot be read (${code}).`,
      })
    return []
  }
}

/**
 * Reads one SKILL.md. Returns `null` if it cannot be used, and reports the reason.
 *
 * @example
 * const bytes = new TextEncoder().encode('---\nname: tides\ndescription: Describes tides.\n---\nName the harbour.')
 * const told: string[] = []
 * const skill = parseSkill({ bytes, folder: '/skills/tides', folderName: 'tides' }, (_, message) => told.push(message))
 * skill?.name // => 'tides'
 * told // => []
 */
export function parseSkill(
  source: { bytes: Uint8Array; folder: string; folderName: string },
  tell: Tell,
): Skill | null {
  const read = readFrontMatter(source.bytes)
  if (!read.ok) return reject(read.reason)
  for (const warning of read.warnings) tell('warning', warning)
  const { fields, body } = read
  const descriptionField = own(fields, 'description')
  if (descriptionField !== undefined && descriptionField !== null && typeof descriptionField !== 'string')
    return reject(
      `Its front matter cannot be read: description must be a text, not ${kindOf(descriptionField)}.`,
    )
  const description = descriptionField?.trim() ?? ''
  if (description === '')
    return reject('Its front matter has no description, so nobody knows when to use the skill.')
  return {
    name: nameOf(fields, source.folderName, tell),
    description,
    body,
    folder: source.folder,
    sha256: createHash('sha256').update(source.bytes).digest('hex'),
    guidance: findGuidance(body, tell),
    modelInvocable: !isHidden(own(fields, 'disable-model-invocation'), tell),
    allowedTools: toolsOf(own(fields, 'allowed-tools'), tell),
    license: textOf(fields, 'license', tell),
    compatibility: textOf(fields, 'compatibility', tell),
  }

  function reject(message: string): null {
    tell('error', message)
    return null
  }
}

function nameOf(fields: Readonly<Record<string, unknown>>, folderName: string, tell: Tell): string {
  const nameField = textOf(fields, 'name', tell)?.trim() ?? ''
  const tooLong = nameField.length > nameCharsMax || /\p{Cc}/u.test(nameField)
  if (tooLong)
    tell(
      'warning',
      `Its name is not a line of at most ${nameCharsMax} characters. The skill has the name of its folder.`,
    )
  const name = tooLong || nameField === '' ? folderName : nameField
  if (name.normalize('NFKC') !== folderName.normalize('NFKC'))
    tell('warning', `Its name ${JSON.stringify(name)} differs from its folder ${JSON.stringify(folderName)}.`)
  const faults = skillNameFaults(name)
  if (faults.length > 0)
    tell('warning', `Its name ${JSON.stringify(name)} does not follow the standard. ${faults.join(' ')}`)
  return name
}

/** An author who writes the field wants to hide the skill, in any spelling. Only a plain no shows it. */
function isHidden(value: unknown, tell: Tell): boolean {
  if (value === undefined || value === null || typeof value === 'boolean') return value === true
  const hidden = !/^(?:false|no|off|0|)$/i.test(
    typeof value === 'string' || typeof value === 'number' ? String(value).trim() : 'true',
  )
  tell('warning', `Its disable-model-invocation should be true or false. Beaver reads it as ${hidden}.`)
  return hidden
}

/**
 * Tools as a text with spaces, a text with commas, or a list. Text in brackets is not split: `Bash(git add:*)
 * Read`.
 */
function toolsOf(value: unknown, tell: Tell): readonly string[] | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value.match(/(?:[^\s,(]|\([^)]*\)?)+/g) ?? []
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return value.map((each) => each.trim()).filter((each) => each !== '')
  tell(
    'warning',
    `Its allowed-tools is left out: it must be a text or a list of texts, not ${kindOf(value)}.`,
  )
  return null
}

function textOf(fields: Readonly<Record<string, unknown>>, field: string, tell: Tell): string | null {
  const value = own(fields, field)
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value
  tell(
    'warning',
    `Its ${field} is left out: it must be a text, not ${kindOf(value)}${typeof value === 'object' ? '' : ' (put it in quotes)'}.`,
  )
  return null
}

const own = (fields: Readonly<Record<string, unknown>>, field: string): unknown =>
  Object.hasOwn(fields, field) ? fields[field] : undefined

/** The kind of a YAML value, in words. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number' || typeof value === 'bigint') return 'a number'
  if (typeof value === 'boolean') return 'true or false'
  return value === null ? 'empty' : 'a group of fields'
}

// The names that the Agent Skills standard's own library takes (`skills-ref`, read 2026-11): the letters and
// digits of any script.
const skillNameCharsMax = 64

/** What the standard says against a name, in sentences. Empty: the name follows the standard. */
export function skillNameFaults(given: string): string[] {
  const name = given.normalize('NFKC')
  const characters = [...name].length
  const faults: string[] = []
  if (characters > skillNameCharsMax)
    faults.push(`It has ${characters} characters; at most ${skillNameCharsMax} are allowed.`)
  if (!/^[\p{L}\p{N}-]+$/u.test(name)) faults.push('Only letters, digits and "-" are allowed.')
  if (name !== name.toLowerCase()) faults.push('Use lower-case letters.')
  if (name.startsWith('-') || name.endsWith('-')) faults.push('It must not begin or end with "-".')
  if (name.includes('--')) faults.push('It must not contain "--".')
  return faults
}
