// `beaver skills`: lists the skills that a daemon would load here, shows one of them, and checks a folder
// against the standard. It needs no running system.
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import {
  checkSkill,
  defaultInventory,
  listSupportFiles,
  type LoadDiagnostic,
  loadSkills,
  resolveInventory,
  type Skill,
  type SkillCheck,
  type SkillPlace,
  skillPlaces,
  type SkillSurroundings,
  type SupportFiles,
} from '@beaver/agent'
import { BeaverError } from '@beaver/core'
import type { Config } from '@beaver/platform'
import { knownTools } from '@beaver/workflows'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import type { Screen } from '../screen.ts'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { paintReport } from '../text/report.ts'
import { table } from '../text/table.ts'
import { wrapText } from '../text/wrap.ts'
import { toolsetOf } from '../toolset.ts'

interface SkillsOptions {
  readonly json?: true
}

export interface ListedSkill {
  readonly skill: Skill
  readonly source: SkillPlace['source']
}

export async function skills(
  verb: 'list' | 'show' | 'check',
  nameOrFolder: string | undefined,
  options: SkillsOptions,
  globals: GlobalOptions,
): Promise<number> {
  if (verb === 'list' && nameOrFolder !== undefined)
    throw new UsageError(`"skills list" takes no name. For one skill: beaver skills show ${nameOrFolder}`)
  if (verb === 'show' && nameOrFolder === undefined)
    throw new UsageError('Name the skill: beaver skills show <name>. "beaver skills list" shows the names.')
  if (verb === 'check' && nameOrFolder === undefined)
    throw new UsageError('Name the folder: beaver skills check <folder of a skill, or of skills>.')
  const { config, screen } = contextOf(globals, verb === 'check' ? 'tools' : 'system')
  if (verb === 'check')
    return check(nameOrFolder ?? '', options, { screen, around: await surroundings(config) })
  const places = skillPlaces({
    configured: config.skills,
    workspace: config.agent.workspace_skills ? config.workspace : null,
  })
  const loaded = await loadSkills(places.map(({ folder }) => folder))
  const listed = loaded.skills.map((skill): ListedSkill => ({ skill, source: sourceOf(skill, places) }))
  if (verb === 'list') {
    if (loaded.diagnostics.length > 0) screen.warn(...loaded.diagnostics.map(diagnosticLine))
    list(listed, options, screen)
  } else await show(nameOrFolder ?? '', listed, options, screen)
  return 0
}

function list(listed: readonly ListedSkill[], options: SkillsOptions, screen: Screen): void {
  if (options.json === true)
    screen.json({ skills: listed.map(({ skill, source }) => summaryOf(skill, source)) })
  else
    screen.print(
      ...(listed.length === 0
        ? ['No skill is loaded. Write one in ./skills/<name>/SKILL.md.']
        : skillsTable(listed, screen)),
    )
}

export function skillsTable(
  listed: readonly ListedSkill[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): string[] {
  return table<ListedSkill>(
    [
      { title: 'NAME', cell: ({ skill }) => oneLine(skill.name), paint: style.cyan },
      { title: 'FROM', cell: ({ source }) => source, optional: 1 },
      {
        title: 'GUIDES',
        cell: ({ skill }) => oneLine(skill.guidance?.preferred_tool ?? '-', 40),
        optional: 3,
      },
      {
        title: 'CHOSEN BY',
        cell: ({ skill }) => (skill.modelInvocable ? 'anyone' : 'name only'),
        optional: 2,
      },
      { title: 'DESCRIPTION', cell: ({ skill }) => oneLine(skill.description), flexible: true },
    ],
    listed,
    { width: columns, title: style.dim },
  )
}

async function show(
  name: string,
  listed: readonly ListedSkill[],
  options: SkillsOptions,
  screen: Screen,
): Promise<void> {
  const found = listed.find(({ skill }) => skill.name === name)
  if (found === undefined) {
    const known =
      listed.length === 0 ? 'none is loaded' : `loaded: ${listed.map(({ skill }) => skill.name).join(', ')}`
    throw new BeaverError('unknown_skill', `There is no skill ${JSON.stringify(name)} (${known}).`)
  }
  const files = await listSupportFiles(found.skill, new AbortController().signal)
  if (options.json === true) {
    const { guidance, body, license, compatibility, sha256 } = found.skill
    screen.json({
      ...summaryOf(found.skill, found.source),
      license,
      compatibility,
      sha256,
      guidance,
      body,
      files: files.files,
      more_files: files.more,
    })
  } else screen.print(...skillLines(found, files, screen))
}

export function skillLines(
  { skill, source }: ListedSkill,
  { files, more }: SupportFiles,
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): string[] {
  const field = (title: string, value: string): string[] => {
    const [first = '', ...rest] = wrapText(oneLine(value, 20_000), columns - titleColumns)
    return [
      style.dim(title.padEnd(titleColumns)) + first,
      ...rest.map((line) => ' '.repeat(titleColumns) + line),
    ]
  }
  const { guidance, allowedTools } = skill
  return [
    style.bold(oneLine(skill.name)),
    ...field('For', skill.description),
    ...field('From', `${source}, ${skill.folder}`),
    ...field('Chosen by', skill.modelInvocable ? 'its name, or a model that chooses it' : 'its name only'),
    ...(guidance === null
      ? []
      : field(
          'Guides',
          `${guidance.preferred_tool} with ${guidance.agents.map((agent) => agent.name).join(', ')}`,
        )),
    ...(allowedTools === null ? [] : field('Tools', allowedTools.join(' ') || 'none')),
    ...(skill.compatibility === null ? [] : field('Needs', skill.compatibility)),
    ...(skill.license === null ? [] : field('License', skill.license)),
    ...(files.length === 0 ? [] : field('Files', `${files.join(', ')}${more ? ' and more' : ''}`)),
    ...field('SHA-256', skill.sha256),
    '',
    paintReport(skill.body.trim(), style),
  ]
}

const titleColumns = 11

/**
 * The tools and workflows that a daemon would offer here. `undefined` if the configuration cannot be loaded;
 * then a check judges only what the skill itself says.
 */
async function surroundings(config: Config): Promise<SkillSurroundings | undefined> {
  try {
    const toolset = await toolsetOf(config)
    const toolIds =
      toolset.profileDefault === null ? null : (toolset.profiles.get(toolset.profileDefault)?.toolIds ?? null)
    const { teamWorkflows } =
      toolIds === null ? defaultInventory(toolset) : resolveInventory(toolIds, toolset)
    return {
      tools: knownTools(
        toolset.tools.map(({ name }) => name),
        Object.keys(config.mcp),
      ),
      teamWorkflows: teamWorkflows.map(({ name }) => name),
      profile: toolset.profileDefault,
    }
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    return undefined
  }
}

async function check(
  path: string,
  options: SkillsOptions,
  { screen, around }: { screen: Screen; around: SkillSurroundings | undefined },
): Promise<number> {
  const checks = await checksOf(path, around)
  if (options.json === true) screen.json({ skills: checks })
  else screen.print(...checkLines(checks, screen), ...summary(checks))
  return checks.every(({ valid }) => valid) ? 0 : 1
}

/**
 * Checks the folder if it has a SKILL.md, otherwise each folder in it that has one.
 *
 * @throws {UsageError} if the path is not a folder
 */
async function checksOf(typedPath: string, around: SkillSurroundings | undefined): Promise<SkillCheck[]> {
  const path = resolve(typedPath)
  const folder = basename(path).toUpperCase() === 'SKILL.MD' ? dirname(path) : path
  const found = await stat(folder).catch(() => null)
  if (found === null) throw new UsageError(`There is no folder ${typedPath}.`)
  if (!found.isDirectory())
    throw new UsageError(
      `${typedPath} is not a folder. Give the folder of a skill, or a folder of such folders.`,
    )
  const itself = await checkSkill(folder, around)
  if (itself.loads || itself.problems.some(({ rule }) => rule !== 'missing')) return [itself]
  const below: SkillCheck[] = []
  for (const entry of (await readdir(folder, { withFileTypes: true })).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    if (!entry.isDirectory() && !entry.isSymbolicLink()) continue
    const each = await checkSkill(join(folder, entry.name), around)
    if (!each.problems.some(({ rule }) => rule === 'missing')) below.push(each)
  }
  return below.length === 0 ? [itself] : below
}

function summary(checks: readonly SkillCheck[]): string[] {
  if (checks.length === 1) return []
  const valid = checks.filter((each) => each.valid).length
  return [
    '',
    `Valid: ${valid} of ${counted(checks.length, 'skill')}. Loaded by Beaver: ${checks.filter(({ loads }) => loads).length}.`,
  ]
}

function summaryOf(
  { name, description, folder, guidance, modelInvocable, allowedTools }: Skill,
  source: SkillPlace['source'],
): object {
  return {
    name,
    description,
    source,
    folder,
    guides: guidance?.preferred_tool ?? null,
    model_invocable: modelInvocable,
    allowed_tools: allowedTools,
  }
}

const sourceOf = ({ folder }: Skill, places: readonly SkillPlace[]): SkillPlace['source'] =>
  places.find((place) => dirname(folder) === resolve(place.folder))?.source ?? 'configured'

const diagnosticLine = ({ file, severity, message }: LoadDiagnostic): string =>
  oneLine(`${severity}: ${file}: ${message}`)

// Formats the check of skills: what the standard says about each, and what Beaver does with it. No line is
// wider than the screen. If both give the same message, it appears once.

const checkTitleColumns = 15
const indent = '    '

type Look = Pick<Screen, 'columns' | 'style' | 'symbols'>

export function checkLines(checks: readonly SkillCheck[], look: Look): string[] {
  return checks.flatMap((check) => [...verdictLines(check, look), ...rowsOf(check, look)])
}

function verdictLines(check: SkillCheck, { columns, style, symbols }: Look): string[] {
  const ours = check.problems.filter(({ rule }) => rule === 'guidance').length
  const broken = check.problems.length - ours
  const standard = broken === 0 ? 'valid by the standard' : `${counted(broken, 'problem')} by the standard`
  const verdict = ours === 0 ? standard : `${standard}, ${counted(ours, 'problem')} in its guidance`
  const name = oneLine(folderOf(check), 200)
  const mark = check.valid ? style.green(symbols.done) : style.red(symbols.failed)
  const lines = wrapText(`${name}: ${verdict}; ${loading(check)}.`, columns - 2)
  return lines.map((line, i) =>
    i > 0
      ? `  ${line}`
      : `${mark} ${line.startsWith(name) ? style.bold(name) + line.slice(name.length) : line}`,
  )
}

function rowsOf({ problems, advice, told }: SkillCheck, { columns, style }: Look): string[] {
  const said = new Set([...problems, ...advice].map(({ message }) => message))
  const rows = [
    ...problems.map(({ rule, message }) => ({ title: rule, text: message, paint: style.red })),
    ...advice.map(({ rule, message }) => ({ title: rule, text: `Advice: ${message}`, paint: style.dim })),
    ...told
      .filter(({ message }) => !said.has(message))
      .map(({ message }) => ({ title: 'Beaver', text: message, paint: style.yellow })),
  ]
  return rows.flatMap(({ title, text, paint }) =>
    wrapText(oneLine(text), columns - indent.length - checkTitleColumns).map(
      (line, i) => indent + paint((i === 0 ? title : '').padEnd(checkTitleColumns)) + line,
    ),
  )
}

const folderOf = ({ folder }: SkillCheck): string =>
  folder.split(/[/\\]/).findLast((part) => part !== '') ?? folder

function loading(check: SkillCheck): string {
  const { loads, name, told } = check
  if (!loads) return 'Beaver leaves it out'
  const as = name === folderOf(check) ? '' : ` as ${oneLine(name ?? '', 200)}`
  return `Beaver loads it${as}${told.length === 0 ? '' : `, with ${counted(told.length, 'warning')}`}`
}
