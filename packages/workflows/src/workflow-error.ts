// The faults in the arguments of a workflow tool: one table of codes, which the documentation mirrors (D-38).
// An error is returned as a tool result that says what to write instead, so the model corrects its call and
// the root run continues.

/** Every code, with its meaning. */
export const workflowErrorCodes = {
  invalid_arguments: 'A field is missing, unknown, or of another shape than the schema says',
  agents_empty: '`agents` holds no agent',
  duplicate_agent: 'Two agents have the same name',
  invalid_agent_name: 'An agent name has characters or a length that are not allowed',
  aggregator_required: 'MixtureOfAgents was called without an aggregator',
  empty_flow: '`flow` is empty',
  empty_segment: 'A step of `flow`, or a place in one, is empty',
  unknown_agent: '`flow` names an agent that is not in `agents`',
  repeated_agent: '`flow` names an agent twice',
  agent_not_in_flow: 'An agent does not appear in `flow`',
  edges_required: '`edges` is missing, or empty with more than one agent',
  edges_shape: '`edges` is not an array of [from, to] pairs of agent names',
  unknown_node: 'An edge names an agent that is not in `agents`',
  cycle: 'The edges form a cycle',
  island: 'An agent is not connected with the output agent',
  unknown_output_agent: '`output_agent` is not in `agents`',
  unreachable_output_agent: 'No edge leads to `output_agent`',
  model_not_allowed:
    'An agent names `model` or `model_settings`, and the profile of the root agent does not allow it',
  unknown_skill:
    '`use_skill` names a skill that is not loaded (checked where the skills are, by the runtime)',
  impossible_evidence: 'A check of an agent needs a tool that the agent cannot have, so no output could pass',
  too_many_agents: 'There are more agents than the limit `agentsMax` allows',
  too_many_edges: 'The graph has more edges than the limit `edgesMax` allows',
  workflow_recursion: 'A workflow calls itself, directly or through others',
  workflow_too_deep: 'Workflows stand in each other deeper than 4',
  unknown_workflow: 'A workflow calls one that does not exist',
  invalid_definition: 'A workflow calls another with inputs that one does not have, or without one it needs',
} as const satisfies Record<string, string>

/** The code of a `WorkflowError`. */
export type WorkflowErrorCode = keyof typeof workflowErrorCodes

/** What is wrong with the arguments of a workflow tool. */
export interface WorkflowError {
  readonly code: WorkflowErrorCode
  readonly message: string
  /** The dotted path in the arguments (`agents.2.name`). Empty for the whole. */
  readonly path: string
}

/** A refused plan. */
export interface Refusal {
  readonly ok: false
  readonly error: WorkflowError
}

/**
 * Refuses a call. `message` tells the model what to correct.
 *
 * @example
 * refuse('invalid_arguments', 'task', 'Say what to do.').error.path // => 'task'
 */
export function refuse(code: WorkflowErrorCode, path: string, message: string): Refusal {
  return { ok: false, error: { code, message: message.trim(), path } }
}
