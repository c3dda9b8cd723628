// The agents of a daemon: tools, profiles, workflows and skills. Tools are code and are loaded once; skills,
// definitions and profiles are read again when their files change. New content replaces the old as a whole or
// not at all, and all threads get it before a later run starts. The configuration itself is read once.
import {
  type AgentTexts,
  brokenFile,
  type ExternalTools,
  isBuiltin,
  type LoadDiagnostic,
  loadPlacedSkills,
  type RuleFault,
  type Skill,
  skillPlaces,
  stampOfJson,
  stampOfSkills,
  type Tool,
  workspaceSkills,
} from '@beaver/agent'
import { type Logger, systemFacts } from '@beaver/core'
import type { BudgetLimits } from '@beaver/core/budget'
import type { Config } from '@beaver/platform'
import {
  builtinToolOptions,
  configuredRuleFaults,
  loadToolset,
  readAgain,
  ruleFaultText,
  taskWorkflows,
  type Toolset,
  type ToolsetPlaces,
} from '@beaver/tools'
import { type KnownTools, knownTools, type Workflow } from '@beaver/workflows'

export interface Agents {
  readonly places: ToolsetPlaces
  readonly workflowLimits: { readonly agentsMax: number; readonly edgesMax: number }
  /** Names that no MCP server may give to a tool. */
  readonly toolNames: readonly string[]
  /** The texts, as last read. */
  readonly texts: AgentTexts
  readonly skills: readonly Skill[]
  readonly skillNames: readonly string[]
  readonly workflows: Pick<ReturnType<typeof taskWorkflows>, 'names' | 'resolve'>
  /** A workflow whose plans obey the configured limits; `null`: none has that name. */
  findWorkflow(name: string): Workflow | null
  readonly profileNames: readonly string[]
  /**
   * What a task may use whose root has this profile; `null`: the default one. `undefined`: the profile does not
   * say it.
   */
  budgetOf(profile: string | null): BudgetLimits | undefined
  /** The profile of a root agent that names none. `null`: it has none. */
  readonly profileDefault: string | null
  /** What is wrong with a definition or profile file of this name. `null`: no such file is broken. */
  brokenFile(name: string): string | null
  /** The tools, definitions and profiles, as last read. */
  readonly toolset: Toolset
  /** What is wrong with files, and why changes of them are not used. */
  readonly findings: readonly LoadDiagnostic[]
  /** Why changes of files are not used. */
  readonly changesNotUsed: readonly LoadDiagnostic[]
  /** The tools that agents may have. `ofProfile`: those that a profile lists; `null`: no limit. */
  readonly tools: { readonly known: KnownTools; ofProfile(profile: string | null): readonly string[] | null }
  /** A tool of the configuration, or `null`. */
  toolNamed(name: string): Tool | null
  /** The skills of the workspace of a task. `null`: they are switched off. */
  readonly skillsIn: ReturnType<typeof workspaceSkills> | null
  /**
   * Checks whether files have changed, and waits a short time for that. It never rejects. @param how.now even
   * right after another look
   */
  refresh(how?: { readonly now: boolean }): Promise<void>
  /** @returns a function that ends it */
  onChange(listener: () => void): () => void
  /** Ends the daemon's own looks. */
  close(): void
}

/** How often a daemon looks by itself, at most. An accepted task makes it look too. */
const lookMs = 2_000
/** How long a task waits for a look. With thousands of files, the task gets what the look before found. */
const waitMsMax = 250
const urgentMsMax = 2_000
/** How long an editor may take between two steps of writing a file. */
const doubtMs = 250

/**
 * Diagnostics go to the log.
 * @param embedded tools of the program that embeds the daemon
 * @throws {BeaverError} `invalid_configuration`, and the errors of the loaders
 */
export async function loadAgents(
  config: Config,
  embedded: ExternalTools | null,
  logger: Logger,
): Promise<Agents> {
  const places: ToolsetPlaces = {
    tools: config.tools,
    accepted: Object.fromEntries(config.trust.files),
    workflows: config.workflows,
    profiles: config.profiles,
    profileDefault: config.profile ?? null,
    builtin: builtinToolOptions(config),
  }
  const loaded = await loadToolset({ ...places, external: embedded?.tools ?? [] })
  const toolset = await WatchedFiles.open<Toolset>({
    name: config.file ?? 'the configuration',
    stamp: () => stampOfJson(places.workflows, places.profiles),
    async read() {
      const content = await readAgain(loaded.tools, places)
      return { content, diagnostics: content.diagnostics }
    },
  })
  const skills = await WatchedFiles.open<readonly Skill[]>(skillReader(config))
  for (const diagnostic of [...skills.diagnostics, ...loaded.diagnostics]) tellDiagnostic(logger, diagnostic)
  tellRuleFaults(logger, config, configuredRuleFaults(config, loaded))
  const ofTools = loaded.diagnostics
  return new DaemonAgents({ config, places, toolset, skills, ofTools, embedded, logger })
}

interface Parts {
  readonly config: Config
  readonly places: ToolsetPlaces
  readonly toolset: WatchedFiles<Toolset>
  readonly skills: WatchedFiles<readonly Skill[]>
  /** What was wrong when the modules of tools were loaded, among other things. */
  readonly ofTools: readonly LoadDiagnostic[]
  readonly embedded: ExternalTools | null
  readonly logger: Logger
}

type Now = Pick<Agents, 'texts' | 'skillNames' | 'profileNames'> & {
  readonly workflows: ReturnType<typeof taskWorkflows>
}

class DaemonAgents implements Agents {
  readonly places: ToolsetPlaces
  readonly workflowLimits: Agents['workflowLimits']
  readonly toolNames: readonly string[]
  readonly skillsIn: Agents['skillsIn']
  readonly tools: Agents['tools']
  readonly #parts: Parts
  readonly #pace = new LookPace(() => this.#look())
  readonly #listeners = new Set<() => void>()
  readonly #timer: NodeJS.Timeout
  #soon: NodeJS.Timeout | undefined
  #now: Now

  constructor(parts: Parts) {
    const { config, places, toolset, embedded, logger } = parts
    this.#parts = parts
    this.places = places
    this.workflowLimits = { agentsMax: config.team.agents_max, edgesMax: config.team.edges_max }
    this.toolNames = [...toolset.content.tools, ...(embedded?.tools ?? [])].map(({ name }) => name)
    const known = knownTools(this.toolNames, Object.keys(config.mcp))
    this.tools = { known, ofProfile: (profile) => this.#toolsOf(profile ?? config.profile ?? null) }
    this.#now = this.#read()
    const reserved = (name: string): boolean =>
      this.skills.some((skill) => skill.name === name && !isBuiltin(skill))
    const ofTasks = workspaceSkills({ reserved, tell: (diagnostic) => tellDiagnostic(logger, diagnostic) })
    this.skillsIn = config.agent.workspace_skills ? ofTasks : null
    this.#timer = setInterval(() => void this.refresh(), lookMs).unref()
  }

  get texts(): AgentTexts {
    return this.#now.texts
  }

  get skills(): readonly Skill[] {
    return this.#now.texts.skills
  }

  get skillNames(): readonly string[] {
    return this.#now.skillNames
  }

  get profileNames(): readonly string[] {
    return this.#now.profileNames
  }

  get workflows(): Agents['workflows'] {
    return this.#now.workflows
  }

  get changesNotUsed(): readonly LoadDiagnostic[] {
    return [...this.#parts.skills.faults, ...this.#parts.toolset.faults]
  }

  get toolset(): Toolset {
    return this.#parts.toolset.content
  }

  get findings(): readonly LoadDiagnostic[] {
    const { skills, toolset, ofTools, places } = this.#parts
    const ofModules = ofTools.filter(({ file }) => places.tools.includes(file))
    return [...ofModules, ...skills.diagnostics, ...toolset.diagnostics, ...this.changesNotUsed]
  }

  findWorkflow(name: string): Workflow | null {
    const workflow = this.#now.workflows.find(name)
    const [limits, tools] = [this.workflowLimits, this.tools.known]
    return workflow === null
      ? null
      : { ...workflow, plan: (args, options) => workflow.plan(args, { limits, tools, ...options }) }
  }

  toolNamed(name: string): Tool | null {
    return this.#parts.toolset.content.tools.find((tool) => tool.name === name) ?? null
  }

  brokenFile(name: string): string | null {
    const { toolset } = this.#parts
    return brokenFile(name, [...toolset.faults, ...toolset.diagnostics])
  }

  refresh(how?: { readonly now: boolean }): Promise<void> {
    const looked = this.#pace.ask(how)
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, how?.now === true ? urgentMsMax : waitMsMax)
    return Promise.race([looked, late]).finally(() => clearTimeout(timer))
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    clearInterval(this.#timer)
    clearTimeout(this.#soon)
  }

  get profileDefault(): string | null {
    return this.#parts.places.profileDefault
  }

  budgetOf(profile: string | null): BudgetLimits | undefined {
    const { toolset, places } = this.#parts
    return toolset.content.profiles.get(profile ?? places.profileDefault ?? '')?.budget
  }

  #toolsOf(profile: string | null): readonly string[] | null {
    const ids = profile === null ? null : (this.#parts.toolset.content.profiles.get(profile)?.toolIds ?? null)
    return ids === null ? null : ids.map((id) => id.replace(/^system:/, ''))
  }

  async #look(): Promise<void> {
    try {
      await this.#lookAtFiles()
    } catch (error) {
      systemFacts.callbackFailed(this.#parts.logger, {
        where: 'files of skills, definitions and profiles',
        error,
      })
    }
  }

  async #lookAtFiles(): Promise<void> {
    const { skills, toolset, logger } = this.#parts
    let changed = false
    for (const files of [skills, toolset] as const) {
      const before = files.diagnostics
      const look = await files.look()
      if (look === 'doubtful') this.#lookSoon()
      if (look === 'broken')
        for (const fault of files.faults.slice(0, toldMax)) systemFacts.changeNotUsed(logger, fault)
      if (look !== 'used') continue
      changed = true
      const known = new Set(before.map(lineOf))
      for (const diagnostic of files.diagnostics)
        if (!known.has(lineOf(diagnostic))) tellDiagnostic(logger, diagnostic)
    }
    if (!changed) return
    this.#now = this.#read()
    const { texts } = this.#now
    systemFacts.filesReadAgain(logger, {
      skills: texts.skills.length,
      definitions: texts.definitions.length,
      profiles: texts.profiles.length,
    })
    for (const listener of this.#listeners) listener()
  }

  #lookSoon(): void {
    clearTimeout(this.#soon)
    this.#soon = setTimeout(() => void this.refresh({ now: true }), doubtMs).unref()
  }

  #read(): Now {
    const toolset = this.#parts.toolset.content
    const skills = this.#parts.skills.content
    return {
      texts: { skills, definitions: toolset.definitionFiles, profiles: [...toolset.profiles.values()] },
      skillNames: skills.map(({ name }) => name),
      profileNames: [...toolset.profiles.keys()],
      workflows: taskWorkflows(toolset),
    }
  }
}

const toldMax = 10
const lineOf = ({ file, message }: LoadDiagnostic): string => `${file}: ${message}`

const placesOf = ({ skills, agent, workspace }: Config): ReturnType<typeof skillPlaces> =>
  skillPlaces({ configured: skills, workspace: agent.workspace_skills ? workspace : null })

function skillReader(config: Config): FileReader<readonly Skill[]> {
  const places = placesOf(config)
  return {
    name: 'the skills',
    stamp: () => stampOfSkills(places.map(({ folder }) => folder)),
    async read() {
      const { skills, diagnostics } = await loadPlacedSkills(places)
      return { content: skills, diagnostics }
    },
  }
}

function tellDiagnostic(logger: Logger, { file, severity, message }: LoadDiagnostic): void {
  systemFacts.configurationDiagnostic(logger, {
    file,
    severity: severity === 'error' ? 'error' : 'warning',
    message,
  })
}

const ruleFaultsMax = 10

/** Logs all faults in one line. They stop nothing. */
function tellRuleFaults(logger: Logger, { file }: Config, faults: readonly RuleFault[]): void {
  if (faults.length === 0) return
  const left = faults.length - ruleFaultsMax
  const message = `${faults.slice(0, ruleFaultsMax).map(ruleFaultText).join(' ')}${left > 0 ? ` ${left} more.` : ''}`
  systemFacts.configurationDiagnostic(logger, { file, severity: 'warning', message })
}

// Watched files: decides when files are read again, and whether their content is used; a reader defines the
// content. The files are read only if their stamp has changed. A change with a new fault is not used as long
// as the fault lasts; a fault of the used content is not new. A fault is reported when a second look finds
// the same files, because an editor may write a file in two steps.

interface FileReader<Content> {
  stamp(): Promise<string>
  /** An error that it throws is a fault of `name`. */
  read(): Promise<{ readonly content: Content; readonly diagnostics: readonly LoadDiagnostic[] }>
  /** The name in a fault that names no file. */
  readonly name: string
}

interface Read<Content> {
  readonly content: Content
  readonly diagnostics: readonly LoadDiagnostic[]
}

/**
 * What a look has found. `used`: new content. `doubtful`: a change that seems broken. `broken`: a broken
 * change.
 */
type Look = 'same' | 'used' | 'doubtful' | 'broken'

/** One set of files. Call `look` repeatedly; `LookPace` says how often. */
export class WatchedFiles<Content> {
  readonly #reader: FileReader<Content>
  #used: Read<Content>
  /** The stamp of the files as last read. `null`: they changed during the read. */
  #stamp: string | null
  #faults: readonly LoadDiagnostic[] = []
  #untold = false

  private constructor(reader: FileReader<Content>, used: Read<Content>, stamp: string | null) {
    this.#reader = reader
    this.#used = used
    this.#stamp = stamp
  }

  /** @throws what the reader throws */
  static async open<Content>(reader: FileReader<Content>): Promise<WatchedFiles<Content>> {
    const before = await reader.stamp()
    const used = await reader.read()
    return new WatchedFiles(reader, used, (await reader.stamp()) === before ? before : null)
  }

  get content(): Content {
    return this.#used.content
  }

  /** What is wrong with the content that is used. */
  get diagnostics(): readonly LoadDiagnostic[] {
    return this.#used.diagnostics
  }

  /** Why the newest change is not used. Empty: it is used. */
  get faults(): readonly LoadDiagnostic[] {
    return this.#untold ? [] : this.#faults
  }

  async look(): Promise<Look> {
    const stamp = await this.#reader.stamp()
    if (stamp === this.#stamp) {
      if (!this.#untold) return 'same'
      this.#untold = false
      return 'broken'
    }
    const read = await this.#read()
    // The next look reads files again that change during the read.
    if ((await this.#reader.stamp()) !== stamp) return 'doubtful'
    this.#stamp = stamp
    this.#faults = 'faults' in read ? read.faults : newFaults(this.#used, read)
    this.#untold = this.#faults.length > 0
    if ('faults' in read || this.#untold) return 'doubtful'
    this.#used = read
    return 'used'
  }

  async #read(): Promise<Read<Content> | { readonly faults: readonly LoadDiagnostic[] }> {
    try {
      return await this.#reader.read()
    } catch (error) {
      return {
        faults: [
          {
            file: this.#reader.name,
            severity: 'error',
            message: error instanceof Error ? error.message : String(error),
          },
        ],
      }
    }
  }
}

function newFaults<Content>(used: Read<Content>, read: Read<Content>): readonly LoadDiagnostic[] {
  const broken = new Set(
    used.diagnostics.flatMap(({ file, severity }) => (severity === 'error' ? [file] : [])),
  )
  return read.diagnostics.filter(({ file, severity }) => severity === 'error' && !broken.has(file))
}

/** The shortest pause between looks. */
const restMsMin = 100
/**
 * The longest pause between looks: a look that was slow on a busy machine must not hide a change for minutes.
 */
const restMsMax = 5_000
/** Looks take at most one part in so many of the time; urgent looks one in `urgentFactor`. */
const restFactor = 20
const urgentFactor = 2

/** Decides when to look, and shares each look between its callers. */
export class LookPace {
  readonly #look: () => Promise<void>
  readonly #now: () => number
  #looking: Promise<void> | null = null
  #next: Promise<void> | null = null
  #endedMs = Number.NEGATIVE_INFINITY
  #tookMs = 0

  /** @param now a time in milliseconds that never goes back */
  constructor(look: () => Promise<void>, now: () => number = () => performance.now()) {
    this.#look = look
    this.#now = now
  }

  /**
   * Looks, unless it looked a moment ago. @param how.now always waits for a look that begins after the call
   */
  ask({ now }: { readonly now: boolean } = { now: false }): Promise<void> {
    if (now) return (this.#next ??= this.#urgent())
    if (this.#looking !== null) return this.#looking
    return this.#restMs(restFactor, restMsMin) > 0 ? Promise.resolve() : this.#begin()
  }

  async #urgent(): Promise<void> {
    await this.#over()
    const restMs = this.#restMs(urgentFactor)
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs).unref())
    await this.#over()
    this.#next = null
    await this.#begin()
  }

  /** Resolves when no look is under way; a failed look rejects only for its callers. */
  async #over(): Promise<void> {
    await this.#looking?.catch(() => {})
  }

  /** The time until the next look is allowed. */
  #restMs(factor: number, restMsMin = 0): number {
    return this.#endedMs + Math.min(restMsMax, Math.max(restMsMin, this.#tookMs * factor)) - this.#now()
  }

  #begin(): Promise<void> {
    const beganMs = this.#now()
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
      this.#endedMs = this.#now()
      this.#tookMs = this.#endedMs - beganMs
    })
    return this.#looking
  }
}
