// Measures the progress of a team from its events: how many of its nodes have ended. Pure.
import type { DomainEvent } from '@beaver/core'
import type { WorkflowProgress } from '@beaver/mcp'

export interface TeamProgress {
  readonly total: number
  readonly ended: ReadonlySet<string>
}

export const noProgress: TeamProgress = { total: 0, ended: new Set() }

/** The new progress, with a message if the event is worth one. A graph may grow while it runs. */
export function afterEvent(before: TeamProgress, event: DomainEvent): { readonly after: TeamProgress; readonly told: WorkflowProgress } | null {
  switch (event.type) {
    case 'task_team_run_started':
      return telling({ ...before, total: before.total + event.data.graph.nodes.length }, 'The team has started.')
    case 'graph_extended':
      return telling({ ...before, total: before.total + event.data.nodes.length }, `${event.data.node_id} added work for the team.`)
    case 'node_started':
      return telling(before, `${event.data.node_id} has started.`)
    case 'node_completed':
    case 'node_computed':
      return ended(before, event.data.node_id, 'has completed.')
    case 'node_failed':
      return ended(before, event.data.node_id, `has failed: ${event.data.failure.message}`)
    case 'node_blocked':
      return ended(before, event.data.node_id, `is blocked by ${event.data.cause_node_id}.`)
    case 'node_cancelled':
      return ended(before, event.data.node_id, 'was cancelled.')
    case 'node_skipped':
      return ended(before, event.data.node_id, 'was skipped.')
    default:
      return null
  }
}

function ended(before: TeamProgress, node: string, what: string): { after: TeamProgress; told: WorkflowProgress } {
  return telling({ ...before, ended: new Set([...before.ended, node]) }, `${node} ${what}`)
}

function telling(after: TeamProgress, message: string): { after: TeamProgress; told: WorkflowProgress } {
  const { total, ended: done } = after
  return { after, told: { done: done.size, total: total === 0 ? null : total, message: message.slice(0, 500) } }
}
