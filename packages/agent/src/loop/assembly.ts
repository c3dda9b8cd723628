// Assembles a run's tools within its scope, its workflows and its profile. A worker has no workflow tool
// (D-09). The scope only takes tools away. A root has the inventory of its profile, which is also a ceiling
// for its workers (D-65). A resumed run with a profile has the tools that its start records, as far as they
// exist (D-69). A tool that only asks the user is left out if nobody can answer; a worker has it only if its
// scope lists it. Of many tools, only some are sent with each request (further-tools.ts).
import { applyToolScope, type ClientTool, type DataOf, estimateTokens } from '@beaver/core'
import { askUserTool } from '@beaver/core/question'
import { findWorkflow, type Workflow, workflowToolSchemas } from '@beaver/workflows'
import type { AgentProfile } from '../profile/agent-profile.ts'
import { defaultInventory, type Inventory, resolveInventory } from '../profile/inventory.ts'
import type { ToolSchema } from '../provider/chat-provider.ts'
import { clientToolOf } from '../tools/client-tool.ts'
import { briefTool, type FurtherTools, offerTools } from '../tools/further-tools.ts'
import { rootTeamOutput } from '../tools/team-output.ts'
import { teamSharedState } from '../tools/team-shared-state.ts'
import type { Tool } from '../tools/tool.ts'
import type { LoopServices } from './loop-services.ts'
import type { LoopPart, LoopSpec } from './loop-spec.ts'

/** The tools of a run. Runs with the same scope share one toolbox, so that derived data is computed once. */
export interface Toolbox {
  readonly tools: ReadonlyMap<string, Tool>
  /** Team workflows and `workflow:` definitions, by name. */
  readonly workflows: ReadonlyMap<string, Workflow>
  readonly schemas: readonly ToolSchema[]
  /** The names of the tools that are not sent, and that the model may find. */
  readonly further: ReadonlySet<string>
  /** The schemas that remain under the mode lock: no team workflow (D-05). */
  readonly lockedSchemas: readonly ToolSchema[]
  /** The estimated tokens of the schemas in each request. */
  readonly toolsTokens: number
  /** Whether the tools include a team workflow. */
  readonly teams: boolean
  /** The names of the tools that agents of its teams may have. A worker has no teams. */
  readonly workerTools: readonly string[]
  readonly scope: {
    readonly allowed: string[]
    readonly effective: string[]
    readonly dropped: string[]
  } | null
}

export interface Assembly extends Toolbox {
  readonly profile: AgentProfile | null
  /** The profile that the run names and that this process has not loaded. */
  readonly profileMissing: string | null
  /** The skill that the run must use and that this process has not loaded. */
  readonly skillMissing: string | null
}

/** @param recorded the start of a run that is resumed; `null`: it begins now */
export function assemblyOf(
  spec: LoopSpec,
  services: LoopServices,
  recorded: Pick<DataOf<'run_started'>, 'tools'> | null = null,
): Assembly {
  const { part } = spec
  if (part.kind === 'tool') return toolAssembly(part.tool, services)
  const root = part.kind === 'root'
  const profileName = part.profile === undefined ? null : (part.profile ?? services.profileDefault)
  const profile = profileName === null ? null : (services.profiles.get(profileName) ?? null)
  const mute = spec.unattended === true
  const toolbox = toolboxOf(
    services,
    recorded === null || profileName === null
      ? boxOf(part, profileName, mute)
      : { kind: part.kind, names: recorded.tools },
  )
  const { skill } = part
  // A run that has an answer had its profile.
  const begun = spec.resume?.some(({ type }) => type === 'assistant_message_added') === true
  const skillMissing = skill === null || services.skills.some(({ name }) => name === skill) ? null : skill
  const { clientTools = [] } = root ? part : {}
  return {
    ...(clientTools.length === 0 ? toolbox : withClientTools(toolbox, clientTools)),
    profile: root ? profile : null,
    profileMissing: profile === null && !begun ? profileName : null,
    skillMissing,
  }
}

/**
 * The tools of the client come last, so that the requests of other runs begin alike, and they are always sent.
 * Workers do not have them. A tool of the daemon that came later loses its name.
 */
function withClientTools(toolbox: Toolbox, clientTools: readonly ClientTool[]): Toolbox {
  const own = clientTools.map(clientToolOf)
  const names = new Set(own.map(({ name }) => name))
  const added = own.map(({ name, description, parameters }) => ({ name, description, parameters }))
  const schemas = [...toolbox.schemas.filter(({ name }) => !names.has(name)), ...added]
  return {
    ...toolbox,
    tools: new Map([...toolbox.tools, ...byName(own)]),
    further: new Set([...toolbox.further].filter((name) => !names.has(name))),
    schemas,
    lockedSchemas: [...toolbox.lockedSchemas.filter(({ name }) => !names.has(name)), ...added],
    toolsTokens: tokensOf(schemas),
  }
}

const boxOf = (part: Exclude<LoopPart, { kind: 'tool' }>, profile: string | null, mute: boolean): ToolboxOf =>
  part.kind === 'root'
    ? { kind: 'root', profile, mute }
    : { kind: 'worker', allowed: part.allowedToolNames, shared: part.sharedState, profile, mute }

/** The run of a tool node has that tool and no model. */
function toolAssembly(name: string, services: LoopServices): Assembly {
  const tools = services.tools.filter((tool) => tool.name === name)
  const none = {
    workflows: new Map(),
    schemas: [],
    lockedSchemas: [],
    further: new Set<string>(),
    toolsTokens: 0,
    teams: false,
    workerTools: [],
    scope: null,
  }
  return {
    ...none,
    profile: null,
    profileMissing: null,
    skillMissing: null,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
  }
}

const toolboxesMax = 100
const toolboxes = new WeakMap<LoopServices, Map<string, Toolbox>>()

type ToolboxOf =
  /** `mute`: nobody can answer a question. */
  | { readonly kind: 'root'; readonly profile: string | null; readonly mute: boolean }
  /** `shared`: the worker has `team_shared_state`. `profile`: of its root. */
  | {
      readonly kind: 'worker'
      readonly allowed: readonly string[] | null
      readonly shared: boolean
      readonly profile: string | null
      readonly mute: boolean
    }
  /** A run with a profile that is resumed. */
  | { readonly kind: 'root' | 'worker'; readonly names: readonly string[] }

function toolboxOf(services: LoopServices, wanted: ToolboxOf): Toolbox {
  const owner = services.toolboxesOf ?? services
  const known = toolboxes.get(owner) ?? new Map<string, Toolbox>()
  toolboxes.set(owner, known)
  const key = JSON.stringify(wanted)
  const made = known.get(key) ?? makeToolbox(services, wanted)
  if (known.size >= toolboxesMax) known.delete(known.keys().next().value as string)
  known.set(key, made)
  return made
}

function makeToolbox(services: LoopServices, wanted: ToolboxOf): Toolbox {
  if ('names' in wanted) return recordedToolbox(services, wanted)
  return wanted.kind === 'root' ? rootToolbox(services, wanted) : workerToolbox(services, wanted)
}

/**
 * What the start of the run lists and what exists still, in that order, so that its requests begin as before.
 */
function recordedToolbox(
  services: LoopServices,
  { kind, names }: Extract<ToolboxOf, { names: readonly string[] }>,
): Toolbox {
  const known = byName<Tool | Workflow>([...services.tools, teamSharedState, ...services.definitions])
  const found = names.flatMap((name) => known.get(name) ?? [])
  const tools = found.filter((each): each is Tool => !('plan' in each))
  const definitions = found.filter((each): each is Workflow => 'plan' in each)
  const teamWorkflows =
    kind === 'root' ? names.flatMap((name) => (known.has(name) ? [] : (findWorkflow(name) ?? []))) : []
  const workerTools = kind === 'worker' ? [] : tools.map(({ name }) => name)
  return { ...boxWith({ tools, definitions, teamWorkflows }), workerTools, scope: null }
}

function rootToolbox(
  services: LoopServices,
  { profile, mute }: Extract<ToolboxOf, { profile: string | null }>,
): Toolbox {
  const toolIds = inventoryOf(services, profile)
  const inventory = toolIds === null ? defaultInventory(services) : resolveInventory(toolIds, services)
  const { teamWorkflows, definitions } = inventory
  const tools = mute ? inventory.tools.filter(({ name }) => name !== askUserTool) : inventory.tools
  return {
    ...boxWith({ tools, teamWorkflows, definitions }),
    workerTools: (toolIds === null ? services.tools : tools).map(({ name }) => name),
    scope: null,
  }
}

function boxWith({
  tools,
  teamWorkflows,
  definitions,
}: Pick<Inventory, 'tools' | 'teamWorkflows' | 'definitions'>): Omit<Toolbox, 'workerTools' | 'scope'> {
  const { offered: lockedSchemas, further, helpers } = offered([...tools, ...definitions], tools)
  const schemas =
    teamWorkflows.length === 0 ? lockedSchemas : [...lockedSchemas, ...workflowToolSchemas(teamWorkflows)]
  return {
    tools: byName([...tools, ...helpers, ...(teamWorkflows.length === 0 ? [] : [rootTeamOutput])]),
    further,
    workflows: byName([...definitions, ...teamWorkflows]),
    schemas,
    lockedSchemas,
    toolsTokens: tokensOf(schemas),
    teams: teamWorkflows.length > 0,
  }
}

/** The ids of a profile. `null`: no limit. */
function inventoryOf({ profiles }: LoopServices, profile: string | null): readonly string[] | null {
  return profile === null ? null : (profiles.get(profile) ?? { toolIds: [] }).toolIds
}

function workerToolbox(
  services: LoopServices,
  { allowed: listed, shared, profile, mute }: Extract<ToolboxOf, { kind: 'worker' }>,
): Toolbox {
  const ceiling = inventoryOf(services, profile)
  const open = ceiling === null ? services.tools : resolveInventory(ceiling, services).tools
  // It comes first, so that it is always sent, however many tools there are.
  const asking = !mute && listed?.includes(askUserTool) === true
  const usable = asking ? open : open.filter(({ name }) => name !== askUserTool)
  const assembled = shared ? [teamSharedState, ...usable] : usable
  const allowed = listed ?? (ceiling === null ? null : assembled.map(({ name }) => name))
  const scope = applyToolScope(
    assembled.map((tool) => tool.name),
    allowed,
  )
  const effective = new Set(scope.effective)
  const tools = assembled.filter((tool) => effective.has(tool.name))
  return {
    ...boxWith({ tools, teamWorkflows: [], definitions: [] }),
    workerTools: [],
    scope:
      allowed === null
        ? null
        : { allowed: [...allowed], effective: [...scope.effective], dropped: [...scope.dropped] },
  }
}

function offered(all: readonly ToolSchema[], tools: readonly Tool[]): FurtherTools {
  const external = new Set(tools.flatMap(({ name, inHost }) => (inHost === true ? [name] : [])))
  const strangers = new Map(tools.map(({ name, describedBy }) => [name, describedBy]))
  return offerTools(
    all.map(briefTool),
    (name) => external.has(name),
    (name) => strangers.get(name),
  )
}

const tokensOf = (schemas: readonly ToolSchema[]): number =>
  schemas.length === 0 ? 0 : estimateTokens(JSON.stringify(schemas))

const byName = <Kind extends { readonly name: string }>(all: readonly Kind[]): ReadonlyMap<string, Kind> =>
  new Map(all.map((each) => [each.name, each]))

/** Finds a workflow of this run by its name. A team workflow is also found by its prefixed name. */
export function findIn(workflows: ReadonlyMap<string, Workflow>, name: string): Workflow | undefined {
  const own = workflows.get(name)
  if (own !== undefined) return own
  const workflow = findWorkflow(name)
  return workflow === null ? undefined : workflows.get(workflow.name)
}
