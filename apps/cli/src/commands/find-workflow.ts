// Finds the workflow that a person named, and plans it: a workflow tool, AgentTeam, or a definition file of the configuration.
import { taskWorkflows } from '@beaver/tools'
import { BeaverError, type JsonObject } from '@beaver/core'
import { agentTeam, findTaskWorkflow, type PlanResult, type Workflow, type WorkflowLimits } from '@beaver/workflows'
import { configOf, contextOf, type GlobalOptions } from '../context.ts'
import { toolsetOf } from '../toolset.ts'

export interface NamedWorkflow {
  readonly name: string
  /** Within the limits of the configuration. */
  readonly plan: (args: unknown) => PlanResult
}

/**
 * Loads the tools of the configuration only if they matter, which they do not for a workflow tool.
 *
 * @throws {BeaverError} `unknown_workflow`, `invalid_configuration`
 */
export async function workflowNamed(name: string, globals: GlobalOptions): Promise<NamedWorkflow> {
  const tool = findTaskWorkflow(name)
  const { team } = configOf(globals)
  const limits = { agentsMax: team.agents_max, edgesMax: team.edges_max }
  if (tool !== null && tool !== agentTeam) return { name: tool.name, plan: (args) => tool.plan(args, { limits }) }
  const toolset = await toolsetOf(contextOf(globals, 'tools').config)
  const { find, names, resolve } = taskWorkflows(toolset)
  const found = find(name)
  if (found !== null) return { name: found.name, plan: (args) => planOf(found, args, { resolve, limits }) }
  const broken = toolset.diagnostics.find(
    ({ file, severity }) => severity === 'error' && name.startsWith('workflow:') && file.endsWith(`/${name.slice(9)}.json`),
  )
  if (broken !== undefined) throw new BeaverError('unknown_workflow', `The workflow ${JSON.stringify(name)} cannot be used. ${broken.file}: ${broken.message}`)
  const meant = names.find((each) => each.toLowerCase() === `workflow:${name}`.toLowerCase() || (name.length >= 4 && sameBeginning(each, name)))
  throw new BeaverError(
    'unknown_workflow',
    `There is no workflow ${JSON.stringify(name)}.${meant === undefined ? '' : ` Did you mean ${meant}?`} Workflows: ${names.join(', ')}.`,
  )
}

/** Plans the workflow as a task would. */
function planOf(
  workflow: Workflow,
  args: unknown,
  { resolve, limits }: { resolve: ReturnType<typeof taskWorkflows>['resolve']; limits: WorkflowLimits },
): PlanResult {
  const resolved = resolve(workflow.name, args as JsonObject)
  return resolved.ok ? workflow.plan(resolved.args, { limits }) : resolved
}

/** Compares four letters. For definitions, it compares the four letters after the prefix. */
function sameBeginning(known: string, name: string): boolean {
  const bare = (text: string): string =>
    text
      .replace(/^workflow:/, '')
      .toLowerCase()
      .slice(0, 4)
  return known.startsWith('workflow:') === name.startsWith('workflow:') && bare(known) === bare(name)
}
