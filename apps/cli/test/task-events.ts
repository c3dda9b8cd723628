// The log of a task for tests: events with `taskseq` and times, a hundred milliseconds apart.
import {
  type DataOf,
  type DomainEvent,
  event,
  type RunId,
  type SessionId,
  type TaskId,
  type TaskResult,
  type TeamRunId,
} from '@beaver/core'
import type { AgentNode, ExecutionGraph, ExecutionNode } from '@beaver/core/graph'
import { genesisHash, type RecordedEvent } from '@beaver/core/journal'
import { evolveTaskView, newTaskView, type TaskView } from '@beaver/core/task-view'

export const startedAt = Date.parse('2027-01-09T12:00:00.000Z')
const stepMs = 100

export function recorded(events: readonly DomainEvent[]): RecordedEvent[] {
  return events.map((each, i) => ({
    ...each,
    taskseq: i + 1,
    epoch: 1,
    id: `1.${i + 1}`,
    source: '/test',
    prevhash: genesisHash,
    hash: genesisHash,
    time: new Date(startedAt + i * stepMs).toISOString(),
  })) as RecordedEvent[]
}

export function foldView(events: readonly RecordedEvent[]): TaskView {
  const view = newTaskView()
  for (const each of events) evolveTaskView(view, each)
  return view
}

const usage = { input_tokens: 900, output_tokens: 100, calls: 1 }
const team = 'team_1' as TeamRunId

export const submitted = (text = 'Report on this folder'): DomainEvent =>
  event('task_submitted', {
    task_id: 'task_1' as TaskId,
    session_id: 's' as SessionId,
    tenant: 'local',
    previous_task_id: null,
    request: { text, workspace: '/w', skill: null, source: 'cli' },
  })

export const runStarted = (runId: string, agent: string, node: string | null = null): DomainEvent =>
  event(
    'run_started',
    {
      run_id: runId as RunId,
      parent_run_id: node === null ? null : ('run_root' as RunId),
      attempt_index: 1,
      agent_name: agent,
      team_run_id: node === null ? null : team,
      node_id: node,
      source: 'cli',
      max_tool_iterations: 20,
      tools: ['list_files'],
    },
    runId,
  )

export const told = (runId: string): DomainEvent => event('user_message_added', { content: 'go' }, runId)

export const calls = (runId: string, ...names: string[]): DomainEvent => {
  const data: DataOf<'assistant_message_added'> = {
    content: null,
    tool_calls: names.map((name) => ({ id: `${runId}.${name}`, name, arguments: '{}' })),
    finish_reason: 'tool_calls',
    usage,
    provider_name: 'simulated',
    model: 'beaver-simulated-1',
    response_id: null,
    duration_ms: 10,
  }
  return event('assistant_message_added', data, runId)
}

export const answers = (runId: string): DomainEvent =>
  ({
    ...calls(runId),
    data: {
      ...(calls(runId).data as DataOf<'assistant_message_added'>),
      content: 'done',
      finish_reason: 'stop',
    },
  }) as DomainEvent

export const result = (runId: string, name: string, success = true): DomainEvent =>
  event(
    'tool_result_recorded',
    {
      call_id: `${runId}.${name}`,
      tool_name: name,
      success,
      content: '{}',
      error: success ? null : 'tool_crash',
      duration_ms: 5,
    },
    runId,
  )

export const failedCall = (runId: string): DomainEvent =>
  event(
    'provider_call_failed',
    {
      failure: { class: 'provider_unavailable', message: 'HTTP 503' },
      tries: 1,
      retry_in_ms: 500,
      status: 503,
    },
    runId,
  )

const runCompleted = (runId: string): DomainEvent =>
  event('run_completed', { finish_reason: 'stop', tool_iterations: 1, usage }, runId)

export const agentNode = (
  name: string,
  depends_on: string[] = [],
  workflow = 'SequentialWorkflow',
): AgentNode => ({
  kind: 'agent',
  node_id: name,
  agent: {
    name,
    role: '',
    system_prompt: '',
    metadata: { sub_agent_kind: 'generic_skill_worker', workflow_tool: workflow, workflow_agent_name: name },
  },
  instruction: `Do ${name}.`,
  depends_on,
  allowed_tool_names: null,
  required_evidence: [],
})
const toolNode = (name: string, depends_on: string[] = []): ExecutionNode => ({
  kind: 'tool',
  node_id: name,
  depends_on,
  tool: 'file_stats',
  arguments: {},
})
export const codeNode = (name: string, depends_on: string[] = []): ExecutionNode => ({
  kind: 'code',
  node_id: name,
  depends_on,
  operation: 'map',
})

export const graphStarted = (graph: ExecutionGraph, root = true): DomainEvent =>
  event('task_team_run_started', {
    team_run_id: team,
    run_id: root ? ('run_root' as RunId) : null,
    call_id: root ? 'c' : null,
    graph,
    concurrent_nodes_max: 16,
  })

export function teamStarted(...chain: string[]): DomainEvent {
  const nodes = chain.map((name, i) => agentNode(name, chain.slice(Math.max(0, i - 1), i)))
  const last = chain.at(-1) as string
  const graph: ExecutionGraph = {
    workflow: 'SequentialWorkflow',
    task: 't',
    nodes,
    outputs: [last],
    output: last,
  }
  return graphStarted(graph)
}

export const nodeStarted = (node: string): DomainEvent =>
  event('node_started', { team_run_id: team, node_id: node, run_id: `run_${node}` as RunId, input: null })
export const nodeCompleted = (node: string): DomainEvent =>
  event('node_completed', { team_run_id: team, node_id: node, run_id: `run_${node}` as RunId })
export const nodeFailed = (node: string, message: string): DomainEvent =>
  event('node_failed', {
    team_run_id: team,
    node_id: node,
    run_id: `run_${node}` as RunId,
    failure: { class: 'evidence_missing', message },
  })
export const nodeBlocked = (node: string, cause: string): DomainEvent =>
  event('node_blocked', { team_run_id: team, node_id: node, cause_node_id: cause })

const nodeComputed = (node: string, output: string): DomainEvent =>
  event('node_computed', { team_run_id: team, node_id: node, output })
const nodeSkipped = (node: string, reason: string): DomainEvent =>
  event('node_skipped', { team_run_id: team, node_id: node, reason })
export const nodeCancelled = (node: string, reason: string): DomainEvent =>
  event('node_cancelled', { team_run_id: team, node_id: node, reason })
export const nodeCancelRequested = (node: string, reason: string): DomainEvent =>
  event('node_cancel_requested', { team_run_id: team, node_id: node, reason })
const noted = (node: string, message: string): DomainEvent =>
  event('team_diagnostic_recorded', { team_run_id: team, node_id: node, code: 'unknown_member', message })
const grew = (
  after: string,
  nodes: ExecutionNode[],
  edges: [string, string][],
  output: string,
): DomainEvent =>
  event('graph_extended', { team_run_id: team, node_id: after, nodes, edges, outputs: [output], output })
export const shared = (node: string, change: DataOf<'shared_state_changed'>['change']): DomainEvent =>
  event('shared_state_changed', { team_run_id: team, run_id: `run_${node}` as RunId, change }, `run_${node}`)
const toolRequested = (node: string, name: string): DomainEvent =>
  event('tool_call_requested', { call: { id: `run_${node}.${name}`, name, arguments: '{}' } }, `run_${node}`)

export const ended = (
  type: 'task_completed' | 'task_incomplete' | 'task_failed',
  failure: TaskResult['failure'] = null,
): DomainEvent =>
  event(type, {
    final_output: '# Report',
    outputs: [],
    usage,
    provider: 'simulated',
    model: 'beaver-simulated-1',
    simulated: true,
    failure,
  })

/** A task that is a workflow and is at work, with a node of every kind and in every state. */
export const workflowAtWork: readonly DomainEvent[] = [
  {
    ...submitted(),
    data: {
      ...submitted().data,
      request: {
        ...(submitted().data as DataOf<'task_submitted'>).request,
        workflow: { name: 'workflow:map', arguments: {} },
      },
    },
  } as DomainEvent,
  event('task_claimed', { daemon: 'd' }),
  graphStarted(
    {
      workflow: 'workflow:map',
      task: 't',
      nodes: [
        codeNode('split'),
        toolNode('find', ['split']),
        agentNode('branch', ['split']),
        codeNode('broken', ['split']),
        agentNode('behind', ['broken']),
        { ...agentNode('end', ['find', 'branch']), quorum: 1 },
      ],
      outputs: ['end'],
      output: 'end',
    },
    false,
  ),
  nodeComputed('split', '["x","y"]'),
  grew('split', [agentNode('item', ['split'])], [['item', 'end']], 'end'),
  nodeSkipped('branch', 'The condition does not hold.'),
  event('node_failed', {
    team_run_id: team,
    node_id: 'broken',
    run_id: null,
    failure: { class: 'internal', message: 'No code for this.' },
  }),
  nodeBlocked('behind', 'broken'),
  noted('split', 'The list has an empty place.'),
  event('task_claimed', { daemon: 'd2' }),
  nodeStarted('find'),
  runStarted('run_find', 'find', 'find'),
  toolRequested('find', 'file_stats'),
]

/** A team of three nodes at work: `collect` has completed, `count` acts, and `write` waits. */
export const teamAtWork: readonly DomainEvent[] = [
  submitted(),
  event('task_claimed', { daemon: 'd2' }),
  runStarted('run_root', 'root'),
  told('run_root'),
  calls('run_root', 'SequentialWorkflow'),
  teamStarted('collect', 'count', 'write'),
  nodeStarted('collect'),
  runStarted('run_collect', 'collect', 'collect'),
  told('run_collect'),
  calls('run_collect', 'list_files'),
  result('run_collect', 'list_files'),
  answers('run_collect'),
  runCompleted('run_collect'),
  nodeCompleted('collect'),
  nodeStarted('count'),
  runStarted('run_count', 'count', 'count'),
  told('run_count'),
  calls('run_count', 'file_stats'),
]
