// The specifications of loops: the root's comes from the request, a node's from its place in the graph. Pure.
import {
  type ChatMessage,
  emptyMemory,
  type JsonObject,
  type LogId,
  type RunId,
  type TaskRequest,
  type TeamRunId,
} from '@beaver/core'
import { attemptOf } from '@beaver/core/fold'
import { type AgentNode, givenInstruction, type ToolNode } from '@beaver/core/graph'
import type { RecordedEvent } from '@beaver/core/journal'
import { isUnlabelled, type Taint } from '@beaver/core/taint'
import type { LoopSpec } from '@beaver/agent'
import type { TeamContext } from '@beaver/workflows'

export function rootSpec(
  log: LogId,
  request: TaskRequest,
  of: {
    runId: string
    history: readonly ChatMessage[]
    taint: Taint
    toolIterationsMax: number
    repeatsMax: number | null
    resume: readonly RecordedEvent[] | null
    admitted?: boolean
  },
): LoopSpec {
  return {
    start: {
      run_id: of.runId as RunId,
      parent_run_id: null,
      attempt_index: attemptOf({ task_id: log.task, request }),
      agent_name: 'root',
      team_run_id: null,
      node_id: null,
      source: request.source,
      max_tool_iterations: of.toolIterationsMax,
      ...repeatsBound(of),
      ...askedAs(request),
      ...(request.tool_choice === undefined ? {} : { tool_choice: request.tool_choice }),
      // The client's history is not public, like the session's.
      ...labels(request.history === undefined ? of.taint : { ...of.taint, public: false }),
    },
    taskId: log.task,
    sessionId: log.session,
    workspace: request.workspace,
    part: {
      kind: 'root',
      text: request.text,
      skill: request.skill,
      profile: request.profile ?? null,
      ...(request.instructions === undefined ? {} : { instructions: request.instructions }),
      ...(request.images === undefined ? {} : { images: request.images }),
      ...(request.client_tools === undefined ? {} : { clientTools: request.client_tools }),
    },
    history: request.history === undefined ? of.history : [...of.history, ...request.history],
    memory: emptyMemory, // the start of the run puts in what it is then
    stream: request.stream ?? false,
    ...(request.skills === undefined ? {} : { skills: request.skills }),
    resume: of.resume,
    admitted: of.admitted ?? false,
  }
}

export interface NodeSpecOf {
  readonly node: AgentNode | ToolNode
  /** The input that the graph's program gave the node. */
  readonly input: JsonObject | null
  readonly runId: string
  /** `null` for a task that is a workflow: its nodes have no parent run. */
  readonly rootRunId: string | null
  readonly teamRunId: string
  /** The team's task. */
  readonly task: string
  readonly dependencies: readonly { readonly node_id: string; readonly output: string }[]
  readonly sharedState: boolean
  readonly teamContext: TeamContext
  /** The labels of the run that asked for the team. */
  readonly asked: Taint
  /** The labels of everything that the node is given. */
  readonly given: Taint
  readonly toolIterationsMax: number
  /** How many turns in a row may be the same; `null`: no bound. */
  readonly repeatsMax: number | null
  readonly resume: readonly RecordedEvent[] | null
  /** Its next provider call has its turn under the limit already. Default: false. */
  readonly admitted?: boolean
}

export function nodeSpec(log: LogId, request: TaskRequest, of: NodeSpecOf): LoopSpec {
  const { node } = of
  return {
    start: {
      run_id: of.runId as RunId,
      parent_run_id: of.rootRunId as RunId | null,
      attempt_index: attemptOf({ task_id: log.task, request }),
      agent_name: node.kind === 'agent' ? node.agent.name : node.tool,
      team_run_id: of.teamRunId as TeamRunId,
      node_id: node.node_id,
      // A source that starts with `team:` marks a worker (SCH-12, D-09).
      source: `team:${of.teamRunId}`,
      max_tool_iterations: of.toolIterationsMax,
      ...(node.kind === 'agent' ? { ...repeatsBound(of), ...askedAs(node) } : {}),
      ...labels(of.given),
    },
    taskId: log.task,
    sessionId: log.session,
    workspace: request.workspace,
    part:
      node.kind === 'agent'
        ? agentPart(node, request, of)
        : { kind: 'tool', tool: node.tool, arguments: objectOf(of.input?.['arguments']) ?? node.arguments },
    teamContext: of.teamContext,
    history: [],
    memory: emptyMemory,
    stream: request.stream ?? false,
    ...(request.skills === undefined ? {} : { skills: request.skills }),
    resume: of.resume,
    admitted: of.admitted ?? false,
  }
}

function agentPart(node: AgentNode, request: TaskRequest, of: NodeSpecOf): LoopSpec['part'] {
  const instruction = givenInstruction(of.input)
  return {
    kind: 'worker',
    task: of.task,
    instruction: instruction ?? node.instruction,
    dependencies: of.dependencies,
    requiredEvidence: node.required_evidence,
    validationRules: node.validation_rules ?? [],
    evidenceContract: node.evidence_contract ?? null,
    skill: node.use_skill ?? null,
    skillQuery: node.skill_query ?? null,
    allowedToolNames: node.allowed_tool_names,
    ...(request.workflow === undefined ? { profile: request.profile ?? null } : {}),
    systemPrompt: node.agent.system_prompt,
    sharedState: of.sharedState,
    trustedText: trustedText(of, request, instruction === null ? node.instruction : null),
  }
}

const repeatsBound = ({ repeatsMax }: Pick<NodeSpecOf, 'repeatsMax'>): { repeats_max?: number } =>
  repeatsMax === null ? {} : { repeats_max: repeatsMax }

type AskedAs = Pick<AgentNode, 'model' | 'model_settings' | 'output_schema'>

/** An agent's model with its settings. */
const askedAs = ({
  model,
  model_settings,
  output_schema,
}: AskedAs): Pick<LoopSpec['start'], 'model' | 'model_settings' | 'output_schema'> => ({
  ...(model === undefined ? {} : { model }),
  ...(model_settings === undefined ? {} : { model_settings }),
  ...(output_schema === undefined ? {} : { output_schema }),
})

/**
 * The words of the person. What the root wrote for its team counts too, if it had read nothing but those
 * words and the public web without a stranger's text. A program may put what other members wrote into an
 * instruction.
 */
function trustedText({ asked, task }: NodeSpecOf, { text }: TaskRequest, instruction: string | null): string {
  return isUnlabelled(asked) ? `${text}\n${task}\n${instruction ?? ''}` : text
}

/** A run that gets only a person's words records no labels. */
const labels = (taint: Taint): { taint?: Taint } => (isUnlabelled(taint) ? {} : { taint })

function objectOf(value: JsonObject[string] | undefined): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
}
