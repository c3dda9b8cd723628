// Loads what the configuration gives to agents: tools, workflow definitions, profiles, the same in a daemon,
// its worker threads and the command line. A faulty file is a diagnostic. It is an error only if it would
// send calls to the wrong tool or tasks to the wrong profile: two tools with one provider name (D-13), or a
// missing default profile. A running daemon reads definitions and profiles again, but not tools: their
// modules are code, which was accepted as it was.
import {
  type AgentProfile,
  externalTool,
  type ExternalTool,
  addedToolNames,
  brokenFile,
  loadDefinitions,
  type LoadDiagnostic,
  type LoadedTools,
  loadProfiles,
  loadTools,
  type Tool,
  type ToolCatalog,
  toolNameAtProvider,
  toolNameCollision,
} from '@beaver/agent'
import { BeaverError, type JsonObject } from '@beaver/core'
import { definitionPrefix } from '@beaver/core/graph'
import {
  addedWorkflowTools,
  createTeamWorkflowTools,
  findTaskWorkflow,
  findWorkflow,
  type MemberProfile,
  type PlanOptions,
  type PlanResult,
  type Refusal,
  taskWorkflowNames,
  type Workflow,
  type WorkflowDefinitionFile,
  workflowToolPrefix,
} from '@beaver/workflows'
import { builtinTools } from './builtin-tools.ts'
import type { BuiltinToolOptions } from './options.ts'

/** Where the files are. Plain data: it is sent to every worker thread. */
export interface ToolsetPlaces {
  /** Modules. */
  readonly tools: readonly string[]
  /** The accepted SHA-256 of their files, by absolute path. Default: any. */
  readonly accepted?: Readonly<Record<string, string>>
  /** Folders. */
  readonly workflows: readonly string[]
  /** Files. */
  readonly profiles: readonly string[]
  /** The name of the default profile. `null`: none. */
  readonly profileDefault: string | null
  /** The settings of the built-in tools. Default: those of an empty configuration. */
  readonly builtin?: BuiltinToolOptions
  /** Tools of the daemon's process at its start, which a worker thread gets instead of its own. */
  readonly external?: readonly ExternalTool[]
}

export interface Toolset extends ToolCatalog {
  readonly profiles: ReadonlyMap<string, AgentProfile>
  readonly profileDefault: string | null
  /** The files of the profiles and of the definitions, by the names of these. */
  readonly fileOf: {
    readonly profile: ReadonlyMap<string, string>
    readonly workflow: ReadonlyMap<string, string>
  }
  /** The content of the definitions, for other threads. */
  readonly definitionFiles: readonly WorkflowDefinitionFile[]
  readonly diagnostics: readonly LoadDiagnostic[]
}

/** @throws {BeaverError} `invalid_configuration` */
export async function loadToolset(places: ToolsetPlaces): Promise<Toolset> {
  const { tools: loaded, diagnostics } = await loadOwnTools(places)
  const external = places.external ?? []
  const twice = external.find(({ name }) => loaded.some((tool) => tool.name === name))
  if (twice !== undefined)
    throw new BeaverError(
      'invalid_configuration',
      `There are two tools ${JSON.stringify(twice.name)}: one of the program and one of its modules or built in. Rename one.`,
    )
  const toolset = await readAgain([...loaded, ...external.map(externalTool)], places)
  return { ...toolset, diagnostics: [...diagnostics, ...toolset.diagnostics] }
}

/** The built-in tools and those of the modules, which are loaded once. */
export function loadOwnTools(places: ToolsetPlaces): Promise<LoadedTools> {
  const reserved = (name: string): string | null =>
    findWorkflow(name) === null ? null : 'has the name of a workflow tool'
  const cells = { sandbox: places.builtin?.sandbox, accepted: places.accepted, reserved }
  return loadTools(builtinTools(places.builtin), places.tools, cells)
}

/**
 * Reads definitions and profiles again, for tools that are already loaded.
 *
 * @throws {BeaverError} `invalid_configuration`
 */
export async function readAgain(tools: readonly Tool[], places: ToolsetPlaces): Promise<Toolset> {
  const {
    definitions,
    files,
    fileOf: ofWorkflow,
    diagnostics: ofDefinitions,
  } = await loadDefinitions(places.workflows, tools)
  const {
    profiles,
    fileOf: ofProfile,
    diagnostics: ofProfiles,
  } = await loadProfiles(places.profiles, {
    tools,
    definitions,
    diagnostics: ofDefinitions,
  })
  checkNames({ tools, definitions })
  if (places.profileDefault !== null && !profiles.has(places.profileDefault)) {
    const broken = ofProfiles.find(({ severity }) => severity === 'error')
    throw new BeaverError(
      'invalid_configuration',
      `The default profile ${JSON.stringify(places.profileDefault)} is not loaded (${profiles.size === 0 ? 'none is' : `loaded: ${[...profiles.keys()].join(', ')}`}).${broken === undefined ? ' Name its file in "profiles".' : ` ${broken.file}: ${broken.message}`}`,
      { problems: [{ path: 'profile', message: 'does not name a loaded profile' }] },
    )
  }
  return {
    tools,
    definitions,
    fileOf: {
      profile: ofProfile,
      workflow: new Map([...ofWorkflow].map(([id, file]) => [definitionPrefix + id, file])),
    },
    definitionFiles: files,
    profiles,
    profileDefault: places.profileDefault,
    diagnostics: [...ofDefinitions, ...ofProfiles],
  }
}

function checkNames({ tools, definitions }: ToolCatalog): void {
  const taken = tools.find(({ name }) => findWorkflow(name) !== null)
  if (taken !== undefined)
    throw new BeaverError(
      'invalid_configuration',
      `The tool ${JSON.stringify(taken.name)} has the name of a workflow tool. Give it another name.`,
    )
  const reserved = tools.find(({ name }) => addedToolNames.has(name))
  if (reserved !== undefined)
    throw new BeaverError(
      'invalid_configuration',
      `The tool ${JSON.stringify(reserved.name)} has the name of a tool that Beaver adds where it is needed. Give it another name.`,
    )
  const workflows = [...createTeamWorkflowTools(), ...addedWorkflowTools()].flatMap(({ name }) => [
    name,
    workflowToolPrefix + name,
  ])
  const collision = toolNameCollision([...tools, ...definitions].map(({ name }) => name).concat(workflows))
  if (collision === null) return
  const [one, other] = collision
  throw new BeaverError(
    'invalid_configuration',
    `A provider could not tell the tools ${JSON.stringify(one)} and ${JSON.stringify(other)} apart: both would be called ${JSON.stringify(toolNameAtProvider(one))}. Give one of them another name.`,
  )
}

export interface TaskWorkflows {
  readonly find: (name: string) => Workflow | null
  readonly names: readonly string[]
  /** The arguments of a task, with the content of each profile instead of its name in an AgentTeam (D-17). */
  readonly resolve: (
    workflow: string,
    args: JsonObject,
  ) => { readonly ok: true; readonly args: JsonObject } | Refusal
}

/** The workflows that a task may be: those that this process knows, and the definitions. */
export function taskWorkflows(toolset: Toolset): TaskWorkflows {
  const byName = new Map(toolset.definitions.map((workflow) => [workflow.name, workflow]))
  return {
    find: (name) => byName.get(name) ?? findTaskWorkflow(name),
    names: [...taskWorkflowNames(), ...byName.keys()],
    resolve(workflow, args) {
      const resolved = findTaskWorkflow(workflow)?.withProfiles?.(args, (name) =>
        memberProfile(name, toolset),
      )
      if (resolved === undefined) return { ok: true, args }
      return resolved.ok ? { ok: true, args: resolved.args as JsonObject } : resolved
    },
  }
}

/**
 * Finds a workflow that a task may be.
 *
 * @throws {BeaverError} `unknown_workflow`, with what is wrong with its file, or with a name that may be meant
 */
export function workflowNamed(
  name: string,
  { find, names }: Pick<TaskWorkflows, 'find' | 'names'>,
  diagnostics: readonly LoadDiagnostic[],
): Workflow {
  const found = find(name)
  if (found !== null) return found
  const broken = name.startsWith(definitionPrefix)
    ? brokenFile(name.slice(definitionPrefix.length), diagnostics)
    : null
  if (broken !== null)
    throw new BeaverError(
      'unknown_workflow',
      `The workflow ${JSON.stringify(name)} cannot be used. ${broken}`,
    )
  const meant = names.find(
    (each) =>
      each.toLowerCase() === `${definitionPrefix}${name}`.toLowerCase() ||
      (name.length >= 4 && sameBeginning(each, name)),
  )
  throw new BeaverError(
    'unknown_workflow',
    `There is no workflow ${JSON.stringify(name)}.${meant === undefined ? '' : ` Did you mean ${meant}?`} Workflows: ${names.join(', ')}.`,
  )
}

/** Whether the first four letters of two names are equal, without the prefix of definitions. */
function sameBeginning(known: string, name: string): boolean {
  const isDefinition = (text: string): boolean => text.startsWith(definitionPrefix)
  const bare = (text: string): string =>
    (isDefinition(text) ? text.slice(definitionPrefix.length) : text).toLowerCase().slice(0, 4)
  return isDefinition(known) === isDefinition(name) && bare(known) === bare(name)
}

/** Plans a workflow as a task would begin with it: with the content of each profile that it names. */
export function planTask(
  workflow: Workflow,
  args: unknown,
  { resolve, options }: Pick<TaskWorkflows, 'resolve'> & { readonly options: PlanOptions },
): PlanResult {
  const resolved = resolve(workflow.name, args as JsonObject)
  return resolved.ok ? workflow.plan(resolved.args, options) : resolved
}

/**
 * What a profile gives to a member. Tools of MCP servers are known only where the member runs. So every id is
 * kept, and the member's run records the names that are no tool of it (D-65).
 */
function memberProfile(name: string, toolset: Toolset): MemberProfile | null {
  const profile = toolset.profiles.get(name)
  if (profile === undefined) return null
  const { extra_body: _, ...settings } = profile.modelSettings ?? {}
  return {
    ...(profile.model === undefined ? {} : { model: profile.model }),
    ...(profile.modelSettings === undefined ? {} : { model_settings: settings }),
    ...(profile.systemPrompt === null ? {} : { system_prompt: profile.systemPrompt }),
    ...(profile.toolIds === null ? {} : { allowed_tool_names: profile.toolIds.flatMap(memberToolName) }),
  }
}

/** An id without a prefix names nothing, which the loading of the profile has reported. */
function memberToolName(id: string): string[] {
  if (!id.includes(':')) return []
  const name = id.replace(/^system:/, '')
  return name === '' ? [] : [name]
}
