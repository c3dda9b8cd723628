// The tree of a task's agents, read from the answer of the query `task`.
import type { NodeAnswer, RunAnswer, TaskAnswer, TeamAnswer } from '@beaver/contracts'
import { type AgentState, atWork, type TreeAgent, type TreeTeam, type TreeTop } from './agent-tree.ts'
import { growthOrder } from './growth-order.ts'

export interface AnsweredAgent extends TreeAgent<AnsweredAgent> {
  readonly teams: readonly AnsweredTeam[]
  /** `null`: the node has not started, or is computed. */
  readonly run: RunAnswer | null
  /** `null`: it belongs to no team. */
  readonly node: NodeAnswer | null
}

export interface AnsweredTeam extends TreeTeam<AnsweredAgent> {
  readonly status: string
}

export const answerTree = ({
  runs,
  teams,
}: Pick<TaskAnswer, 'runs' | 'teams'>): TreeTop<AnsweredAgent> & {
  readonly teams: readonly AnsweredTeam[]
} => ({
  agents: runs.map(ofRun),
  teams: teams.map(ofTeam),
})

const ofRun = (run: RunAnswer): AnsweredAgent => ({
  name: run.agent_name,
  isNode: false,
  kind: 'agent',
  state: run.status as AgentState,
  ...below(run),
  run,
  node: null,
})

function ofNode(node: NodeAnswer): AnsweredAgent {
  const { node_id: name, kind, status, run } = node
  const state = status === 'running' ? stateOf(run) : (status as AgentState)
  return { name, isNode: true, kind: kind as AnsweredAgent['kind'], state, ...below(run), run, node }
}

/**
 * A node that runs is in the state of its run. If the run has ended, the gate has still to decide about the
 * node.
 */
function stateOf(run: RunAnswer | null): AgentState {
  if (run === null) return 'assembling'
  const state = run.status as AgentState
  return atWork.has(state) ? state : 'finalizing'
}

const below = (run: RunAnswer | null): Pick<AnsweredAgent, 'teams' | 'others'> => ({
  teams: (run?.teams ?? []).map(ofTeam),
  others: (run?.other_runs ?? []).map(ofRun),
})

function ofTeam(team: TeamAnswer): AnsweredTeam {
  const {
    workflow,
    status,
    nodes,
    node_count,
    node_count_at_start,
    nodes_by_status,
    diagnostics,
    shared_state,
    shared_state_changes: changes,
  } = team
  return {
    workflow,
    status,
    nodes: growthOrder(nodes, { id: (node) => node.node_id, addedAfter: (node) => node.added_after }).map(
      ofNode,
    ),
    nodeCount: node_count,
    nodesAtStart: node_count_at_start,
    counts: nodes_by_status,
    notes: [
      ...diagnostics.map(({ node_id, message, code, taskseq }) => ({
        kind: 'note' as const,
        text: `${node_id}: ${message} (${code}, event ${taskseq})`,
      })),
      ...(changes === 0
        ? []
        : [
            {
              kind: 'shared state' as const,
              text: `${changes} change${changes === 1 ? '' : 's'}: ${JSON.stringify(shared_state)}`,
            },
          ]),
    ],
  }
}
