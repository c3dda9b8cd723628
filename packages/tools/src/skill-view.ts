// skill_view: lists the skills, and shows one skill and its files (SK-12). A skill that models may not invoke
// is not listed. If it is named, it is shown, because it may be active in this run.
import { listSupportFiles, readSupportFile, type Skill } from '@beaver/agent'
import { defineTool, type FilePart, ToolFailure, ToolInputError } from '@beaver/agent/tool-kit'
import { z } from 'zod'
import { bytesDefault, bytesLimit } from './files/read-file.ts'

const listedMax = 200
const descriptionCharsMax = 1_024
/** A result has at most 200,000 characters, and the list of files needs some of them. */
const bodyCharsMax = 100_000

export interface SkillList {
  readonly skills: readonly { readonly name: string; readonly description: string }[]
  readonly skills_left_out: number
}

export interface SkillView {
  readonly name: string
  readonly description: string
  readonly compatibility?: string
  readonly body: string
  /** The rest of a long body. The file SKILL.md contains it. */
  readonly body_chars_left_out: number
  readonly files: readonly string[]
  readonly more_files: boolean
}

export type SkillFileView = { readonly skill: string } & FilePart

export const skillView = defineTool({
  name: 'skill_view',
  description: 'Shows the skills, the skill "name", or its file "path".',
  input: z.strictObject({
    name: z.string().optional(),
    path: z.string().optional(),
    offset: z.int().min(0).default(0),
    bytes_max: z.int().min(1).max(bytesLimit).default(bytesDefault).meta({ brief: null }),
  }),
  idempotent: true,
  effects: 'reads',
  async run({ name, path, offset, bytes_max }, context): Promise<SkillList | SkillView | SkillFileView> {
    if (name === undefined) {
      if (path !== undefined)
        throw new ToolInputError('"name" is missing: say which skill the path belongs to.')
      return listOf(context.skills)
    }
    const skill = find(name, context.skills)
    if (path !== undefined)
      return { skill: skill.name, ...(await readSupportFile(skill, path, { offset, bytesMax: bytes_max })) }
    const { files, more } = await listSupportFiles(skill, context.signal)
    return {
      name: skill.name,
      description: skill.description,
      ...(skill.compatibility === null ? {} : { compatibility: skill.compatibility }),
      body: skill.body.slice(0, bodyCharsMax).toWellFormed(),
      body_chars_left_out: Math.max(0, skill.body.length - bodyCharsMax),
      files,
      more_files: more,
    }
  },
})

function listOf(skills: readonly Skill[]): SkillList {
  const open = skills.filter((skill) => skill.modelInvocable)
  return {
    skills: open.slice(0, listedMax).map(({ name, description }) => ({
      name,
      description: description.slice(0, descriptionCharsMax).toWellFormed(),
    })),
    skills_left_out: Math.max(0, open.length - listedMax),
  }
}

function find(name: string, skills: readonly Skill[]): Skill {
  const skill = skills.find((each) => each.name === name)
  if (skill !== undefined) return skill
  const known = skills.filter((each) => each.modelInvocable).map((each) => each.name)
  const shown =
    known.length === 0
      ? 'There are none.'
      : `There are: ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', …' : ''}.`
  throw new ToolFailure('unknown_skill', `There is no skill ${JSON.stringify(name.slice(0, 200))}. ${shown}`)
}
