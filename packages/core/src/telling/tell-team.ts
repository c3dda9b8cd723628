// Tells the events of a team run and of its nodes.
import type { ExecutionNode } from '../graph/execution-graph.ts'
import type { SharedStateChange } from '../team/shared-state.ts'
import { count, counted, excerpt, sentence } from './text.ts'
import { because, byWhom, ofAgent, ofNode, ofTeam, type Surroundings, type Teller } from './told.ts'

type TeamEvent =
  | 'task_team_run_started'
  | 'node_started'
  | 'node_computed'
  | 'node_skipped'
  | 'graph_extended'
  | 'node_evidence_evaluated'
  | 'node_completed'
  | 'node_failed'
  | 'node_blocked'
  | 'node_cancel_requested'
  | 'node_cancelled'
  | 'team_diagnostic_recorded'
  | 'shared_state_changed'
  | 'task_team_run_completed'
  | 'task_team_run_failed'

export const tellTeam: { readonly [T in TeamEvent]: Teller<T> } = {
  task_team_run_started({ team_run_id, call_id, graph, concurrent_nodes_max }) {
    const { workflow, nodes } = graph
    return ofTeam(
      { id: team_run_id, workflow },
      `started: ${workflow} with ${counted(nodes.length, 'node')}${kindsOf(nodes)}: ${namesOf(nodes)}`,
      {
        status: 'started',
        group: 'team',
        metadata: { team_run_id, call_id, concurrent_nodes_max },
      },
    )
  },
  // The run of the node tells its start, unless it has none.
  node_started({ input, ...of }) {
    const ownInput = input === null ? '' : ` with its own ${excerpt(Object.keys(input).join(', '))}`
    return ofNode(of.node_id, `started${ownInput}.`, {
      status: 'started',
      group: 'node',
      news: false,
      metadata: { ...of },
    })
  },
  node_computed: ({ output, ...of }) =>
    ofNode(of.node_id, `was computed: ${excerpt(output) || 'an empty text'}`, {
      status: 'done',
      group: 'node',
      metadata: { ...of },
    }),
  node_skipped: ({ reason, ...of }) =>
    ofNode(of.node_id, `was skipped: ${sentence(excerpt(reason))}`, {
      status: 'skipped',
      group: 'node',
      metadata: { ...of },
    }),
  graph_extended({ team_run_id, node_id, nodes, edges }, around) {
    const by =
      nodes.length === 0
        ? `${counted(edges.length, 'edge')} after ${node_id}.`
        : `${counted(nodes.length, 'node')} after ${node_id}: ${namesOf(nodes)}`
    const names = nodes.slice(0, 20).map((each) => each.node_id)
    return ofTeam(teamOf(team_run_id, around), `grew by ${by}`, {
      status: 'done',
      group: 'team',
      metadata: { team_run_id, node_id, added: names, added_count: nodes.length },
    })
  },
  node_evidence_evaluated({ node_id, passed, checks, team_run_id }) {
    const countOf = (status: string): number => checks.filter((check) => check.status === status).length
    const failed = checks.filter((check) => check.status === 'failed').map((check) => check.detail)
    const counts = `${countOf('passed')} passed, ${countOf('failed')} failed, ${countOf('not_checked')} not checked`
    const why = failed.length === 0 ? '.' : `: ${sentence(excerpt(failed.join(' ')))}`
    return ofNode(node_id, `had its evidence ${passed ? 'accepted' : 'refused'} (${counts})${why}`, {
      status: passed ? 'done' : 'failed',
      group: 'evidence',
      metadata: { team_run_id, node_id },
    })
  },
  node_completed: (data) =>
    ofNode(data.node_id, 'completed.', { status: 'done', group: 'node', metadata: { ...data } }),
  node_failed: ({ failure, ...of }) =>
    ofNode(of.node_id, `failed${because(failure)}`, {
      status: 'failed',
      group: 'node',
      metadata: { ...of, failure_class: failure.class },
    }),
  node_blocked: (data) =>
    ofNode(data.node_id, `is blocked: node ${data.cause_node_id} did not complete.`, {
      status: 'blocked',
      group: 'node',
      metadata: { ...data },
    }),
  node_cancel_requested: ({ reason, node_id, team_run_id, ...doer }) =>
    ofNode(node_id, `is to be cancelled${byWhom(doer, ', says ')}: ${sentence(excerpt(reason))}`, {
      status: 'done',
      group: 'node',
      metadata: { team_run_id, node_id },
    }),
  node_cancelled: ({ node_id, reason }) =>
    ofNode(node_id, `was cancelled: ${sentence(excerpt(reason))}`, { status: 'cancelled', group: 'node' }),
  team_diagnostic_recorded: ({ code, message, ...of }) =>
    ofNode(of.node_id, `has a note (${excerpt(code)}): ${sentence(excerpt(message))}`, {
      status: 'done',
      group: 'diagnostic',
      metadata: { ...of, code: excerpt(code) },
    }),
  shared_state_changed({ team_run_id, run_id, change }, around) {
    const rest = {
      status: 'done',
      group: 'shared_state',
      metadata: { team_run_id, action: change.action, path: pathOf(change) },
    } as const
    // Without a run, the program of the graph changed it.
    return run_id === null
      ? ofTeam(teamOf(team_run_id, around), changed(change), rest)
      : ofAgent(around, changed(change), rest)
  },
  task_team_run_completed: (data, around) =>
    ofTeam(teamOf(data.team_run_id, around), `completed${progressOf(around)}.`, {
      status: 'done',
      group: 'team',
      metadata: { ...data },
    }),
  // The message says how far the team came.
  task_team_run_failed: ({ outcome, message, team_run_id }, around) =>
    ofTeam(
      teamOf(team_run_id, around),
      `${outcome === 'cancelled' ? 'was cancelled' : 'ended incomplete'}: ${sentence(excerpt(message, 300))}`,
      {
        status: outcome === 'cancelled' ? 'cancelled' : 'failed',
        group: 'team',
        metadata: { team_run_id, outcome },
      },
    ),
}

const teamOf = (id: string, { team }: Surroundings): { id: string; workflow: string } => ({
  id,
  workflow: team?.workflow ?? 'Team',
})

const progressOf = ({ team }: Surroundings): string =>
  team === null ? '' : `: ${count(team.completed)} of ${counted(team.nodes, 'node')} completed`

/** For example ` (3 agents, 1 tool call, 2 computed)`. Empty if all nodes are agents. */
function kindsOf(nodes: readonly ExecutionNode[]): string {
  const countOf = (kind: ExecutionNode['kind']): number => nodes.filter((each) => each.kind === kind).length
  if (countOf('agent') === nodes.length) return ''
  const parts = [
    countOf('agent') && counted(countOf('agent'), 'agent'),
    countOf('tool') && counted(countOf('tool'), 'tool call'),
    countOf('code') && `${countOf('code')} computed`,
  ]
  return ` (${parts.filter((part) => part !== 0).join(', ')})`
}

const namedMax = 20

/** For example `a, b, c.`, `a, b and 80 more.` */
function namesOf(nodes: readonly ExecutionNode[]): string {
  const names = excerpt(
    nodes
      .slice(0, namedMax)
      .map((each) => each.node_id)
      .join(', '),
  )
  return nodes.length > namedMax ? `${names} and ${count(nodes.length - namedMax)} more.` : sentence(names)
}

const pathOf = ({ path }: SharedStateChange): string =>
  excerpt(typeof path === 'string' ? path : path.join('.'))

function changed(change: SharedStateChange): string {
  const path = pathOf(change)
  switch (change.action) {
    case 'set':
      return `set ${path} in the shared state: ${excerpt(JSON.stringify(change.value))}`
    case 'increment':
      return `added ${change.by} to ${path} in the shared state.`
    case 'append':
      return `appended to ${path} in the shared state: ${excerpt(JSON.stringify(change.value))}`
    case 'delete':
      return `deleted ${path} from the shared state.`
    default:
      return change satisfies never
  }
}
