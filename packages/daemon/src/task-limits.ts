// The bounds of every task, and where its runs may send something, taken from the configuration.
import type { EgressRules } from '@beaver/agent'
import type { Config } from '@beaver/platform'
import type { DaemonOptions } from '@beaver/runtime'

export const taskLimits = ({ agent, team, daemon, permissions }: Config): DaemonOptions['limits'] => ({
  toolIterationsMax: agent.tool_iterations_max,
  nodeToolIterationsMax: agent.node_tool_iterations_max,
  concurrentNodesMax: team.concurrent_nodes_max,
  teamRunsMax: team.runs_max,
  graphMax: { agents: team.agents_max, edges: team.edges_max },
  teamDeadlineMs: team.deadline_ms || null,
  nodeDeadlineMs: team.node_deadline_ms || null,
  ownersLostMax: daemon.owners_lost_max,
  unattended: permissions.unattended,
  approvalWaitMsMax: permissions.wait_ms_max,
})

export function egressRules({ egress }: Config): EgressRules {
  const {
    policy,
    hosts_allowed: hostsAllowed,
    secret_paths: secretPaths,
    untrusted_paths: untrustedPaths,
  } = egress
  return { policy, hostsAllowed, secretPaths, untrustedPaths }
}
