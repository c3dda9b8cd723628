// Shared by the tests of core: short forms of events, and a log of them that was sealed and opened again like
// a real one.
import { type DataOf, type DomainEvent, event, type EventType } from '../src/index.ts'
import type { AgentNode, CodeNode, ExecutionGraph, ExecutionNode } from '../src/graph/index.ts'
import {
  draft,
  emptyHead,
  openRecord,
  type RecordedEvent,
  type SealedRecord,
  seal,
  splitBatch,
} from '../src/journal/index.ts'

export const written = {
  epoch: 1,
  source: '/beaver/daemons/d1',
  subject: 't1',
  time: '2026-01-01T00:00:00.000Z',
}

/** The records of a log written by one daemon. */
export function sealed(events: readonly DomainEvent[], options = written): SealedRecord[] {
  let head = emptyHead
  return events.map((each) => {
    const next = seal(head, draft(each), options)
    head = next.head
    return next.record
  })
}

/** The log, as a reader gets it. */
export function recorded(...events: DomainEvent[]): RecordedEvent[] {
  return sealed(events).map(({ text, blob }) =>
    openRecord(
      splitBatch(Buffer.from(`[${text}]`))[0] as never,
      blob === null ? undefined : Buffer.from(blob.bytes).toString(),
    ),
  )
}

/** An event whose ids are plain text. */
export const plain = <T extends EventType>(type: T, data: Plain<DataOf<T>>, ofRun?: string): DomainEvent =>
  event(type, data as DataOf<T>, ofRun)
type Plain<T> = {
  [K in keyof T]: T[K] extends string | null ? (null extends T[K] ? string | null : string) : T[K]
}

export const node = (node_id: string, ...depends_on: string[]): AgentNode => ({
  kind: 'agent',
  node_id,
  agent: {
    name: node_id,
    role: '',
    system_prompt: '',
    metadata: { sub_agent_kind: 'generic_skill_worker', workflow_tool: 'Test', workflow_agent_name: node_id },
  },
  instruction: `Do ${node_id}.`,
  depends_on,
  allowed_tool_names: null,
  required_evidence: [],
})

/** A node whose output the program of its graph computes. */
export const code = (node_id: string, ...depends_on: string[]): CodeNode => ({
  kind: 'code',
  node_id,
  depends_on,
  operation: node_id,
})

/** A node that starts when all its dependencies have ended and `quorum` of them have completed. */
export const quorum = (of: number, node_id: string, ...depends_on: string[]): AgentNode => ({
  ...node(node_id, ...depends_on),
  quorum: of,
})

export function graph(...nodes: ExecutionNode[]): ExecutionGraph {
  const needed = new Set(nodes.flatMap((each) => each.depends_on))
  const outputs = nodes.map((each) => each.node_id).filter((id) => !needed.has(id))
  return {
    workflow: 'Test',
    task: 'x',
    nodes,
    outputs,
    output: outputs.length === 1 ? (outputs[0] ?? null) : null,
  }
}

const usage = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens, calls: 1 })

export const submitted = plain('task_submitted', {
  task_id: 't1',
  session_id: 's1',
  tenant: 'default',
  previous_task_id: null,
  request: { text: '比较', workspace: '/w', skill: null, source: 'test' },
})

export const runStarted = (run_id: string, more: { parent?: string; node?: string } = {}): DomainEvent =>
  plain(
    'run_started',
    {
      run_id,
      parent_run_id: more.parent ?? null,
      attempt_index: 1,
      agent_name: more.node ?? 'root',
      team_run_id: more.node === undefined ? null : 'team1',
      node_id: more.node ?? null,
      source: more.node === undefined ? 'root' : 'team:team1',
      max_tool_iterations: 20,
      tools: [],
    },
    run_id,
  )

export const answer = (
  run_id: string,
  content: string | null,
  calls: { id: string; name: string }[] = [],
): DomainEvent =>
  plain(
    'assistant_message_added',
    {
      content,
      tool_calls: calls.map((call) => ({ ...call, arguments: '{}' })),
      finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      usage: usage(10, 5),
      provider_name: 'simulated',
      model: 'm',
      response_id: null,
      duration_ms: 3,
    },
    run_id,
  )

export const result = (
  run_id: string,
  call_id: string,
  tool_name: string,
  content = 'ok',
  success = true,
): DomainEvent =>
  plain(
    'tool_result_recorded',
    { call_id, tool_name, success, content, error: success ? null : 'tool_crash', duration_ms: 1 },
    run_id,
  )

export const taskEnd = {
  final_output: 'fin',
  outputs: [],
  usage: usage(1, 1),
  provider: null,
  model: null,
  simulated: true,
  failure: null,
}
