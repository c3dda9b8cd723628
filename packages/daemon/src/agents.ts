// Loads the agents of a daemon as its configuration has them: tools, profiles, workflows and skills.
import { brokenFile, type ExternalTools, type LoadDiagnostic, loadSkills, skillPlaces } from '@beaver/agent'
import { type Logger, systemFacts } from '@beaver/core'
import type { Config } from '@beaver/platform'
import { builtinToolOptions, loadToolset, taskWorkflows, type ToolsetPlaces } from '@beaver/tools'
import type { Workflow } from '@beaver/workflows'

export interface Agents {
  readonly places: ToolsetPlaces
  readonly skillFolders: readonly string[]
  readonly skills: Awaited<ReturnType<typeof loadSkills>>['skills']
  readonly workflows: Pick<ReturnType<typeof taskWorkflows>, 'names' | 'resolve'>
  readonly workflowLimits: { readonly agentsMax: number; readonly edgesMax: number }
  /** A workflow whose plans obey the limits of the configuration, or `null` if there is none of that name. */
  findWorkflow(name: string): Workflow | null
  readonly profileNames: readonly string[]
  /** What is wrong with a definition or profile file of this name. `null`: no such file is broken. */
  brokenFile(name: string): string | null
  /** Names that no MCP server may give to a tool. */
  readonly toolNames: readonly string[]
}

/**
 * Diagnostics go to the log.
 * @param embedded tools of the program that embeds the daemon
 * @throws {BeaverError} `invalid_configuration`, and the errors of the loaders
 */
export async function loadAgents(config: Config, embedded: ExternalTools | null, logger: Logger): Promise<Agents> {
  const places: ToolsetPlaces = {
    tools: config.tools,
    accepted: Object.fromEntries(config.trust.files),
    workflows: config.workflows,
    profiles: config.profiles,
    profileDefault: config.profile ?? null,
    builtin: builtinToolOptions(config),
  }
  const toolset = await loadToolset({ ...places, external: embedded?.tools ?? [] })
  const workflows = taskWorkflows(toolset)
  const skillFolders = skillPlaces({ configured: config.skills, workspace: config.workspace }).map(({ folder }) => folder)
  const { skills, diagnostics } = await loadSkills(skillFolders)
  for (const diagnostic of [...diagnostics, ...toolset.diagnostics]) tellDiagnostic(logger, diagnostic)
  const limits = { agentsMax: config.team.agents_max, edgesMax: config.team.edges_max }
  const findWorkflow = (name: string): Workflow | null => {
    const workflow = workflows.find(name)
    return workflow === null ? null : { ...workflow, plan: (args, options) => workflow.plan(args, { limits, ...options }) }
  }
  return {
    places,
    skillFolders,
    skills,
    workflows,
    workflowLimits: limits,
    findWorkflow,
    profileNames: [...toolset.profiles.keys()],
    brokenFile: (name) => brokenFile(name, toolset.diagnostics),
    toolNames: [...toolset.tools, ...(embedded?.tools ?? [])].map(({ name }) => name),
  }
}

function tellDiagnostic(logger: Logger, { file, severity, message }: LoadDiagnostic): void {
  systemFacts.configurationDiagnostic(logger, { file, severity: severity === 'error' ? 'error' : 'warning', message })
}
