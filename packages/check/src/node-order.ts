// Decides when a node may begin: after all its dependencies have completed or, with a quorum, after all have
// ended and enough completed. Skipped dependencies do not count. If all dependencies of a node were skipped,
// the node is skipped and does not begin.
import type { Report } from './rules.ts'
import type { Node, Team } from './trail.ts'

export function judgeNodeStart(team: Team, nodeId: string, node: Node, report: Report): void {
  const dependencies = [...node.dependsOn].map((id) => ({
    id,
    status: team.nodes.get(id)?.status ?? 'waiting',
  }))
  const open = dependencies.find(({ status }) => status === 'waiting' || status === 'running')
  if (open !== undefined)
    return report(
      'node_order',
      `the node ${nodeId} began, and ${open.id}, which it depends on, is ${open.status}`,
    )
  const counted = dependencies.filter(({ status }) => status !== 'skipped')
  if (dependencies.length > 0 && counted.length === 0)
    return report('node_order', `the node ${nodeId} began, and all it depends on were skipped`)
  const needed = node.quorum === undefined ? counted.length : Math.min(node.quorum, counted.length)
  const completed = counted.filter(({ status }) => status === 'completed').length
  if (completed < needed)
    report(
      'node_order',
      `the node ${nodeId} began with ${completed} of ${needed} nodes it depends on completed`,
    )
}
