// What a loop reads of the team that it called: the whole result of a team workflow, but only the output of a `workflow:` tool (CT-15).
import { definitionPrefix } from '@beaver/core'
import type { Workflow } from '@beaver/workflows'
import type { ToolResult } from '../tools/execute-tool.ts'
import type { TeamResult } from './loop-spec.ts'

/** @param tool the name by which the workflow was called */
export function workflowResult(workflow: Workflow, tool: string, team: TeamResult): ToolResult {
  const complete = team.outcome === 'complete'
  if (!workflow.name.startsWith(definitionPrefix)) {
    return { success: complete, tool_name: tool, error: complete ? null : `team_${team.outcome}`, content: JSON.stringify(team) }
  }
  if (complete) return { success: true, tool_name: tool, error: null, content: team.final_output }
  const error = `workflow_${team.outcome}`
  const failures = team.failures.map(({ node_id, failure }) => ({ node_id, class: failure.class, message: failure.message }))
  const message = team.message ?? `The workflow did not complete (${team.outcome}).`
  return { success: false, tool_name: tool, error, content: JSON.stringify({ error, message, team_run_id: team.team_run_id, failures }) }
}
