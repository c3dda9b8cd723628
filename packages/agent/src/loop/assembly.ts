// What a run has to work with: its tools within its scope, its workflows, its activated skills, its routing.
// A1. A worker has no workflow tool, whatever its scope lists (D-09). A2. The scope takes tools away, it never brings one.
import { applyToolScope } from '@beaver/core'
import { createTeamWorkflowTools, findWorkflow, type Workflow } from '@beaver/workflows'
import type { ToolSchema } from '../provider/chat-provider.ts'
import type { Skill } from '../skills/skill.ts'
import type { Tool } from '../tools/tool.ts'
import type { LoopServices } from './agent-loop.ts'
import type { Routing } from './decide.ts'
import type { LoopSpec } from './loop-spec.ts'

/** The tools of a run. Runs with the same scope share one, so that what is derived from it is derived once. */
export interface Toolbox {
  readonly tools: ReadonlyMap<string, Tool>
  readonly workflows: ReadonlyMap<string, Workflow>
  readonly schemas: readonly ToolSchema[]
  /** What is left after the mode lock: no workflow tool (D-05). */
  readonly lockedSchemas: readonly ToolSchema[]
  readonly scope: { readonly allowed: string[]; readonly effective: string[]; readonly dropped: string[] } | null
}

export interface Assembly extends Toolbox {
  readonly activated: readonly Skill[]
  readonly routing: Routing | null
  readonly routingSkills: readonly Skill[]
}

export function assemblyOf(spec: LoopSpec, services: LoopServices): Assembly {
  const root = spec.part.kind === 'root'
  const activated = services.skills.filter((skill) => skill.name === spec.part.skill)
  const routingSkills = root ? activated.filter((skill) => skill.guidance !== null && findWorkflow(skill.guidance.preferred_tool) !== null) : []
  const [primary, ...ignored] = routingSkills
  return {
    ...toolboxOf(services, { root, allowed: spec.part.kind === 'worker' ? spec.part.allowedToolNames : null }),
    activated,
    routing: primary === undefined ? null : { primary: primary.name, ignored: ignored.map((skill) => skill.name) },
    routingSkills,
  }
}

const toolboxesMax = 100
const toolboxes = new WeakMap<LoopServices, Map<string, Toolbox>>()

function toolboxOf(services: LoopServices, of: { root: boolean; allowed: readonly string[] | null }): Toolbox {
  const known = toolboxes.get(services) ?? new Map<string, Toolbox>()
  toolboxes.set(services, known)
  const key = JSON.stringify(of)
  const made = known.get(key) ?? makeToolbox(services, of)
  if (known.size >= toolboxesMax) known.delete(known.keys().next().value as string)
  known.set(key, made)
  return made
}

function makeToolbox(services: LoopServices, { root, allowed }: { root: boolean; allowed: readonly string[] | null }): Toolbox {
  const scope = applyToolScope(
    services.tools.map((tool) => tool.name),
    allowed,
  )
  const effective = new Set(scope.effective)
  const tools = services.tools.filter((tool) => effective.has(tool.name))
  const workflows = root ? createTeamWorkflowTools() : []
  const schemaOf = ({ name, description, parameters }: ToolSchema): ToolSchema => ({ name, description, parameters })
  const lockedSchemas = tools.map(schemaOf)
  return {
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    workflows: new Map(workflows.map((workflow) => [workflow.name, workflow])),
    schemas: workflows.length === 0 ? lockedSchemas : [...lockedSchemas, ...workflows.map(schemaOf)],
    lockedSchemas,
    scope: allowed === null ? null : { allowed: [...allowed], effective: [...scope.effective], dropped: [...scope.dropped] },
  }
}

/** A workflow of this run by its short or prefixed name. */
export function findIn(workflows: ReadonlyMap<string, Workflow>, name: string): Workflow | undefined {
  const workflow = findWorkflow(name)
  return workflow === null ? undefined : workflows.get(workflow.name)
}
