// The workflow tools there are, in a fixed order, and the two names each is known under (WT-11, WT-12, D-01).
import { agentRearrange } from './agent-rearrange.ts'
import { concurrentWorkflow } from './concurrent.ts'
import { graphWorkflow } from './graph-workflow.ts'
import { mixtureOfAgents } from './mixture-of-agents.ts'
import { sequentialWorkflow } from './sequential.ts'
import type { Workflow } from './workflow.ts'

/** What an MCP wrapper puts before the short name. */
export const workflowToolPrefix = 'mcp_local_team_workflow_mcp_'

const workflows: readonly Workflow[] = [sequentialWorkflow, concurrentWorkflow, mixtureOfAgents, agentRearrange, graphWorkflow]
const byName: ReadonlyMap<string, Workflow> = new Map(workflows.map((workflow) => [workflow.name, workflow]))

/** All workflow tools, always in the same order. */
export function createTeamWorkflowTools(): readonly Workflow[] {
  return [...workflows]
}

/**
 * The workflow of a short or prefixed name; `null` when there is none. Names are compared exactly.
 *
 * @example findWorkflow('mcp_local_team_workflow_mcp_GraphWorkflow')?.name // 'GraphWorkflow'
 */
export function findWorkflow(name: string): Workflow | null {
  return byName.get(name.startsWith(workflowToolPrefix) ? name.slice(workflowToolPrefix.length) : name) ?? null
}

/** Whether a tool is a workflow tool, under either of its names. */
export function isWorkflowTool(name: string): boolean {
  return findWorkflow(name) !== null
}
