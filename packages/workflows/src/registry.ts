// The workflow tools in a fixed order, and the two names of each (WT-11, WT-12, D-01).
import { definitionPrefix, type JsonObject, type TeamProgram } from '@beaver/core'
import { agentRearrange } from './graphs/agent-rearrange.ts'
import { agentTeam } from './agent-team/agent-team.ts'
import { concurrentWorkflow } from './graphs/concurrent.ts'
import { definitionProgram } from './definitions/program.ts'
import { graphWorkflow } from './graphs/graph-workflow.ts'
import { groupChat } from './group-chat/group-chat.ts'
import { hierarchicalWorkflow } from './hierarchical/hierarchical-workflow.ts'
import { majorityVote } from './majority-vote/majority-vote.ts'
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

/**
 * Workflow tools that are offered only if a profile lists them, because every root request would pay for
 * their schemas.
 */
export const moreWorkflowTools: readonly Workflow[] = [groupChat, hierarchicalWorkflow, majorityVote]

const byName: ReadonlyMap<string, Workflow> = new Map(
  [...workflows, ...moreWorkflowTools].map((workflow) => [workflow.name, workflow]),
)
/** Other workflows of a task. They are no tools and have no prefixed name. */
const directOnly: ReadonlyMap<string, Workflow> = new Map([[agentTeam.name, agentTeam]])

/**
 * The workflow tools that every root agent is offered, always in the same order.
 *
 * @example
 * const names = createTeamWorkflowTools().map(({ name }) => name) names // => ['SequentialWorkflow',
 * 'ConcurrentWorkflow', 'MixtureOfAgents', 'AgentRearrange', 'GraphWorkflow']
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
 * The workflow with a short or prefixed name, or `null`. Names are compared exactly.
 *
 * @example
 * findWorkflow('mcp_local_team_workflow_mcp_GraphWorkflow')?.name // => 'GraphWorkflow'
 * findWorkflow('graphworkflow') // => null
 */
export function findWorkflow(name: string): Workflow | null {
  return (
    byName.get(name.startsWith(workflowToolPrefix) ? name.slice(workflowToolPrefix.length) : name) ?? null
  )
}

/**
 * The workflow that a task without a root agent may be: a workflow tool, or AgentTeam.
 *
 * @example
 * findTaskWorkflow('AgentTeam')?.name // => 'AgentTeam'
 * findTaskWorkflow('NoWorkflow') // => null
 */
export function findTaskWorkflow(name: string): Workflow | null {
  return directOnly.get(name) ?? findWorkflow(name)
}

/**
 * The program that decides while a graph of this workflow runs. `null` if the graph alone decides.
 *
 * @example
 * programOf('SequentialWorkflow') // => null
 * programOf('MajorityVote') === null // => false
 */
export function programOf(workflow: string): TeamProgram | null {
  if (workflow.startsWith(definitionPrefix)) return definitionProgram
  return (directOnly.get(workflow) ?? byName.get(workflow))?.program ?? null
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
