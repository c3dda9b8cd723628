// What a run has to work with: its tools within its scope, its workflows, its activated skills, its routing.
// A1. A worker has no workflow tool, of neither sort, whatever its scope lists (D-09). A2. The scope takes tools away, it never
//     brings one. A3. What a root has is the inventory of its profile; a profile that is not loaded brings nothing.
import { applyToolScope } from '@beaver/core'
import { findWorkflow, type Workflow, workflowToolSchemas } from '@beaver/workflows'
import type { AgentProfile } from '../profile/agent-profile.ts'
import { defaultInventory, resolveInventory } from '../profile/inventory.ts'
import type { ToolSchema } from '../provider/chat-provider.ts'
import { assembleSkill } from '../skills/assemble-skill.ts'
import type { Skill } from '../skills/skill.ts'
import { teamSharedState } from '../tools/team-shared-state.ts'
import type { Tool } from '../tools/tool.ts'
import type { LoopServices } from './agent-loop.ts'
import type { Routing } from './decide.ts'
import type { LoopPart, LoopSpec } from './loop-spec.ts'

/** The tools of a run. Runs with the same scope share one, so that what is derived from it is derived once. */
export interface Toolbox {
  readonly tools: ReadonlyMap<string, Tool>
  /** Team workflows and `workflow:` definitions, by name. */
  readonly workflows: ReadonlyMap<string, Workflow>
  readonly schemas: readonly ToolSchema[]
  /** What is left after the mode lock: no team workflow (D-05). */
  readonly lockedSchemas: readonly ToolSchema[]
  /** Whether a team workflow is among them. */
  readonly teams: boolean
  readonly scope: { readonly allowed: string[]; readonly effective: string[]; readonly dropped: string[] } | null
}

export interface Assembly extends Toolbox {
  readonly activated: readonly Skill[]
  readonly routing: Routing | null
  readonly routingSkills: readonly Skill[]
  readonly profile: AgentProfile | null
  /** The profile the run is to have and this process has not loaded. */
  readonly profileMissing: string | null
}

export function assemblyOf(spec: LoopSpec, services: LoopServices): Assembly {
  const { part } = spec
  if (part.kind === 'tool') return toolAssembly(part.tool, services)
  const root = part.kind === 'root'
  const profileName = root ? (part.profile ?? services.profileDefault) : null
  const profile = profileName === null ? null : (services.profiles.get(profileName) ?? null)
  const toolbox = toolboxOf(
    services,
    root ? { kind: 'root', profile: profileName } : { kind: 'worker', allowed: part.allowedToolNames, shared: part.sharedState },
  )
  const activated = activatedSkills(part, services.skills)
  // Without a workflow tool among the run's there is nothing to route to (D-02).
  const routingSkills = toolbox.teams ? activated.filter((skill) => skill.guidance !== null && findWorkflow(skill.guidance.preferred_tool) !== null) : []
  const [primary, ...ignored] = routingSkills
  return {
    ...toolbox,
    activated,
    routing: primary === undefined ? null : { primary: primary.name, ignored: ignored.map((skill) => skill.name) },
    routingSkills,
    profile,
    profileMissing: profile === null ? profileName : null,
  }
}

/** A tool node's run has that tool and no model. */
function toolAssembly(name: string, services: LoopServices): Assembly {
  const tools = services.tools.filter((tool) => tool.name === name)
  const none = { workflows: new Map(), schemas: [], lockedSchemas: [], teams: false, scope: null, activated: [], routing: null, routingSkills: [] }
  return { ...none, profile: null, profileMissing: null, tools: new Map(tools.map((tool) => [tool.name, tool])) }
}

/** The named one; else, for a worker, what its query finds; else none (D-40). */
function activatedSkills(part: Exclude<LoopPart, { kind: 'tool' }>, skills: readonly Skill[]): readonly Skill[] {
  if (part.skill !== null || part.kind === 'root' || part.skillQuery === null) return skills.filter((skill) => skill.name === part.skill)
  const found = assembleSkill(part.skillQuery, skills)
  return found === null ? [] : [found]
}

const toolboxesMax = 100
const toolboxes = new WeakMap<LoopServices, Map<string, Toolbox>>()

type ToolboxOf =
  | { readonly kind: 'root'; readonly profile: string | null }
  /** `shared`: with `team_shared_state`. */
  | { readonly kind: 'worker'; readonly allowed: readonly string[] | null; readonly shared: boolean }

function toolboxOf(services: LoopServices, of: ToolboxOf): Toolbox {
  const known = toolboxes.get(services) ?? new Map<string, Toolbox>()
  toolboxes.set(services, known)
  const key = JSON.stringify(of)
  const made = known.get(key) ?? makeToolbox(services, of)
  if (known.size >= toolboxesMax) known.delete(known.keys().next().value as string)
  known.set(key, made)
  return made
}

function makeToolbox(services: LoopServices, of: ToolboxOf): Toolbox {
  return of.kind === 'root' ? rootToolbox(services, of.profile) : workerToolbox(services, of)
}

function rootToolbox(services: LoopServices, profileName: string | null): Toolbox {
  const toolIds = profileName === null ? null : (services.profiles.get(profileName) ?? { toolIds: [] }).toolIds
  const { tools, teamWorkflows, definitions } = toolIds === null ? defaultInventory(services) : resolveInventory(toolIds, services)
  const lockedSchemas = [...tools, ...definitions].map(schemaOf)
  return {
    tools: byName(tools),
    workflows: byName([...definitions, ...teamWorkflows]),
    schemas: teamWorkflows.length === 0 ? lockedSchemas : [...lockedSchemas, ...workflowToolSchemas(teamWorkflows)],
    lockedSchemas,
    teams: teamWorkflows.length > 0,
    scope: null,
  }
}

function workerToolbox(services: LoopServices, { allowed, shared }: Extract<ToolboxOf, { kind: 'worker' }>): Toolbox {
  const assembled = shared ? [...services.tools, teamSharedState] : services.tools
  const scope = applyToolScope(
    assembled.map((tool) => tool.name),
    allowed,
  )
  const effective = new Set(scope.effective)
  const tools = assembled.filter((tool) => effective.has(tool.name))
  const schemas = tools.map(schemaOf)
  return {
    tools: byName(tools),
    workflows: new Map(),
    schemas,
    lockedSchemas: schemas,
    teams: false,
    scope: allowed === null ? null : { allowed: [...allowed], effective: [...scope.effective], dropped: [...scope.dropped] },
  }
}

const schemaOf = ({ name, description, parameters }: ToolSchema): ToolSchema => ({ name, description, parameters })

const byName = <Kind extends { readonly name: string }>(all: readonly Kind[]): ReadonlyMap<string, Kind> => new Map(all.map((each) => [each.name, each]))

/** A workflow of this run by its name; a team workflow also by its prefixed one. */
export function findIn(workflows: ReadonlyMap<string, Workflow>, name: string): Workflow | undefined {
  const own = workflows.get(name)
  if (own !== undefined) return own
  const workflow = findWorkflow(name)
  return workflow === null ? undefined : workflows.get(workflow.name)
}
