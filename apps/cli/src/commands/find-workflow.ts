// Finds the workflow that a person named, and plans it. It may be a workflow tool, AgentTeam, or a definition
// file of the configuration.
import { taskWorkflows } from '@beaver/tools'
import { BeaverError, type JsonObject } from '@beaver/core'
import {
  findTaskWorkflow,
  knownTools,
  type PlanOptions,
  type PlanResult,
  type Workflow,
} from '@beaver/workflows'
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
export async function workflowNamed(name: string, globals: GlobalOptions): Promise<NamedWorkflow> {
  const tool = findTaskWorkflow(name)
  const { team } = configOf(globals)
  const limits = { agentsMax: team.agents_max, edgesMax: team.edges_max }
  if (tool !== null && tool.withProfiles === undefined)
    return { name: tool.name, plan: (args, options) => tool.plan(args, { limits, ...options }) }
  const toolset = await toolsetOf(contextOf(globals, 'tools').config)
  const { find, names, resolve } = taskWorkflows(toolset)
  const found = find(name)
  if (found !== null)
    return {
      name: found.name,
      plan: (args, options) => planOf(found, args, { resolve, options: { limits, ...options } }),
    }
  const broken = toolset.diagnostics.find(
    ({ file, severity }) =>
      severity === 'error' && name.startsWith('workflow:') && file.endsWith(`/${name.slice(9)}.json`),
  )
  if (broken !== undefined)
    throw new BeaverError(
      'unknown_workflow',
      `The workflow ${JSON.stringify(name)} cannot be used. ${broken.file}: ${broken.message}`,
    )
  const meant = names.find(
    (each) =>
      each.toLowerCase() === `workflow:${name}`.toLowerCase() ||
      (name.length >= 4 && sameBeginning(each, name)),
  )
  throw new BeaverError(
    'unknown_workflow',
    `There is no workflow ${JSON.stringify(name)}.${meant === undefined ? '' : ` Did you mean ${meant}?`} Workflows: ${names.join(', ')}.`,
  )
}

/** Plans the workflow as a task would. */
function planOf(
  workflow: Workflow,
  args: unknown,
  { resolve, options }: { resolve: ReturnType<typeof taskWorkflows>['resolve']; options: PlanOptions },
): PlanResult {
  const resolved = resolve(workflow.name, args as JsonObject)
  return resolved.ok ? workflow.plan(resolved.args, options) : resolved
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

/** Whether the first four letters of two names are equal, without the prefix `workflow:`. */
function sameBeginning(known: string, name: string): boolean {
  const bare = (text: string): string =>
    text
      .replace(/^workflow:/, '')
      .toLowerCase()
      .slice(0, 4)
  return known.startsWith('workflow:') === name.startsWith('workflow:') && bare(known) === bare(name)
}
