// The tools that every workspace has.
import { listSupportFiles, readSupportFile, type Skill } from '@beaver/agent'
import {
  closeFolders,
  defineTool,
  type FilePart,
  imageText,
  openFileInside,
  readImageFile,
  type Tool,
  type ToolContext,
  ToolFailure,
  ToolInputError,
  workspaceRoot,
} from '@beaver/agent/tool-kit'
import {
  type Clock,
  isTimeZone,
  localTime,
  type MemoryChange,
  memoryTarget,
  messageOf,
  systemClock,
} from '@beaver/core'
import { askUserTool, type Question } from '@beaver/core/question'
import { workspaceSkill } from '@beaver/core/taint'
import { z } from 'zod'
import { runCommand } from './command/run-command.ts'
import { fileStats } from './files/file-stats.ts'
import { listFiles } from './files/list-files.ts'
import { shownPath } from './files/new-path.ts'
import { bytesDefault, bytesLimit, hardLinksOf, mustBeReadable, readFile } from './files/read-file.ts'
import { recountFiles } from './files/recount-files.ts'
import { writeFile } from './files/write-file.ts'
import { knowledgeTool } from './knowledge.ts'
import { type BuiltinToolOptions, defaultBuiltinToolOptions } from './options.ts'
import { webFetch } from './web/web-fetch.ts'
import { webSearch } from './web/web-search.ts'

/** Tools that are switched off are left out. */
export function builtinTools(options: BuiltinToolOptions = defaultBuiltinToolOptions): readonly Tool[] {
  const { webSearch: search, webFetch: fetch, runCommand: command, sandbox, knowledgeBases } = options
  closeFolders(sandbox.hidden)
  return [
    listFiles,
    readFile,
    viewImage,
    writeFile(options.protected),
    fileStats,
    recountFiles,
    webFetch(fetch),
    ...(search === null ? [] : [webSearch(search)]),
    ...(command.enabled ? [runCommand(command, sandbox)] : []),
    echo,
    getCurrentTime(),
    askUser,
    memory,
    sessionSearch,
    skillView,
    ...knowledgeBases.map(knowledgeTool),
  ]
}

const echo = defineTool({
  name: 'echo',
  description: 'Returns its text.',
  input: z.strictObject({ text: z.string().max(100_000) }),
  pure: true,
  run: ({ text }) => ({ text }),
})

/**
 * The date and the time, in the time zone of the user or in another one (D-71).
 * @param clock default: the clock of the operating system
 */
export const getCurrentTime = (clock: Pick<Clock, 'now'> = systemClock) =>
  defineTool({
    name: 'get_current_time',
    description: 'Returns the date and time now.',
    input: z.strictObject({ time_zone: z.string().max(64).optional() }),
    idempotent: true,
    effects: 'reads',
    reads: 'public',
    run({ time_zone }, context) {
      const zone = time_zone ?? context.timeZone ?? 'UTC'
      if (!isTimeZone(zone))
        throw new ToolInputError(
          `There is no time zone ${JSON.stringify(zone)}. Use a name such as Europe/Zurich or UTC.`,
        )
      const now = clock.now()
      return { time_zone: zone, ...localTime(now, zone), utc: new Date(now).toISOString() }
    },
  })

// view_image shows one image of the workspace with the next request. Paths and rules are those of read_file.

export const viewImage = defineTool({
  name: 'view_image',
  description: 'Shows you an image: png, jpeg, gif or webp.',
  input: z.strictObject({ path: z.string() }),
  idempotent: true,
  effects: 'reads',
  subject: ({ path }) => shownPath(path),
  subjectKind: 'path',
  ruledAs: 'read_file',
  async run({ path }, context): Promise<string> {
    if (context.showImage === undefined)
      throw new ToolFailure('images_unavailable', 'No image can be shown here.')
    await using file = await openFileInside(workspaceRoot(context.workspace), path, {
      hardLinks: hardLinksOf(context, path),
    })
    context.signal.throwIfAborted()
    mustBeReadable(path, file, context)
    context.reads({ files: [file.real] })
    const { content } = await readImageFile(file)
    return `You are shown the ${imageText(await context.showImage(content, file.shown))}.`
  },
})

// session_search asks the projector for what was said earlier (D-46). Models send numbers as text, too.

const limitDefault = 10
const limitMax = 50

export const sessionSearch = defineTool({
  name: 'session_search',
  description: 'Searches earlier sessions, newest first. All words must occur.',
  input: z.strictObject({
    query: z.string().max(1_000),
    limit: z.coerce.number().optional(),
    include_current: z.boolean().default(false),
  }),
  idempotent: true,
  effects: 'reads',
  async run({ query, limit, include_current: includeCurrent }, context) {
    try {
      return {
        query,
        matches: await context.searchSessions({ query, limit: clamped(limit), includeCurrent }),
      }
    } catch (error) {
      context.signal.throwIfAborted()
      throw new ToolFailure(
        'session_search_failed',
        `The sessions could not be searched: ${messageOf(error)}`,
      )
    }
  },
})

function clamped(limit: number | undefined): number {
  if (limit === undefined || Number.isNaN(limit)) return limitDefault
  return Math.trunc(Math.min(limitMax, Math.max(1, limit)))
}

// ask_user asks the person for whom an agent works. The loop decides how it waits (ask-person.ts).

const askUser = defineTool({
  name: askUserTool,
  description: 'Asks the user, only if you need the answer.',
  input: z.strictObject({
    // The bounds are checked where the question is asked: here they would go to the model with each request.
    question: z.string(),
    options: z.array(z.string()).optional(),
    free_text: z.boolean().optional(),
    several: z.boolean().optional(),
    wait_minutes: z.number().optional(),
  }),
  // It changes nothing, and a repeated call gets the recorded answer.
  idempotent: true,
  effects: 'reads',
  subject: ({ question }) => question,
  subjectKind: 'text',
  async run({ question: message, wait_minutes: minutes, ...rest }, { ask }) {
    const timeout = minutes === undefined ? {} : { timeout_ms: Math.round(minutes * 60_000) }
    const answer = await ask({ message, ...rest, ...timeout } as Question)
    switch (answer.action) {
      case 'accept':
        return (answer.answers ?? []).join('\n')
      case 'decline':
        throw new ToolFailure(
          'declined',
          `The user does not want to answer${because(answer.reason)} Go on without the answer, or say what is missing.`,
        )
      case 'cancel':
        throw new ToolFailure(
          'not_answered',
          `${unanswered(answer.reason)} Go on without the answer, or say what is missing.`,
        )
      default:
        return answer.action satisfies never
    }
  },
})

const unanswered = (reason = ''): string =>
  reason.trim() === '' ? 'Nobody answered.' : `There is no answer: ${reason.trim().replace(/\.$/, '')}.`
const because = (reason = ''): string =>
  reason.trim() === '' ? '.' : ` (${reason.trim().replace(/\.$/, '')}).`

// memory keeps texts for later runs (D-45); the store decides about a change. The arguments are one flat
// object, because providers do not accept a union at the top.

/** More than the limit of any target. */
const textCharsMax = 200_000

export const memory = defineTool({
  name: 'memory',
  description: "Keeps facts for later runs, not this task's progress.",
  input: z.strictObject({
    action: z.enum(['add', 'replace', 'remove']),
    target: memoryTarget,
    content: z.string().max(textCharsMax).optional(),
    old_text: z.string().max(textCharsMax).optional(),
  }),
  // A second removal may remove another entry.
  idempotent: false,
  sink: 'memory',
  async run(input, context) {
    const answer = await context.memory(changeOf(input))
    if (!answer.ok) throw new ToolFailure(answer.code, answer.message)
    const { changed, entries, chars, charsMax } = answer
    return { target: input.target, changed, entries, chars_used: chars, chars_max: charsMax }
  },
})

function changeOf(input: {
  action: MemoryChange['action']
  target: MemoryChange['target']
  content?: string | undefined
  old_text?: string | undefined
}): MemoryChange {
  const { action, target } = input
  const requiredText = (name: 'content' | 'old_text'): string => {
    const text = input[name]
    if (text === undefined) throw new ToolInputError(`"${name}" is missing: ${action} needs it.`)
    return text
  }
  switch (action) {
    case 'add':
      return { action, target, content: requiredText('content') }
    case 'replace':
      return { action, target, old_text: requiredText('old_text'), content: requiredText('content') }
    case 'remove':
      return { action, target, old_text: requiredText('old_text') }
    default:
      return action satisfies never
  }
}

// skill_view lists the skills, and shows one skill and its files (SK-12). A skill that models may not invoke
// is not listed, but is shown by its name, because it may be active in this run.

const listedMax = 200
const descriptionCharsMax = 1_024
/** A result has at most 200,000 characters, and the list of files needs some of them. */
const bodyCharsMax = 100_000

interface SkillList {
  readonly skills: readonly { readonly name: string; readonly description: string }[]
  readonly skills_left_out: number
}

interface SkillView {
  readonly name: string
  readonly description: string
  readonly compatibility?: string
  readonly body: string
  /** How much of a long body is missing. The file SKILL.md contains it. */
  readonly body_chars_left_out: number
  readonly files: readonly string[]
  readonly more_files: boolean
}

type SkillFileView = { readonly skill: string } & FilePart

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
  reads: 'public',
  subjectKind: 'text',
  async run({ name, path, offset, bytes_max }, context): Promise<SkillList | SkillView | SkillFileView> {
    if (name === undefined) {
      if (path !== undefined)
        throw new ToolInputError('"name" is missing: say which skill the path belongs to.')
      const open = context.skills.filter((skill) => skill.modelInvocable).slice(0, listedMax)
      tellWorkspaceSkills(open, context)
      return listOf(context.skills)
    }
    const skill = find(name, context.skills)
    tellWorkspaceSkills([skill], context)
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

/** Who wrote a skill that nobody configured is not known. */
function tellWorkspaceSkills(shown: readonly Skill[], { reads }: Pick<ToolContext, 'reads'>): void {
  for (const { name, fromWorkspace } of shown)
    if (fromWorkspace === true) reads({ stranger: workspaceSkill(name) })
}

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
