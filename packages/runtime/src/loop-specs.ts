// What the loops of a task are started with: the root's spec from the request, a node's from its place in the graph. Pure.
import type { ChatMessage, ExecutionNode, LogId, RecordedEvent, RunId, TaskRequest, TeamRunId } from '@beaver/core'
import type { LoopSpec } from '@beaver/agent'

export function rootSpec(
  log: LogId,
  request: TaskRequest,
  of: { runId: string; history: readonly ChatMessage[]; toolIterationsMax: number; resume: readonly RecordedEvent[] | null },
): LoopSpec {
  return {
    start: {
      run_id: of.runId as RunId,
      parent_run_id: null,
      attempt_index: 1,
      agent_name: 'root',
      team_run_id: null,
      node_id: null,
      source: request.source,
      max_tool_iterations: of.toolIterationsMax,
    },
    taskId: log.task,
    sessionId: log.session,
    workspace: request.workspace,
    part: { kind: 'root', text: request.text, skill: request.skill },
    history: of.history,
    resume: of.resume,
  }
}

export function nodeSpec(
  log: LogId,
  request: TaskRequest,
  of: {
    node: ExecutionNode
    runId: string
    rootRunId: string
    teamRunId: string
    /** The team's task. */
    task: string
    dependencies: readonly { readonly node_id: string; readonly output: string }[]
    toolIterationsMax: number
    resume: readonly RecordedEvent[] | null
  },
): LoopSpec {
  const { node } = of
  return {
    start: {
      run_id: of.runId as RunId,
      parent_run_id: of.rootRunId as RunId,
      attempt_index: 1,
      agent_name: node.agent.name,
      team_run_id: of.teamRunId as TeamRunId,
      node_id: node.node_id,
      // A source that starts with `team:` marks a worker (SCH-12, D-09).
      source: `team:${of.teamRunId}`,
      max_tool_iterations: of.toolIterationsMax,
    },
    taskId: log.task,
    sessionId: log.session,
    workspace: request.workspace,
    part: {
      kind: 'worker',
      task: of.task,
      instruction: node.instruction,
      dependencies: of.dependencies,
      requiredEvidence: node.required_evidence,
      skill: node.use_skill ?? null,
      allowedToolNames: node.allowed_tool_names,
    },
    history: [],
    resume: of.resume,
  }
}
