// Skills on disk: `<folder>/*/SKILL.md`, one level, a lenient host of the Agent Skills standard (D-43).
// K1. One broken skill never keeps another from loading; what is wrong is a diagnostic. K2. The first folder given wins a
//     collision. K3. Only YAML front matter is read; nothing in a skill is executed by loading it.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf, plannedRequirement } from '@beaver/core'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import type { Skill, WorkflowGuidance } from './skill.ts'

export interface LoadedSkills {
  readonly skills: readonly Skill[]
  readonly diagnostics: readonly LoadDiagnostic[]
}

const skillBytesMax = 1024 * 1024

const frontMatter = z.looseObject({ name: z.string().optional(), description: z.string().optional() })

// Loose: what else the preferred tool takes (edges, a flow, an aggregator) is its own to check.
const guidance = z.looseObject({
  version: z.literal(1),
  preferred_tool: z.string().min(1),
  agents: z
    .array(
      z.object({
        name: z.string().min(1),
        instruction: z.string().min(1),
        use_skill: z.string().optional(),
        skill_query: z.string().optional(),
        allowed_tool_names: z.array(z.string()).nullable().optional(),
        required_evidence: z.array(plannedRequirement).optional(),
        validation_rules: z.array(plannedRequirement).optional(),
        evidence_contract: z.string().min(1).optional(),
      }),
    )
    .min(1),
  output_boundary: z.object({ allow: z.array(z.string()).default([]), deny: z.array(z.string()).default([]) }).optional(),
})

/** Loads the skills of several folders; a folder that does not exist holds none. */
export async function loadSkills(folders: readonly string[]): Promise<LoadedSkills> {
  const skills = new Map<string, Skill>()
  const diagnostics: LoadDiagnostic[] = []
  for (const folder of folders) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (!entry.isDirectory() && !entry.isSymbolicLink()) continue
      const file = join(folder, entry.name, 'SKILL.md')
      const bytes = await readFile(file).catch(() => null)
      if (bytes === null) continue
      const skill = parseSkill(
        { bytes, folder: join(folder, entry.name), folderName: entry.name },
        (severity, message) => void diagnostics.push({ file, severity, message }),
      )
      if (skill === null) continue
      if (skills.has(skill.name))
        diagnostics.push({
          file,
          severity: 'warning',
          message: `The skill ${skill.name} is already loaded from ${skills.get(skill.name)?.folder}; this one is left out.`,
        })
      else skills.set(skill.name, skill)
    }
  }
  return { skills: [...skills.values()], diagnostics }
}

/** One SKILL.md; `null` when it cannot be used, with the reason told. */
export function parseSkill(
  source: { bytes: Uint8Array; folder: string; folderName: string },
  tell: (severity: 'warning' | 'error', message: string) => void,
): Skill | null {
  if (source.bytes.length > skillBytesMax) return reject(`It has ${source.bytes.length} bytes; at most ${skillBytesMax} are read.`)
  const text = Buffer.from(source.bytes)
    .toString()
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n')
  const split = /^---[ \t]*\n([\s\S]*?)\n---[ \t]*(?:\n|$)/.exec(text)
  if (split === null) return reject('It does not begin with YAML front matter between two lines "---".')
  let fields: z.infer<typeof frontMatter>
  try {
    fields = frontMatter.parse(parseYaml(split[1] ?? '', { maxAliasCount: 20 }))
  } catch (error) {
    return reject(`Its front matter cannot be read: ${messageOf(error)}`)
  }
  const description = fields.description?.trim() ?? ''
  if (description === '') return reject('Its front matter has no description, so nobody could tell when to use it.')
  const name = fields.name?.trim() || source.folderName
  if (name !== source.folderName) tell('warning', `Its name ${JSON.stringify(name)} differs from its folder ${JSON.stringify(source.folderName)}.`)
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) || name.length > 64)
    tell('warning', `Its name ${JSON.stringify(name)} is not of the standard's form (at most 64 of a-z, 0-9 and single "-").`)
  const body = text.slice(split[0].length)
  return { name, description, body, folder: source.folder, sha256: createHash('sha256').update(source.bytes).digest('hex'), guidance: findGuidance(body, tell) }

  function reject(message: string): null {
    tell('error', message)
    return null
  }
}

/** The first valid `beaver-team-workflow` block that no longer fence encloses (D-44). */
export function findGuidance(body: string, tell: (severity: 'warning', message: string) => void): WorkflowGuidance | null {
  for (const { info, content } of fencedBlocks(body)) {
    if (info !== 'beaver-team-workflow') continue
    try {
      const parsed = guidance.safeParse(JSON.parse(content))
      if (parsed.success) return parsed.data
      tell('warning', `Its beaver-team-workflow block is not valid: ${z.prettifyError(parsed.error)}`)
    } catch (error) {
      tell('warning', `Its beaver-team-workflow block is not JSON: ${messageOf(error)}`)
    }
  }
  return null
}

function* fencedBlocks(text: string): Generator<{ info: string; content: string }> {
  let fence = ''
  let info = ''
  let lines: string[] = []
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)\s*$/.exec(line)
    if (fence === '') {
      if (mark === null) continue
      fence = mark[1] ?? ''
      info = mark[2] ?? ''
      lines = []
    } else if (mark !== null && mark[2] === '' && mark[1]?.[0] === fence[0] && (mark[1]?.length ?? 0) >= fence.length) {
      yield { info, content: lines.join('\n') }
      fence = ''
    } else lines.push(line)
  }
}
