// What the configuration gives agents to work with: tools, workflow definitions, profiles. A daemon, each of its workers and the
// command line load the same.
// T1. A file that is wrong is a diagnostic. T2. What would make calls go to the wrong tool, or tasks to the wrong profile, is an
//     error: two tools one provider name stands for (D-13), a default profile that is not there.
import {
  type AgentProfile,
  externalTool,
  type ExternalTool,
  loadDefinitions,
  type LoadDiagnostic,
  loadProfiles,
  loadTools,
  resolveInventory,
  type ToolCatalog,
  toolNameAtProvider,
  toolNameCollision,
} from '@beaver/agent'
import { BeaverError, type JsonObject } from '@beaver/core'
import {
  agentTeam,
  createTeamWorkflowTools,
  findTaskWorkflow,
  findWorkflow,
  type MemberProfile,
  moreWorkflowTools,
  type Refusal,
  withMemberProfiles,
  type Workflow,
  workflowToolPrefix,
} from '@beaver/workflows'
import { builtinTools } from './builtin-tools.ts'
import type { BuiltinToolOptions } from './options.ts'

/** Where things are. Plain data: it goes to every worker thread. */
export interface ToolsetPlaces {
  /** Modules. */
  readonly tools: readonly string[]
  /** Folders. */
  readonly workflows: readonly string[]
  /** Files. */
  readonly profiles: readonly string[]
  /** The name of the default profile; `null`: none. */
  readonly profileDefault: string | null
  /** How the built-in tools are set up; absent: as the configuration has them when it says nothing. */
  readonly builtin?: BuiltinToolOptions
  /** Tools of the daemon's process that are there from its start; a worker thread is offered them instead. */
  readonly external?: readonly ExternalTool[]
}

export interface Toolset extends ToolCatalog {
  readonly profiles: ReadonlyMap<string, AgentProfile>
  readonly profileDefault: string | null
  readonly diagnostics: readonly LoadDiagnostic[]
}

/** @throws {BeaverError} `invalid_configuration` */
export async function loadToolset(places: ToolsetPlaces): Promise<Toolset> {
  const { tools: loaded, diagnostics: ofTools } = await loadTools(builtinTools(places.builtin), places.tools)
  const external = places.external ?? []
  const twice = external.find(({ name }) => loaded.some((tool) => tool.name === name))
  if (twice !== undefined)
    throw new BeaverError(
      'invalid_configuration',
      `There are two tools ${JSON.stringify(twice.name)}: one of the program and one of its modules or built in. Rename one.`,
    )
  const tools = [...loaded, ...external.map(externalTool)]
  const { definitions, diagnostics: ofDefinitions } = await loadDefinitions(places.workflows)
  const { profiles, diagnostics: ofProfiles } = await loadProfiles(places.profiles, { tools, definitions })
  checkNames({ tools, definitions })
  if (places.profileDefault !== null && !profiles.has(places.profileDefault)) {
    const broken = ofProfiles.find(({ severity }) => severity === 'error')
    throw new BeaverError(
      'invalid_configuration',
      `The default profile ${JSON.stringify(places.profileDefault)} is not loaded (${profiles.size === 0 ? 'none is' : `loaded: ${[...profiles.keys()].join(', ')}`}).${broken === undefined ? ' Name its file in "profiles".' : ` ${broken.file}: ${broken.message}`}`,
      { problems: [{ path: 'profile', message: 'names no loaded profile' }] },
    )
  }
  return { tools, definitions, profiles, profileDefault: places.profileDefault, diagnostics: [...ofTools, ...ofDefinitions, ...ofProfiles] }
}

function checkNames({ tools, definitions }: ToolCatalog): void {
  const taken = tools.find(({ name }) => findWorkflow(name) !== null)
  if (taken !== undefined)
    throw new BeaverError('invalid_configuration', `The tool ${JSON.stringify(taken.name)} has the name of a workflow tool. Give it another name.`)
  const workflows = [...createTeamWorkflowTools(), ...moreWorkflowTools].flatMap(({ name }) => [name, workflowToolPrefix + name])
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
  /** The arguments a task is to keep: the profiles that members of an AgentTeam name are replaced by what they hold (D-17). */
  readonly resolve: (workflow: string, args: JsonObject) => { readonly ok: true; readonly args: JsonObject } | Refusal
}

/** The workflows a task may be: the workflow tools, AgentTeam, the definitions. */
export function taskWorkflows(toolset: Toolset): TaskWorkflows {
  const byName = new Map(toolset.definitions.map((workflow) => [workflow.name, workflow]))
  const tools = [...createTeamWorkflowTools(), ...moreWorkflowTools].map(({ name }) => name)
  return {
    find: (name) => byName.get(name) ?? findTaskWorkflow(name),
    names: [...tools, agentTeam.name, ...byName.keys()],
    resolve(workflow, args) {
      if (workflow !== agentTeam.name) return { ok: true, args }
      const resolved = withMemberProfiles(args, (name) => memberProfile(name, toolset))
      return resolved.ok ? { ok: true, args: resolved.args as JsonObject } : resolved
    },
  }
}

/** What a profile is to a member, which has no workflow tools. */
function memberProfile(name: string, toolset: Toolset): MemberProfile | null {
  const profile = toolset.profiles.get(name)
  if (profile === undefined) return null
  return {
    ...(profile.systemPrompt === null ? {} : { system_prompt: profile.systemPrompt }),
    ...(profile.toolIds === null ? {} : { allowed_tool_names: resolveInventory(profile.toolIds, toolset).tools.map((tool) => tool.name) }),
  }
}
