// Finds the workflow that a person named, and plans it. It may be a workflow tool, AgentTeam, or a definition
// file of the configuration.
import { planTask, taskWorkflows, workflowNamed } from '@beaver/tools'
import { BeaverError } from '@beaver/core'
import { findTaskWorkflow, knownTools, type PlanOptions, type PlanResult } from '@beaver/workflows'
import { configOf, contextOf, type GlobalOptions } from '../context.ts'
import { toolsetOf } from '../toolset.ts'

/** A workflow that was found, with its full name. */
export interface NamedWorkflow {
  readonly name: string
  /** Plans the workflow within the limits of the configuration. */
  readonly plan: (args: unknown, options?: Pick<PlanOptions, 'tools'>) => PlanResult
}

/**
 * Finds a workflow by its name. The tools and profiles of the configuration are loaded only if necessary: for
 * a definition, and for a workflow whose arguments may name profiles.
 *
 * @throws {BeaverError} `unknown_workflow`, `invalid_configuration`
 */
export async function findWorkflowNamed(name: string, globals: GlobalOptions): Promise<NamedWorkflow> {
  const tool = findTaskWorkflow(name)
  const { team } = configOf(globals)
  const limits = { agentsMax: team.agents_max, edgesMax: team.edges_max }
  if (tool !== null && tool.withProfiles === undefined)
    return { name: tool.name, plan: (args, options) => tool.plan(args, { limits, ...options }) }
  const toolset = await toolsetOf(contextOf(globals, 'tools').config)
  const workflows = taskWorkflows(toolset)
  const found = workflowNamed(name, workflows, toolset.diagnostics)
  return {
    name: found.name,
    plan: (args, options) =>
      planTask(found, args, { resolve: workflows.resolve, options: { limits, ...options } }),
  }
}

/**
 * Plans a workflow with the tools of the configuration, so that the plan is refused if a check names an
 * unknown tool. The configuration is read only if the plan may have checks or comes from a file. If the
 * configuration cannot be loaded, the tools are not checked.
 */
export async function planWithTools(
  workflow: NamedWorkflow,
  args: unknown,
  globals: GlobalOptions,
): Promise<PlanResult> {
  const planned = workflow.plan(args)
  if (!planned.ok || !(workflow.name.startsWith('workflow:') || JSON.stringify(args).includes('"kind"')))
    return planned
  try {
    const { config } = contextOf(globals, 'tools')
    const { tools } = await toolsetOf(config)
    const names = tools.map(({ name }) => name)
    return workflow.plan(args, { tools: knownTools(names, Object.keys(config.mcp)) })
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    return planned
  }
}
