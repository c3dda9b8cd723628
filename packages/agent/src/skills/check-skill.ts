// Checks one skill folder strictly against the Agent Skills standard (https://agentskills.io/specification,
// read 2026-11), and reports what Beaver's lenient loader (D-43) does with it. Advice breaks no rule.
// Guidance that no root agent could use is a problem, although the standard does not mention it.
import { basename, resolve } from 'node:path'
import { evidenceFault, findTaskWorkflow, type KnownTools } from '@beaver/workflows'
import { findGuidance } from './find-guidance.ts'
import { kindOf, parseSkill, skillNameFaults } from './load-skills.ts'
import { readFrontMatter } from './read-front-matter.ts'
import { readSkillFile } from './skill-file.ts'
import type { WorkflowGuidance } from './skill.ts'

/** A rule of the standard that a skill breaks. */
export interface SkillProblem {
  /** `missing`, `file`, `front-matter`, a field of the front matter, `fields`, `body`, `guidance`. */
  readonly rule: string
  readonly message: string
}

/** The result of a check of one skill folder. */
export interface SkillCheck {
  readonly folder: string
  /** Whether the skill keeps the standard, and its guidance can be used. */
  readonly valid: boolean
  readonly problems: readonly SkillProblem[]
  readonly advice: readonly SkillProblem[]
  /** Whether Beaver loads the skill. */
  readonly loads: boolean
  /** The name under which the skill is loaded. `null` if it is not loaded. */
  readonly name: string | null
  readonly told: readonly { readonly severity: 'warning' | 'error'; readonly message: string }[]
}

const descriptionCharsMax = 1_024
const compatibilityCharsMax = 500
const bodyLinesAdvised = 500
/** 5,000 tokens, at about four characters each. */
const bodyCharsAdvised = 20_000
const descriptionCharsAdvised = 40
const known = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools']

/**
 * Checks a skill's folder against the rules, and says whether Beaver loads it.
 * A missing SKILL.md breaks a rule too: a folder without one is not valid. The guidance is planned.
 *
 * @param around what the system offers. Default: tools and profiles are not judged
 * @example
 * const { valid, name, advice } = await checkSkill('./skills/tides')
 * valid // => true
 * name // => 'tides'
 * advice // => []
 * const { problems } = await checkSkill('./skills/tides/reference')
 * problems.length // => 1
 */
export async function checkSkill(folder: string, around?: SkillSurroundings): Promise<SkillCheck> {
  const folderName = basename(resolve(folder))
  const told: SkillCheck['told'][number][] = []
  const read = await readSkillFile(folder)
  if (read.kind !== 'read') {
    const reason = read.kind === 'none' ? 'There is no SKILL.md in the folder.' : read.reason
    return {
      folder,
      valid: false,
      problems: [{ rule: read.kind === 'none' ? 'missing' : 'file', message: reason }],
      advice: [],
      loads: false,
      name: null,
      told: [{ severity: 'error', message: reason }],
    }
  }
  const skill = parseSkill(
    { bytes: read.bytes, folder, folderName },
    (severity, message) => void told.push({ severity, message }),
  )
  const { problems, advice } = verdictOn(read.bytes, folderName, around)
  return {
    folder,
    valid: problems.length === 0,
    problems,
    advice,
    loads: skill !== null,
    name: skill?.name ?? null,
    told,
  }
}

/** The verdict on the text of a SKILL.md. */
export function verdictOn(
  bytes: Uint8Array,
  folderName: string,
  around?: SkillSurroundings,
): { problems: SkillProblem[]; advice: SkillProblem[] } {
  const read = readFrontMatter(bytes)
  if (!read.ok) return { problems: [{ rule: 'front-matter', message: read.reason }], advice: [] }
  const { fields, body } = read
  const problems = [
    ...read.warnings.map((message) => ({ rule: 'front-matter', message })),
    ...problemsOfName(fields['name'], folderName),
    ...problemsOfDescription(fields['description']),
    ...problemsOfCompatibility(fields['compatibility']),
    ...problemsOfMore(fields),
  ]
  const ofGuidance = problemsOfGuidance(body, around)
  return {
    problems: [...problems, ...ofGuidance.problems],
    advice: [...adviceOn(fields, body), ...ofGuidance.advice],
  }
}

function problemsOfName(name: unknown, folderName: string): SkillProblem[] {
  const problem = (message: string): SkillProblem => ({ rule: 'name', message })
  if (name === undefined) return [problem('It is required and missing.')]
  if (typeof name !== 'string') return [problem(`It must be a text, not ${kindOf(name)}.`)]
  if (name.trim() === '') return [problem('It is empty.')]
  const problems = skillNameFaults(name).map(problem)
  if (name.normalize('NFKC') !== folderName.normalize('NFKC'))
    problems.push(
      problem(
        `It must be the folder's name, ${JSON.stringify(folderName)}, and is ${JSON.stringify(name.slice(0, 100))}.`,
      ),
    )
  return problems
}

function problemsOfDescription(description: unknown): SkillProblem[] {
  const problem = (message: string): SkillProblem[] => [{ rule: 'description', message }]
  if (description === undefined) return problem('It is required and missing.')
  if (typeof description !== 'string') return problem(`It must be a text, not ${kindOf(description)}.`)
  if (description.trim() === '') return problem('It is empty.')
  const characters = [...description].length
  return characters > descriptionCharsMax
    ? problem(`It has ${characters} characters; at most ${descriptionCharsMax} are allowed.`)
    : []
}

function problemsOfCompatibility(compatibility: unknown): SkillProblem[] {
  const problem = (message: string): SkillProblem[] => [{ rule: 'compatibility', message }]
  if (compatibility === undefined) return []
  if (typeof compatibility !== 'string') return problem(`It must be a text, not ${kindOf(compatibility)}.`)
  const characters = [...compatibility].length
  if (characters === 0) return problem('It is empty. Leave it out.')
  return characters > compatibilityCharsMax
    ? problem(`It has ${characters} characters; at most ${compatibilityCharsMax} are allowed.`)
    : []
}

function problemsOfMore(fields: Readonly<Record<string, unknown>>): SkillProblem[] {
  const problems: SkillProblem[] = []
  const { license, metadata, 'allowed-tools': tools } = fields
  if (license !== undefined && typeof license !== 'string')
    problems.push({ rule: 'license', message: `It must be a text, not ${kindOf(license)}.` })
  if (tools !== undefined && typeof tools !== 'string')
    problems.push({
      rule: 'allowed-tools',
      message: `It must be one text with spaces between the tools, not ${kindOf(tools)}.`,
    })
  else if (typeof tools === 'string' && /,(?![^(]*\))/.test(tools))
    problems.push({ rule: 'allowed-tools', message: 'Tools are separated by spaces, not by commas.' })
  if (
    metadata !== undefined &&
    (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
  )
    problems.push({
      rule: 'metadata',
      message: `It must be a map from texts to texts, not ${kindOf(metadata)}.`,
    })
  else if (metadata !== undefined) {
    const nested = Object.entries(metadata as object).filter(([, value]) => typeof value === 'object')
    if (nested.length > 0)
      problems.push({
        rule: 'metadata',
        message: `The value of ${listed(nested.map(([key]) => key))} must be a text.`,
      })
  }
  const unknown = Object.keys(fields).filter((field) => !known.includes(field))
  if (unknown.length > 0)
    problems.push({
      rule: 'fields',
      message: `The standard does not have ${listed(unknown)}. Put fields of your own below "metadata".`,
    })
  return problems
}

function adviceOn(fields: Readonly<Record<string, unknown>>, body: string): SkillProblem[] {
  const advice: SkillProblem[] = []
  const { description, metadata } = fields
  if (
    typeof description === 'string' &&
    description.trim() !== '' &&
    description.trim().length < descriptionCharsAdvised
  )
    advice.push({
      rule: 'description',
      message: 'It is short. Say what the skill does and when to use it, with the words of a user.',
    })
  if (typeof metadata === 'object' && metadata !== null) {
    const bare = Object.entries(metadata).filter(
      ([, value]) => typeof value === 'number' || typeof value === 'boolean',
    )
    if (bare.length > 0)
      advice.push({
        rule: 'metadata',
        message: `Put the value of ${listed(bare.map(([key]) => key))} in quotes: values are texts.`,
      })
  }
  const lines = body.split('\n').length
  if (body.trim() === '')
    advice.push({ rule: 'body', message: 'There are no instructions below the front matter.' })
  if (lines > bodyLinesAdvised)
    advice.push({
      rule: 'body',
      message: `It has ${lines} lines; keep it below ${bodyLinesAdvised} and move details to files beside it.`,
    })
  else if (body.length > bodyCharsAdvised)
    advice.push({
      rule: 'body',
      message: `It has ${body.length} characters, about ${Math.round(body.length / 4)} tokens; keep it below 5000 and move details to files beside it.`,
    })
  return advice
}

/** The guidance block belongs to Beaver; the standard does not know it. */
function problemsOfGuidance(
  body: string,
  around: SkillSurroundings | undefined,
): { problems: SkillProblem[]; advice: SkillProblem[] } {
  const broken: SkillProblem[] = []
  const guidance = findGuidance(body, (_, message) => void broken.push({ rule: 'guidance', message }))
  const found = guidance === null ? { problems: [], advice: [] } : guidanceFaults(guidance, around)
  return { problems: [...broken, ...found.problems], advice: found.advice }
}

const listed = (names: readonly string[]): string => {
  const shown = names.slice(0, 10).map((name) => JSON.stringify(name.slice(0, 100)))
  return `${shown.join(', ')}${names.length > shown.length ? ', …' : ''}`
}

// Plans the guidance of a skill as a root agent would call it, so that its author learns of a fault before a
// task does. A field that the guidance leaves to the model is no fault. What depends on a system's
// configuration is advice: another system may have the tool.

/** What a system offers to the agents that use a skill. */
export interface SkillSurroundings {
  /** The tools that agents of a team may have. */
  readonly tools: KnownTools
  /** The workflow tools that root agents of the default profile have. */
  readonly teamWorkflows: readonly string[]
  /** The default profile. `null`: there is none. */
  readonly profile: string | null
}

function guidanceFaults(
  guidance: WorkflowGuidance,
  around?: SkillSurroundings,
): { problems: SkillProblem[]; advice: SkillProblem[] } {
  const workflow = findTaskWorkflow(guidance.preferred_tool)
  if (workflow === null) return { problems: [], advice: [] }
  const slots = Object.keys((workflow.parameters['properties'] ?? {}) as object)
  const fittingGuidance = Object.fromEntries(
    Object.entries(guidance).filter(([field]) => slots.includes(field)),
  )
  // First, because a plan ends at its first fault, which may be a field that the model adds.
  const impossible = evidenceFault(fittingGuidance, around?.tools)
  const planned =
    impossible ??
    workflow.plan(
      { task: 'The task of a person.', ...fittingGuidance },
      around === undefined ? {} : { tools: around.tools },
    )
  const faults = planned.ok
    ? []
    : [
        {
          rule: 'guidance',
          message: `No call of ${workflow.name} with its guidance can be planned. ${planned.error.message}`,
        },
      ]
  const isGuidanceFault =
    !planned.ok && Object.hasOwn(fittingGuidance, planned.error.path.split('.')[0] ?? '')
  return {
    problems: isGuidanceFault ? faults : [],
    advice: [
      ...(isGuidanceFault ? [] : faults),
      ...(around === undefined ? [] : adviceFor(guidance, workflow.name, around)),
    ],
  }
}

function adviceFor(
  { agents }: WorkflowGuidance,
  preferred: string,
  { tools, teamWorkflows, profile }: SkillSurroundings,
): SkillProblem[] {
  const advice: SkillProblem[] = []
  if (!teamWorkflows.includes(preferred)) {
    const who =
      profile === null ? 'Root agents here' : `Root agents of the profile ${JSON.stringify(profile)}`
    const message = `${who} do not have the workflow tool ${preferred} that its guidance prefers. List it in tool_ids_inventory of a profile, or prefer one of ${teamWorkflows.join(', ') || 'none'}.`
    advice.push({ rule: 'guidance', message })
  }
  for (const { name, allowed_tool_names: allowed } of agents) {
    const missing = (allowed ?? []).filter((tool) => !tools.has(tool))
    if (missing.length === 0) continue
    advice.push({
      rule: 'guidance',
      message: `The agent ${JSON.stringify(name)} is limited to tools that are not here: ${missing.map((tool) => JSON.stringify(tool)).join(', ')}.`,
    })
  }
  return advice
}
