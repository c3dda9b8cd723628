// A journal to project, built with core's own seal and joinBatch: logs of several tasks in one stream, with
// their blobs.
import {
  BeaverError,
  type DataOf,
  type DomainEvent,
  event,
  type LogId,
  type RunId,
  type SessionId,
  type TaskId,
  type TaskResult,
  type TeamRunId,
} from '@beaver/core'
import type { AgentNode, ExecutionGraph } from '@beaver/core/graph'
import {
  type Blob,
  draft,
  emptyHead,
  joinBatch,
  type LogHead,
  seal,
  type SealedRecord,
} from '@beaver/core/journal'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JournalMessage } from '../src/fold/intake.ts'

export interface LogWriter {
  readonly log: LogId
  head: LogHead
  epoch: number
  /** Seals events as one message and puts it at the end of the stream. */
  write(...events: DomainEvent[]): JournalMessage
  /** Puts sealed or forged records at the end of the stream. */
  put(...records: SealedRecord[]): JournalMessage
  sealed(event: DomainEvent): SealedRecord
}

export interface Stream {
  readonly messages: JournalMessage[]
  readonly blobs: Map<string, Uint8Array>
  readonly readBlob: (sha256: string) => Promise<Uint8Array>
  log(task: string, of?: { session?: string; tenant?: string }): LogWriter
  /** Lets time pass before the next event. */
  pass(ms: number): void
}

/** The time between two events. */
const tickMs = 100
const start = Date.parse('2026-01-01T00:00:00.000Z')

/**
 * A stream whose sequences have gaps, as a filtered consumer sees them. Each event is 100 ms after the one
 * before it.
 */
export function newStream(): Stream {
  const messages: JournalMessage[] = []
  const blobs = new Map<string, Uint8Array>()
  let ticks = 0
  const keep = (blob: Blob | null): void => void (blob === null ? null : blobs.set(blob.sha256, blob.bytes))
  return {
    messages,
    blobs,
    async readBlob(sha256) {
      const bytes = blobs.get(sha256)
      if (bytes === undefined) throw new BeaverError('blob_missing', sha256)
      return bytes
    },
    pass: (ms) => void (ticks += ms / tickMs),
    log(task, { session = 'web:test', tenant = 'local' } = {}) {
      const log = { tenant, session: session as SessionId, task: task as TaskId }
      const writer: LogWriter = {
        log,
        head: emptyHead,
        epoch: 0,
        sealed(of) {
          const time = new Date(start + ticks++ * tickMs).toISOString()
          const done = seal(writer.head, draft(of), {
            epoch: writer.epoch,
            source: '/beaver/daemons/d1',
            subject: task,
            time,
          })
          writer.head = done.head
          keep(done.record.blob)
          return done.record
        },
        put(...records) {
          const message = { sequence: messages.length * 2 + 1, log, payload: joinBatch(records) }
          messages.push(message)
          return message
        },
        write: (...events) => writer.put(...events.map((each) => writer.sealed(each))),
      }
      return writer
    },
  }
}

export const usage = (input: number, output: number): DataOf<'run_completed'>['usage'] => ({
  input_tokens: input,
  output_tokens: output,
  calls: 1,
})

export function submitted(log: LogId, text = 'Count the words', skill: string | null = null): DomainEvent {
  const request = { text, workspace: '/w', skill, source: 'cli' }
  return event('task_submitted', {
    task_id: log.task,
    session_id: log.session,
    tenant: log.tenant,
    previous_task_id: null,
    request,
  })
}

export function runStarted(
  run: string,
  of: { parent?: string; node?: string; team?: string; name?: string } = {},
): DomainEvent {
  return event(
    'run_started',
    {
      run_id: run as RunId,
      parent_run_id: (of.parent ?? null) as RunId | null,
      attempt_index: 1,
      agent_name: of.name ?? of.node ?? 'root',
      team_run_id: (of.team ?? null) as TeamRunId | null,
      node_id: of.node ?? null,
      source: of.team === undefined ? 'task' : `team:${of.team}`,
      max_tool_iterations: 20,
      tools: ['read_file', 'SequentialWorkflow'],
    },
    run,
  )
}

export function answer(
  run: string,
  content: string | null,
  calls: { id: string; name: string; arguments: string }[] = [],
): DomainEvent {
  return event(
    'assistant_message_added',
    {
      content,
      tool_calls: calls,
      finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      usage: usage(10, 5),
      provider_name: 'openai',
      model: 'small',
      response_id: 'r1',
      duration_ms: 40,
    },
    run,
  )
}

export const toolStarted = (run: string, id: string, tool = 'read_file'): DomainEvent =>
  event('tool_call_started', { call_id: id, tool_name: tool, idempotent: true }, run)

export function toolResult(
  run: string,
  id: string,
  content: string,
  of: { tool?: string; error?: string } = {},
): DomainEvent {
  const { tool = 'read_file', error = null } = of
  return event(
    'tool_result_recorded',
    { call_id: id, tool_name: tool, success: error === null, content, error, duration_ms: 7 },
    run,
  )
}

export const userMessage = (run: string, content: string): DomainEvent =>
  event('user_message_added', { content }, run)

export const runCompleted = (run: string): DomainEvent =>
  event('run_completed', { finish_reason: 'stop', tool_iterations: 1, usage: usage(20, 10) }, run)

export function result(of: Partial<TaskResult> = {}): TaskResult {
  return {
    final_output: 'done',
    outputs: [],
    usage: usage(20, 10),
    provider: 'openai',
    model: 'small',
    simulated: false,
    failure: null,
    ...of,
  }
}

function agentNode(id: string, after: string[] = []): AgentNode {
  return {
    kind: 'agent',
    node_id: id,
    agent: {
      name: id,
      role: '',
      system_prompt: '',
      metadata: {
        sub_agent_kind: 'generic_skill_worker',
        workflow_tool: 'GraphWorkflow',
        workflow_agent_name: id,
      },
    },
    instruction: `Do ${id}`,
    depends_on: after,
    allowed_tool_names: null,
    required_evidence: [],
  }
}

export function graphOf(nodes: { id: string; after?: string[] }[]): ExecutionGraph {
  return {
    workflow: 'GraphWorkflow',
    task: 'Write the report',
    nodes: nodes.map(({ id, after = [] }) => agentNode(id, after)),
    outputs: [nodes.at(-1)!.id],
    output: nodes.at(-1)!.id,
  }
}

/** A task done alone: one tool call, then the answer. */
export function singleTask(
  writer: LogWriter,
  of: { text?: string; final?: string; tool?: string } = {},
): void {
  const { text = 'Count the words', final = 'There are 42 words.', tool = 'one two three' } = of
  const run = `run-${writer.log.task}`
  writer.write(submitted(writer.log, text))
  writer.epoch = 1
  writer.write(event('task_claimed', { daemon: 'd1' }))
  writer.write(
    runStarted(run),
    event('system_prompt_snapshotted', { content: 'hidden prompt' }, run),
    userMessage(run, text),
  )
  writer.write(
    answer(run, null, [{ id: 'c1', name: 'read_file', arguments: '{"path":"a.txt"}' }]),
    toolStarted(run, 'c1'),
  )
  writer.write(toolResult(run, 'c1', tool))
  writer.write(answer(run, final), runCompleted(run))
  writer.write(event('task_completed', result({ final_output: final })))
}

/**
 * A team of four in which `check` fails its evidence and blocks `publish`; the nodes end in another order
 * than they were declared.
 */
export function teamTask(writer: LogWriter): void {
  const root = 'root-run'
  const team = 'team-1' as TeamRunId
  const of = (node: string): { team_run_id: TeamRunId; node_id: string; run_id: RunId } => ({
    team_run_id: team,
    node_id: node,
    run_id: `run-${node}` as RunId,
  })
  const nodeRun = (node: string, output: string): DomainEvent[] => [
    event('node_started', { ...of(node), input: null }),
    runStarted(`run-${node}`, { parent: root, node, team }),
    userMessage(`run-${node}`, `Do ${node}`),
    answer(`run-${node}`, output),
    runCompleted(`run-${node}`),
  ]
  writer.write(submitted(writer.log, 'Write the report', 'report'))
  writer.epoch = 1
  writer.write(event('task_claimed', { daemon: 'd1' }))
  writer.write(
    runStarted(root),
    event(
      'skill_activation_snapshotted',
      { skills: [{ name: 'report', sha256: 'ab', content: 'hidden skill body' }] },
      root,
    ),
    userMessage(root, 'Write the report'),
  )
  writer.write(
    event(
      'execution_mode_selected',
      {
        task_id: writer.log.task,
        attempt_index: 1,
        execution_mode: 'team',
        routing_source: 'main_agent_first_turn',
        primary_template_skill: 'report',
        ignored_template_skills: ['other'],
        workflow_tool: 'GraphWorkflow',
        content: null,
      },
      root,
    ),
    answer(root, null, [{ id: 'w1', name: 'GraphWorkflow', arguments: '{}' }]),
  )
  const graph = graphOf([
    { id: 'gather' },
    { id: 'check', after: ['gather'] },
    { id: 'write', after: ['gather'] },
    { id: 'publish', after: ['check', 'write'] },
  ])
  writer.write(
    toolStarted(root, 'w1', 'GraphWorkflow'),
    event(
      'task_team_run_started',
      { team_run_id: team, run_id: root as RunId, call_id: 'w1', graph, concurrent_nodes_max: 4 },
      root,
    ),
  )
  writer.write(...nodeRun('gather', 'facts'), event('node_completed', of('gather')))
  writer.write(...nodeRun('write', 'the report'), event('node_completed', of('write')))
  const checks: DataOf<'node_evidence_evaluated'>['checks'] = [
    {
      requirement: { kind: 'tool_succeeded', tool: 'read_file' },
      status: 'failed',
      detail: 'The tool read_file was not called.',
      rests_on: [],
    },
    {
      field: 'validation_rules',
      requirement: 'be careful',
      status: 'not_checked',
      detail: 'Shown.',
      rests_on: [],
    },
  ]
  const failure = { class: 'evidence_missing', message: 'The tool read_file was not called.' } as const
  writer.write(
    ...nodeRun('check', 'all is well'),
    event('node_evidence_evaluated', { ...of('check'), passed: false, checks }),
    event('node_failed', { ...of('check'), failure }),
  )
  writer.write(
    event('node_blocked', { team_run_id: team, node_id: 'publish', cause_node_id: 'check' }),
    event(
      'task_team_run_failed',
      { team_run_id: team, outcome: 'incomplete', message: '2 of 4 nodes completed; failed: check' },
      root,
    ),
    toolResult(root, 'w1', 'Two of four nodes completed.', {
      tool: 'GraphWorkflow',
      error: 'team_incomplete',
    }),
  )
  writer.write(answer(root, 'The report is incomplete.'), runCompleted(root))
  const outputs = [{ node_id: 'publish', output: '' }]
  writer.write(
    event(
      'task_incomplete',
      result({ final_output: 'The report is incomplete.', outputs, failure, simulated: true }),
    ),
  )
}

/**
 * A task that is a workflow, without a root agent: `split` (code) grows the graph by two, `branch` is
 * skipped, `find` calls a tool, `stop` is cancelled and blocks `tail`; members change the shared state.
 */
export function workflowTask(writer: LogWriter): void {
  const team = 'team-w' as TeamRunId
  const of = (node: string): { team_run_id: TeamRunId; node_id: string } => ({
    team_run_id: team,
    node_id: node,
  })
  const ran = (node: string): { team_run_id: TeamRunId; node_id: string; run_id: RunId } => ({
    ...of(node),
    run_id: `run-${node}` as RunId,
  })
  const begun = (node: string, input: DataOf<'node_started'>['input'] = null): DomainEvent[] => [
    event('node_started', { ...ran(node), input }),
    runStarted(`run-${node}`, { node, team }),
  ]
  const given = submitted(writer.log, 'Map the list').data as DataOf<'task_submitted'>
  const request = {
    ...given.request,
    workflow: { name: 'workflow:map', arguments: { list: [1, 2] } },
    profile: 'analyst',
  }
  writer.write(event('task_submitted', { ...given, request }))
  writer.epoch = 1
  const graph: ExecutionGraph = {
    workflow: 'workflow:map',
    task: 'Map the list',
    nodes: [
      { kind: 'code', node_id: 'split', depends_on: [], operation: 'map' },
      {
        kind: 'tool',
        node_id: 'find',
        depends_on: ['split'],
        tool: 'read_file',
        arguments: { path: 'a.txt' },
        deadline_ms: 5_000,
      },
      agentNode('branch', ['split']),
      agentNode('stop', ['split']),
      agentNode('tail', ['stop']),
      { ...agentNode('end', ['find', 'branch']), quorum: 1 },
    ],
    outputs: ['end'],
    output: 'end',
    shared_state: { seen: 0 },
  }
  writer.write(
    event('task_claimed', { daemon: 'd1' }),
    event('task_team_run_started', {
      team_run_id: team,
      run_id: null,
      call_id: null,
      graph,
      concurrent_nodes_max: 4,
    }),
    event('node_computed', { ...of('split'), output: '["x","y"]' }),
    event('graph_extended', {
      ...of('split'),
      nodes: [agentNode('item-1', ['split']), agentNode('item-2', ['split'])],
      edges: [
        ['item-1', 'end'],
        ['item-2', 'end'],
      ],
      outputs: ['end', 'item-2'],
      output: null,
    }),
    event('node_skipped', { ...of('branch'), reason: 'The condition does not hold.' }),
    ...begun('find'),
    ...begun('stop'),
    ...begun('item-1', { instruction: 'Do x' }),
    ...begun('item-2'),
  )
  writer.write(
    event(
      'tool_call_requested',
      { call: { id: 'c-find', name: 'read_file', arguments: '{"path":"a.txt"}' } },
      'run-find',
    ),
  )
  writer.write(toolStarted('run-find', 'c-find'), toolResult('run-find', 'c-find', 'found it'))
  writer.write(
    event('run_completed', { finish_reason: 'tool', tool_iterations: 1, usage: usage(0, 0) }, 'run-find'),
    event('node_completed', ran('find')),
  )
  writer.write(event('node_cancel_requested', { ...of('stop'), reason: 'not needed' }))
  writer.write(
    event('run_cancelled', { reason: 'not needed', tool_iterations: 0, usage: usage(0, 0) }, 'run-stop'),
    event('node_cancelled', { ...of('stop'), reason: 'not needed' }),
    event('node_blocked', { ...of('tail'), cause_node_id: 'stop' }),
  )
  for (const item of ['item-1', 'item-2']) {
    const run_id = `run-${item}` as RunId
    writer.write(
      userMessage(run_id, 'go'),
      event(
        'shared_state_changed',
        { team_run_id: team, run_id, change: { action: 'increment', path: 'seen', by: 1 } },
        run_id,
      ),
      event(
        'shared_state_changed',
        { team_run_id: team, run_id, change: { action: 'append', path: 'names', value: item } },
        run_id,
      ),
      answer(run_id, `${item} done`),
      runCompleted(run_id),
    )
  }
  writer.write(
    event('team_diagnostic_recorded', {
      ...of('item-1'),
      code: 'unknown_member',
      message: 'Nobody is called z.',
    }),
    event('node_completed', ran('item-1')),
    event('node_completed', ran('item-2')),
    event('node_failed', {
      ...of('end'),
      run_id: null,
      failure: { class: 'internal', message: 'No code for this.' },
    }),
    event('task_team_run_failed', {
      team_run_id: team,
      outcome: 'incomplete',
      message: '4 of 8 nodes completed',
    }),
  )
  const outputs = [{ node_id: 'item-2', output: 'item-2 done' }]
  const failure = { class: 'internal', message: 'end: No code for this.' } as const
  writer.write(
    event('task_incomplete', result({ final_output: '## item-2\n\nitem-2 done', outputs, failure })),
  )
}

/** A folder that is gone after the block. */
export function tempFolder(): Disposable & { file(name: string): string } {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-projection-'))
  return {
    file: (name) => join(folder, name),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
