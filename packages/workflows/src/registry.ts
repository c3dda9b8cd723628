// The workflows that this process knows, in a fixed order, and the two names of each tool (WT-11, WT-12, D-01).
// The five of v1 are here. Composition adds the others.
import { invariant, type JsonObject } from '@beaver/core'
import { definitionPrefix, type TeamProgram } from '@beaver/core/graph'
import { agentRearrange } from './graphs/agent-rearrange.ts'
import { concurrentWorkflow } from './graphs/concurrent.ts'
import { definitionProgram } from './definitions/program.ts'
import { graphWorkflow } from './graphs/graph-workflow.ts'
import { mixtureOfAgents } from './graphs/mixture-of-agents.ts'
import { sequentialWorkflow } from './graphs/sequential.ts'
import { type Described, shortSchema, wholeSchema } from './arguments/tool-schema.ts'
import type { Workflow } from './workflow.ts'

/** What an MCP wrapper puts before the short name. */
export const workflowToolPrefix = 'mcp_local_team_workflow_mcp_'

const workflows: readonly Workflow[] = [
  sequentialWorkflow,
  concurrentWorkflow,
  mixtureOfAgents,
  agentRearrange,
  graphWorkflow,
]

const byName = new Map(workflows.map((workflow) => [workflow.name, workflow]))

/**
 * Adds workflows to those that this process, or this thread, knows. A composition root calls it before it
 * plans or runs anything. Added tools are offered only if a profile lists them, because every root request
 * would pay for their schemas. Adding a workflow again changes nothing.
 *
 * @throws {BeaverError} `internal` if another workflow has the name
 * @example
 * addWorkflows([sequentialWorkflow])
 * findWorkflow('SequentialWorkflow') === sequentialWorkflow // => true
 */
export function addWorkflows(more: readonly Workflow[]): void {
  for (const workflow of more) {
    const known = byName.get(workflow.name) ?? workflow
    invariant(known === workflow, `There are two workflows ${workflow.name}.`)
    byName.set(workflow.name, workflow)
  }
}

/**
 * The workflow tools that were added, in the order in which they were added.
 *
 * @example
 * addedWorkflowTools().map(({ name }) => name) // => ['GroupChat', 'HierarchicalWorkflow', 'MajorityVote']
 */
export const addedWorkflowTools = (): readonly Workflow[] =>
  [...byName.values()].filter((workflow) => workflow.tool !== false && !workflows.includes(workflow))

/**
 * The names of all workflows that a task may be, definition files apart.
 *
 * @example
 * taskWorkflowNames().includes('AgentTeam') // => true
 */
export const taskWorkflowNames = (): readonly string[] => [...byName.keys()]

/**
 * The workflow tools that every root agent is offered, always in the same order.
 *
 * @example
 * const names = createTeamWorkflowTools().map(({ name }) => name)
 * names // => ['SequentialWorkflow', 'ConcurrentWorkflow', 'MixtureOfAgents', 'AgentRearrange', 'GraphWorkflow']
 */
export function createTeamWorkflowTools(): readonly Workflow[] {
  return [...workflows]
}

/**
 * The schemas of workflows that are sent in one request. Later tools refer to what an earlier one describes.
 *
 * @example
 * const schemas = workflowToolSchemas(createTeamWorkflowTools())
 * schemas[0]?.name // => 'SequentialWorkflow'
 * schemas[0]?.parameters['type'] // => 'object'
 */
export function workflowToolSchemas(
  workflows: readonly Workflow[],
): readonly { readonly name: string; readonly description: string; readonly parameters: JsonObject }[] {
  const described: Described = new Map()
  return workflows.map(({ name, description, input }) => ({
    name,
    description,
    parameters: shortSchema(wholeSchema(input), name, described),
  }))
}

/**
 * The workflow tool with a short or prefixed name, or `null`. Names are compared exactly.
 *
 * @example
 * findWorkflow('mcp_local_team_workflow_mcp_GraphWorkflow')?.name // => 'GraphWorkflow'
 * findWorkflow('graphworkflow') // => null
 */
export function findWorkflow(name: string): Workflow | null {
  const workflow = byName.get(
    name.startsWith(workflowToolPrefix) ? name.slice(workflowToolPrefix.length) : name,
  )
  return workflow === undefined || workflow.tool === false ? null : workflow
}

/**
 * The workflow that a task without a root agent may be: a workflow tool, or one that no model may call.
 *
 * @example
 * findTaskWorkflow('GraphWorkflow')?.name // => 'GraphWorkflow'
 * findTaskWorkflow('NoWorkflow') // => null
 */
export function findTaskWorkflow(name: string): Workflow | null {
  return byName.get(name) ?? findWorkflow(name)
}

/**
 * The program that decides while a graph of this workflow runs. `null` if the graph alone decides.
 *
 * @example
 * programOf('SequentialWorkflow') // => null
 */
export function programOf(workflow: string): TeamProgram | null {
  if (workflow.startsWith(definitionPrefix)) return definitionProgram
  return byName.get(workflow)?.program ?? null
}

/**
 * Whether a name, short or prefixed, is that of a workflow tool.
 *
 * @example
 * isWorkflowTool('GraphWorkflow') // => true
 * isWorkflowTool('read_file') // => false
 */
export function isWorkflowTool(name: string): boolean {
  return findWorkflow(name) !== null
}
