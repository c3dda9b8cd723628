// A journal as daemons write it: what is in it, how large it is, and what goes into one message. No server is
// needed to make it. The same seed makes the same journal. Every record is sealed by core, so that the audit
// finds nothing. Two kinds of tasks. `loop`: one agent, two answers and one tool call, short texts, as in
// `bench loop`. `report`: a root and four workers with the sizes of the example `folder-report` (65 events of
// 1.1 KB on average in 19 messages).
import {
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
import type { AgentNode } from '@beaver/core/graph'
import { draft, emptyHead, joinBatch, type LogHead, sealer } from '@beaver/core/journal'

export type TaskKind = 'loop' | 'report'

export interface MadeMessage {
  readonly log: LogId
  readonly payload: Uint8Array
  readonly events: number
}

const words =
  'the agent reads a file and counts its lines then a worker compares every figure with the source while the report names what was found in each folder markdown text table total bytes daemon journal stream evidence result node graph quorum approval budget quarter revenue match player season price market answer question summary detail number value column row header footer image link section chapter index'.split(
    ' ',
  )
const start = Date.parse('2026-01-01T00:00:00.000Z')

/** The messages of one task after the other, without end. */
export function* journalMessages({
  kinds,
  seed = 1,
}: {
  kinds: readonly TaskKind[]
  seed?: number
}): Generator<MadeMessage> {
  const random = randomFrom(seed)
  const text = (chars: number): string => {
    let made = ''
    while (made.length < chars)
      made += `${words[Math.floor(random() * words.length)] ?? ''} ${random() < 0.1 ? `${Math.floor(random() * 100_000)}. ` : ''}`
    return made.slice(0, chars)
  }
  let clock = start
  for (let n = 0; ; n++) {
    const id = n.toString(32).padStart(10, '0')
    const log: LogId = {
      tenant: 'local',
      session: `session_${id}` as SessionId,
      task: `task_${id}` as TaskId,
    }
    const kind = kinds[n % kinds.length] ?? 'loop'
    yield* sealed(log, kind === 'loop' ? loopTask(log, text) : reportTask(log, text), () => (clock += 7))
  }
}

function* sealed(log: LogId, messages: Iterable<DomainEvent[]>, now: () => number): Generator<MadeMessage> {
  let head: LogHead = emptyHead
  for (const events of messages) {
    const seal = sealer({
      epoch: head.taskseq === 0 ? 0 : 1,
      source: '/beaver/daemons/d1',
      subject: log.task,
      time: new Date(now()).toISOString(),
    })
    const records = events.map((each) => {
      const made = seal(head, draft(each))
      head = made.head
      return made.record
    })
    yield { log, payload: joinBatch(records), events: events.length }
  }
}

/** The messages of one task: a team of so many nodes, each with so many calls of a tool. */
export function largeTaskMessages(size: {
  readonly nodes: number
  readonly calls: number
}): Generator<MadeMessage> {
  const log: LogId = { tenant: 'local', session: 'large' as SessionId, task: 'large' as TaskId }
  let clock = start
  return sealed(log, largeTask(log, size), () => (clock += 7))
}

/** Each node waits for the one that is fifty before it. */
const largeRank = 50

function* largeTask(
  log: LogId,
  { nodes: count, calls }: { readonly nodes: number; readonly calls: number },
): Generator<DomainEvent[]> {
  const [root, team] = ['run_large', 'team_large' as TeamRunId]
  const nameOf = (i: number): string => `part_${i}`
  const workflow = { id: 'call_w', name: 'GraphWorkflow', arguments: '{}' }
  const nodes = Array.from({ length: count }, (_, i) =>
    agentNode(nameOf(i), i < largeRank ? [] : [nameOf(i - largeRank)], `Do part ${i}.`),
  )
  yield [
    submitted(log, 'A large task.'),
    event('task_claimed', { daemon: 'd1' }),
    ...begun(root, { prompt: 'You lead.', message: 'Do it.', parent: null, team: null, node: null }),
  ]
  yield [
    answer(root, null, [workflow]),
    event('tool_call_started', { call_id: workflow.id, tool_name: workflow.name, idempotent: true }, root),
  ]
  yield [
    event(
      'task_team_run_started',
      {
        ...{ team_run_id: team, run_id: root as RunId, call_id: workflow.id },
        ...{ graph: graphOf(nodes), concurrent_nodes_max: largeRank },
      },
      root,
    ),
  ]
  for (let i = 0; i < count; i++) {
    const run = `${root}_${i}` as RunId
    const of = { team_run_id: team, node_id: nameOf(i), run_id: run }
    yield [
      event('node_started', { ...of, input: null }),
      ...begun(run, { prompt: 'You work.', message: `Do part ${i}.`, parent: root, team, node: nameOf(i) }),
      ...Array.from({ length: calls }, (_, n) => {
        const call = { id: `call_${n}`, name: 'read_file', arguments: `{"path":"${n}.md"}` }
        return [
          answer(run, null, [call]),
          event('tool_call_started', { call_id: call.id, tool_name: call.name, idempotent: true }, run),
          toolResult(run, call, 'A line.'),
        ]
      }).flat(),
      answer(run, 'Done.'),
      runCompleted(run),
      event('node_evidence_evaluated', { ...of, passed: true, checks: [] }),
      event('node_completed', of),
    ]
  }
  yield [event('task_team_run_completed', { team_run_id: team, outcome: 'complete' }, root)]
  yield [toolResult(root, workflow, 'All parts are done.')]
  yield [
    answer(root, 'Done.'),
    runCompleted(root),
    event('task_completed', { ...ended, final_output: 'Done.' }),
  ]
}

type Text = (chars: number) => string

const usage: DataOf<'run_completed'>['usage'] = { input_tokens: 1_200, output_tokens: 150, calls: 1 }

function loopTask(log: LogId, text: Text): DomainEvent[][] {
  const run = `run_${log.task.slice(5)}`
  const call = { id: 'call_1', name: 'echo', arguments: '{"text":"hello"}' }
  const done = text(60)
  return [
    [
      submitted(log, text(40)),
      event('task_claimed', { daemon: 'd1' }),
      ...begun(run, { prompt: text(300), message: text(40), parent: null, team: null, node: null }),
    ],
    [
      answer(run, null, [call]),
      event('tool_call_started', { call_id: 'call_1', tool_name: 'echo', idempotent: true }, run),
    ],
    [toolResult(run, call, text(60))],
    [answer(run, done), runCompleted(run), event('task_completed', { ...ended, final_output: done })],
  ]
}

function reportTask(log: LogId, text: Text): DomainEvent[][] {
  const root = `run_${log.task.slice(5)}`
  const team = `team_${log.task.slice(5)}` as TeamRunId
  const names = ['source_collector', 'metric_extractor', 'validator', 'reporter']
  const of = (node: string): { team_run_id: TeamRunId; node_id: string; run_id: RunId } => ({
    team_run_id: team,
    node_id: node,
    run_id: `${root}_${node}` as RunId,
  })
  const workflow = { id: 'call_w', name: 'SequentialWorkflow', arguments: text(900) }
  const nodes = names.map((name, i) => agentNode(name, i === 0 ? [] : [names[i - 1] ?? ''], text(700)))
  const messages: DomainEvent[][] = [
    [
      submitted(log, text(60)),
      event('task_claimed', { daemon: 'd1' }),
      runStarted(root, { parent: null, team: null, node: null }),
      event(
        'skill_activation_snapshotted',
        { skills: [{ name: 'folder-report', sha256: '0'.repeat(64), content: text(6_500) }] },
        root,
      ),
      event('system_prompt_snapshotted', { content: text(1_800) }, root),
      event('user_message_added', { content: text(1_500) }, root),
    ],
    [
      event('execution_mode_selected', routed(log), root),
      answer(root, null, [workflow]),
      event('tool_call_started', { call_id: workflow.id, tool_name: workflow.name, idempotent: true }, root),
    ],
    [
      event(
        'task_team_run_started',
        {
          team_run_id: team,
          run_id: root as RunId,
          call_id: workflow.id,
          graph: graphOf(nodes),
          concurrent_nodes_max: 4,
        },
        root,
      ),
    ],
  ]
  let closing: DomainEvent[] = []
  for (const name of names) {
    const { run_id: run } = of(name)
    const call = { id: `call_${name}`, name: 'read_file', arguments: JSON.stringify({ path: text(40) }) }
    const [said, evidence] = [text(1_900), text(150)]
    messages.push([
      ...closing,
      event('node_started', { ...of(name), input: null }),
      ...begun(run, { prompt: text(1_800), message: text(1_500), parent: root, team, node: name }),
    ])
    messages.push([
      answer(run, null, [call]),
      event('tool_call_started', { call_id: call.id, tool_name: call.name, idempotent: true }, run),
    ])
    messages.push([toolResult(run, call, text(name === 'metric_extractor' ? 11_000 : 2_500))])
    const checks: DataOf<'node_evidence_evaluated'>['checks'] = [
      {
        requirement: { kind: 'tool_succeeded', tool: 'read_file' },
        status: 'passed',
        detail: evidence,
        rests_on: [],
      },
      {
        field: 'validation_rules',
        requirement: evidence,
        status: 'not_checked',
        detail: 'Shown to the agent.',
        rests_on: [],
      },
    ]
    closing = [
      answer(run, said),
      runCompleted(run),
      event('node_evidence_evaluated', { ...of(name), passed: true, checks }),
      event('node_completed', of(name)),
    ]
  }
  const final = text(2_800)
  messages.push([
    ...closing,
    event('task_team_run_completed', { team_run_id: team, outcome: 'complete' }, root),
  ])
  messages.push([toolResult(root, workflow, text(3_400))])
  messages.push([
    answer(root, final),
    runCompleted(root),
    event('task_completed', { ...ended, final_output: final }),
  ])
  return messages
}

function submitted(log: LogId, text: string): DomainEvent {
  const request = { text, workspace: '/work', skill: null, source: 'bench' }
  return event('task_submitted', {
    task_id: log.task,
    session_id: log.session,
    tenant: log.tenant,
    previous_task_id: null,
    request,
  })
}

interface RunPlace {
  readonly parent: string | null
  readonly team: TeamRunId | null
  readonly node: string | null
}

function runStarted(run: string, { parent, team, node }: RunPlace): DomainEvent {
  const tools = ['read_file', 'list_files', 'search_text', 'count_words']
  return event(
    'run_started',
    {
      run_id: run as RunId,
      parent_run_id: parent as RunId | null,
      attempt_index: 1,
      agent_name: node ?? 'root',
      team_run_id: team,
      node_id: node,
      source: team === null ? 'task' : `team:${team}`,
      max_tool_iterations: 20,
      tools,
    },
    run,
  )
}

function begun(
  run: string,
  { prompt, message, ...place }: RunPlace & { prompt: string; message: string },
): DomainEvent[] {
  return [
    runStarted(run, place),
    event('system_prompt_snapshotted', { content: prompt }, run),
    event('user_message_added', { content: message }, run),
  ]
}

function answer(
  run: string,
  content: string | null,
  calls: { id: string; name: string; arguments: string }[] = [],
): DomainEvent {
  const finish = calls.length > 0 ? 'tool_calls' : 'stop'
  const about = {
    finish_reason: finish,
    usage,
    provider_name: 'openai',
    model: 'bench-model',
    response_id: 'chatcmpl-12345678',
    duration_ms: 740,
  }
  return event('assistant_message_added', { content, tool_calls: calls, ...about }, run)
}

const toolResult = (run: string, call: { id: string; name: string }, content: string): DomainEvent =>
  event(
    'tool_result_recorded',
    { call_id: call.id, tool_name: call.name, success: true, content, error: null, duration_ms: 7 },
    run,
  )

const runCompleted = (run: string): DomainEvent =>
  event('run_completed', { finish_reason: 'stop', tool_iterations: 1, usage }, run)

const ended: TaskResult = {
  final_output: '',
  outputs: [],
  usage,
  provider: 'openai',
  model: 'bench-model',
  simulated: true,
  failure: null,
}

function routed(log: LogId): DataOf<'execution_mode_selected'> {
  const skills = { primary_template_skill: 'folder-report', ignored_template_skills: [] }
  const mode = {
    execution_mode: 'team',
    routing_source: 'main_agent_first_turn',
    workflow_tool: 'SequentialWorkflow',
  } as const
  return { task_id: log.task, attempt_index: 1, content: null, ...mode, ...skills }
}

function agentNode(id: string, depends_on: string[], instruction: string): AgentNode {
  const metadata = {
    sub_agent_kind: 'generic_skill_worker',
    workflow_tool: 'SequentialWorkflow',
    workflow_agent_name: id,
  } as const
  return {
    kind: 'agent',
    node_id: id,
    agent: { name: id, role: '', system_prompt: instruction.slice(0, 200), metadata },
    instruction,
    depends_on,
    allowed_tool_names: ['read_file'],
    required_evidence: [],
  }
}

function graphOf(nodes: AgentNode[]): DataOf<'task_team_run_started'>['graph'] {
  return {
    workflow: 'SequentialWorkflow',
    task: 'Report on this folder',
    nodes,
    outputs: [nodes.at(-1)?.node_id ?? ''],
    output: nodes.at(-1)?.node_id ?? '',
  }
}

/** Numbers from 0 to 1 that look random (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
