// What each event of a team run says, in one sentence, and what its fields mean.
import type { DataOf, EventType } from '@beaver/core'
import type { TextsOf } from './field-texts.ts'

const ofTeam = 'The id of the team run.'
const ofNode = 'The id of the node.'
export const ofReason = 'Why, in one sentence.'
export const ofAsker =
  'Who asked, by the name under which the NATS server let the request pass. Absent in journals of an earlier version.'
export const ofUser = 'The user for whom the caller asked. Absent: the caller asked for itself.'
const teamNode = { team_run_id: ofTeam, node_id: ofNode }

type TeamEventType = Extract<
  EventType,
  | `node_${string}`
  | `task_team_run_${string}`
  | 'graph_extended'
  | 'team_diagnostic_recorded'
  | 'shared_state_changed'
>

/** One sentence and the meaning of the fields, by event type. */
export const teamEventTexts: {
  readonly [Type in TeamEventType]: { readonly says: string; readonly fields: TextsOf<DataOf<Type>> }
} = {
  task_team_run_started: {
    says: 'A team run began.',
    fields: {
      team_run_id: ofTeam,
      run_id: 'The run that called the team. null: the task is a workflow without a root agent.',
      call_id: 'The call that started the team. null: the task is a workflow without a root agent.',
      graph: 'The whole graph.',
      concurrent_nodes_max: 'How many nodes may run at the same time.',
      taint: 'The labels of the run that called the team. Absent: it has none.',
    },
  },
  node_started: {
    says: 'A node of a team began.',
    fields: {
      ...teamNode,
      run_id: 'The run of the node.',
      input: 'What the program of the graph gave the node. null: nothing.',
    },
  },
  node_computed: {
    says: 'Code computed the output of a node.',
    fields: { ...teamNode, output: 'The output.' },
  },
  node_skipped: { says: 'A node was skipped.', fields: { ...teamNode, reason: ofReason } },
  graph_extended: {
    says: 'The graph of a team grew.',
    fields: {
      team_run_id: ofTeam,
      node_id: 'The node after which the graph grew.',
      nodes: 'The new nodes.',
      edges: 'The new edges, each as a pair: the node that must end first, and the node that depends on it.',
      outputs: 'The nodes whose outputs are now the outputs of the team.',
      output:
        'The node whose text is now the final output of the team. null: the final output combines all outputs.',
    },
  },
  node_evidence_evaluated: {
    says: 'The gate evaluated the evidence of a node.',
    fields: {
      ...teamNode,
      run_id: 'The run of the node.',
      passed: 'Whether the result passes.',
      checks: 'The verdict on each requirement.',
    },
  },
  node_completed: { says: 'A node completed.', fields: { ...teamNode, run_id: 'The run of the node.' } },
  node_failed: {
    says: 'A node failed.',
    fields: {
      ...teamNode,
      run_id: 'The run of the node. null: the node failed before it could start.',
      failure: 'Why the node failed.',
    },
  },
  node_blocked: {
    says: 'A node can never start, because another node did not complete.',
    fields: { ...teamNode, cause_node_id: 'The node that did not complete.' },
  },
  node_cancel_requested: {
    says: 'Somebody asked to cancel one node.',
    fields: { ...teamNode, reason: ofReason, by: ofAsker, user_id: ofUser },
  },
  node_cancelled: { says: 'A node was cancelled.', fields: { ...teamNode, reason: ofReason } },
  team_diagnostic_recorded: {
    says: 'Something worth knowing happened in a team. Nothing failed.',
    fields: {
      ...teamNode,
      code: 'A code for programs, such as "tie".',
      message: 'What happened, in one sentence.',
    },
  },
  shared_state_changed: {
    says: 'The state that the members of a team share changed.',
    fields: {
      team_run_id: ofTeam,
      run_id: 'The run that changed the state. null: the program of the graph changed it.',
      change: 'The change.',
      taint: 'The labels of that run. Absent: it has none.',
    },
  },
  task_team_run_completed: {
    says: 'A team run completed.',
    fields: { team_run_id: ofTeam, outcome: 'How the team ended.' },
  },
  task_team_run_failed: {
    says: 'A team run ended without completing.',
    fields: { team_run_id: ofTeam, outcome: 'How the team ended.', message: 'Why, in one sentence.' },
  },
}
