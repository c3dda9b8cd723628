// Loads the agents of a daemon as its configuration has them: tools, profiles, workflows and skills.
import { brokenFile, type ExternalTools, type LoadDiagnostic, loadSkills, type RuleFault, skillPlaces } from '@beaver/agent'
import { type Logger, systemFacts } from '@beaver/core'
import type { Config } from '@beaver/platform'
import { builtinToolOptions, configuredRuleFaults, loadToolset, ruleFaultText, taskWorkflows, type ToolsetPlaces } from '@beaver/tools'
import { knownTools, type Workflow } from '@beaver/workflows'

export interface Agents {
  readonly places: ToolsetPlaces
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
  const folders = skillPlaces({ configured: config.skills, workspace: config.workspace }).map(({ folder }) => folder)
  const { skills, diagnostics } = await loadSkills(folders)
  for (const diagnostic of [...diagnostics, ...toolset.diagnostics]) tellDiagnostic(logger, diagnostic)
  tellRuleFaults(logger, config, configuredRuleFaults(config, toolset))
  const limits = { agentsMax: config.team.agents_max, edgesMax: config.team.edges_max }
  const toolNames = [...toolset.tools, ...(embedded?.tools ?? [])].map(({ name }) => name)
  const tools = knownTools(toolNames, Object.keys(config.mcp))
  const findWorkflow = (name: string): Workflow | null => {
    const workflow = workflows.find(name)
    return workflow === null ? null : { ...workflow, plan: (args, options) => workflow.plan(args, { limits, tools, ...options }) }
  }
  return {
    places,
    skills,
    workflows,
    workflowLimits: limits,
    findWorkflow,
    profileNames: [...toolset.profiles.keys()],
    brokenFile: (name) => brokenFile(name, toolset.diagnostics),
    toolNames,
  }
}

function tellDiagnostic(logger: Logger, { file, severity, message }: LoadDiagnostic): void {
  systemFacts.configurationDiagnostic(logger, { file, severity: severity === 'error' ? 'error' : 'warning', message })
}

const ruleFaultsMax = 10

/** One line for all of them. They stop nothing. */
function tellRuleFaults(logger: Logger, { file }: Config, faults: readonly RuleFault[]): void {
  if (faults.length === 0) return
  const left = faults.length - ruleFaultsMax
  const message = `${faults.slice(0, ruleFaultsMax).map(ruleFaultText).join(' ')}${left > 0 ? ` ${left} more.` : ''}`
  systemFacts.configurationDiagnostic(logger, { file, severity: 'warning', message })
}
