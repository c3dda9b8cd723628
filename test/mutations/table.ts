// Each rule of workflow arguments (D-38), with an edit of the sources that removes it and nothing else. `pnpm
// mutations` makes each edit in a copy and asks which test notices; test/house/mutations.test.ts keeps the
// table true.
import type { WorkflowErrorCode } from '@beaver/workflows'

/**
 * The codes of D-38, that of the second limit of D-39, that of D-62, and that of models that a model may not
 * name. Definition files have codes of their own.
 */
export const rules: readonly WorkflowErrorCode[] = [
  'invalid_arguments',
  'agents_empty',
  'duplicate_agent',
  'invalid_agent_name',
  'aggregator_required',
  'empty_flow',
  'empty_segment',
  'unknown_agent',
  'repeated_agent',
  'agent_not_in_flow',
  'edges_required',
  'edges_shape',
  'unknown_node',
  'cycle',
  'island',
  'unknown_output_agent',
  'unreachable_output_agent',
  'model_not_allowed',
  'unknown_skill',
  'impossible_evidence',
  'too_many_agents',
  'too_many_edges',
]

export interface Mutation {
  /** The code the rule refuses with. */
  readonly rule: WorkflowErrorCode
  /** What is gone, for people. */
  readonly without: string
  /** The package the edit is in; its tests are run. */
  readonly package: 'packages/workflows' | 'packages/agent'
  readonly file: string
  /** Stands in the file exactly once. */
  readonly snippet: string
  readonly replacement: string
}

const inWorkflows = (
  rule: WorkflowErrorCode,
  without: string,
  file: string,
  snippet: string,
  replacement: string,
): Mutation => ({
  rule,
  without,
  package: 'packages/workflows',
  file: `src/${file}`,
  snippet,
  replacement,
})

export const mutations: readonly Mutation[] = [
  inWorkflows(
    'invalid_arguments',
    'arguments that are no object',
    'arguments/read-arguments.ts',
    "if (!isRecord(args)) return refuse('invalid_arguments', '', argumentsFault(args))",
    'if (!isRecord(args)) return { ok: true, value: args as never }',
  ),
  inWorkflows(
    'invalid_arguments',
    'values that do not fit the schema',
    'arguments/read-arguments.ts',
    'if (parsed.success) return { ok: true, value: parsed.data }',
    'return { ok: true, value: (parsed.data ?? args) as never }',
  ),
  inWorkflows(
    'invalid_arguments',
    'its path',
    'arguments/read-arguments.ts',
    "const refused = (message: string): Refusal => refuse('invalid_arguments', path, message)",
    "const refused = (message: string): Refusal => refuse('invalid_arguments', '', message)",
  ),
  inWorkflows(
    'invalid_arguments',
    'unknown fields of the arguments',
    'graphs/sequential.ts',
    'input: z.strictObject({',
    'input: z.object({',
  ),
  inWorkflows(
    'invalid_arguments',
    'unknown fields of an agent',
    'agent-spec.ts',
    'export const workflowAgentSpec = z\n  .strictObject({',
    'export const workflowAgentSpec = z\n  .object({',
  ),
  inWorkflows(
    'invalid_arguments',
    'separators of another kind in a flow',
    'graphs/agent-rearrange.ts',
    "if (marks === '' ||",
    "if (marks !== '' ||",
  ),
  inWorkflows(
    'agents_empty',
    'an empty list of agents',
    'agent-spec.ts',
    'z.array(workflowAgentSpec).min(1)',
    'z.array(workflowAgentSpec)',
  ),
  inWorkflows(
    'duplicate_agent',
    'two agents of one name',
    'agent-spec.ts',
    'if (taken !== undefined) {',
    'if (taken === null) {',
  ),
  inWorkflows(
    'invalid_agent_name',
    'names with odd characters',
    'agent-spec.ts',
    'if (fault !== null)',
    'if (fault === undefined)',
  ),
  inWorkflows(
    'aggregator_required',
    'no aggregator',
    'graphs/mixture-of-agents.ts',
    'if (aggregator === undefined || aggregator === null) {',
    "if (aggregator === 'nothing') {",
  ),
  inWorkflows(
    'empty_flow',
    'an empty flow',
    'graphs/agent-rearrange.ts',
    "if (flow.trim() === '')",
    "if (flow.trim() === '?')",
  ),
  inWorkflows(
    'empty_segment',
    'an empty step or place',
    'graphs/agent-rearrange.ts',
    'emptyFault(steps) ?? agentFault(',
    'agentFault(',
  ),
  inWorkflows(
    'unknown_agent',
    'a name in the flow that is no agent',
    'graphs/agent-rearrange.ts',
    'if (unknown !== undefined) {',
    'if (unknown !== undefined && rewritten(flow) !== flow) {',
  ),
  inWorkflows(
    'repeated_agent',
    'an agent twice in the flow',
    'graphs/agent-rearrange.ts',
    'if (seen.has(name))',
    "if (name === '')",
  ),
  inWorkflows(
    'agent_not_in_flow',
    'an agent the flow leaves out',
    'graphs/agent-rearrange.ts',
    'if (missing === -1) return null',
    'if (missing >= -1) return null',
  ),
  inWorkflows(
    'edges_required',
    'no edges field',
    'graphs/graph-workflow.ts',
    'if (edges === undefined || edges === null) {',
    "if (edges === 'nothing') {",
  ),
  inWorkflows(
    'edges_required',
    'no edges between several agents',
    'graphs/graph-workflow.ts',
    'if (edges.length === 0 && names.length > 1) {',
    'if (edges.length < 0 && names.length > 1) {',
  ),
  inWorkflows(
    'edges_shape',
    'edges that are no array',
    'graphs/graph-workflow.ts',
    'if (!Array.isArray(edges)) {',
    "if (edges === 'nothing') {",
  ),
  inWorkflows(
    'edges_shape',
    'an edge that is no pair of texts',
    'graphs/graph-workflow.ts',
    "if (Array.isArray(edge) && edge.length === 2 && edge.every((end) => typeof end === 'string')) continue",
    'if (Array.isArray(edges)) continue',
  ),
  inWorkflows(
    'unknown_node',
    'an edge to no agent',
    'graphs/graph-workflow.ts',
    'if (name !== undefined)',
    'if (name === null)',
  ),
  inWorkflows(
    'unknown_output_agent',
    'an output that is no agent',
    'graphs/graph-workflow.ts',
    'if (!known.has(output))',
    "if (output === '?')",
  ),
  inWorkflows(
    'cycle',
    'a cycle',
    'graphs/graph-workflow.ts',
    'if (cycle !== null) {',
    'if (cycle === undefined) {',
  ),
  inWorkflows(
    'island',
    'agents apart from the output',
    'graphs/graph-workflow.ts',
    'if (!allowDisconnected && component.length < topology.nodes.length) {',
    'if (!allowDisconnected && component.length > topology.nodes.length) {',
  ),
  inWorkflows(
    'unreachable_output_agent',
    'an output no edge leads to',
    'graphs/graph-workflow.ts',
    'if (component.length > 1 && topology.dependenciesOf.get(output)?.length === 0) {',
    'if (component.length > 1 && topology.dependenciesOf.get(output)?.length === -1) {',
  ),
  inWorkflows(
    'impossible_evidence',
    'checks for tools that are not there',
    'evidence-fault.ts',
    'const missing = named.find(({ name }) => tools?.has(name) === false)',
    'const missing = named.find(() => false)',
  ),
  inWorkflows(
    'impossible_evidence',
    'checks for tools out of scope',
    'evidence-fault.ts',
    'if (limits === null || outside === undefined ||',
    'if (limits !== undefined || outside === undefined ||',
  ),
  inWorkflows(
    'impossible_evidence',
    'quotations of an agent that receives nothing',
    'evidence-fault.ts',
    "if (node.kind !== 'agent' || node.depends_on.length > 0) continue",
    "if (node.kind !== 'agent' || node.depends_on.length >= 0) continue",
  ),
  inWorkflows(
    'too_many_agents',
    'the limit of agents',
    'agent-spec.ts',
    'if (agents.length > limits.agentsMax) {',
    'if (agents.length === Infinity) {',
  ),
  inWorkflows(
    'too_many_edges',
    'the limit of edges',
    'graphs/team-graph.ts',
    'if (edgeCount <= limits.edgesMax) return null',
    'if (edgeCount <= Infinity) return null',
  ),
  inWorkflows(
    'model_not_allowed',
    'a model that a model may not name',
    'agent-spec.ts',
    'limits.modelChoice === false',
    'limits.modelChoice === null',
  ),
  {
    rule: 'unknown_skill',
    without: 'a skill that is not loaded',
    package: 'packages/agent',
    file: 'src/loop/make-call.ts',
    snippet: 'const missing = skillsOf(plan.graph).find(',
    replacement: 'const missing = ([] as ReturnType<typeof skillsOf>).find(',
  },
]
