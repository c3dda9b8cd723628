import { expect, test } from 'vitest'
import { type DomainEvent, event, eventData, type EventType } from '../events/catalog.ts'
import { describeEvent } from './describe-event.ts'

/** Data of every type, with texts that are far too long. */
function specimen(type: EventType): DomainEvent {
  const long = 'long '.repeat(1000)
  const failure = { class: 'internal', message: long }
  const usage = { input_tokens: 1, output_tokens: 1, calls: 1 }
  const request = { text: long, workspace: '/w', skill: null, source: 'cli' }
  const graph = {
    workflow: 'W',
    task: long,
    nodes: [
      {
        kind: 'agent',
        node_id: 'n',
        agent: {
          name: 'n',
          role: '',
          system_prompt: '',
          metadata: { sub_agent_kind: 'generic_skill_worker', workflow_tool: 'W', workflow_agent_name: 'n' },
        },
        instruction: long,
        depends_on: [],
        allowed_tool_names: null,
        required_evidence: [],
      },
    ],
    outputs: ['n'],
    output: 'n',
  }
  const everything = {
    task_id: 't',
    session_id: 's',
    tenant: 'local',
    previous_task_id: null,
    request,
    daemon: 'd',
    reason: long,
    claims: 3,
    waits_for: 'provider',
    wait_ms: 5,
    until: '2026-01-01T00:00:00.000Z',
    final_output: long,
    outputs: type === 'graph_extended' ? ['n'] : [],
    usage,
    provider: 'p',
    model: 'm',
    simulated: false,
    failure,
    run_id: 'r',
    parent_run_id: null,
    attempt_index: 1,
    agent_name: 'a',
    team_run_id: 'tr',
    node_id: 'n',
    source: 'task',
    max_tool_iterations: 1,
    tools: type === 'tools_left_out' ? [{ name: long, reason: long }] : ['x'],
    allowed: [long],
    effective: ['x'],
    dropped: [long],
    skills: [{ name: 's', sha256: 'x', content: long }],
    execution_mode: 'single',
    routing_source: 'main_agent_first_turn',
    primary_template_skill: 's',
    ignored_template_skills: [],
    workflow_tool: null,
    taskseq: 1,
    hash: 'h',
    events: 2,
    tries: 1,
    retry_in_ms: null,
    status: 500,
    tool_calls: [],
    finish_reason: 'stop',
    provider_name: 'p',
    response_id: null,
    duration_ms: 1,
    call_id: 'c',
    tool_name: 'x',
    idempotent: false,
    success: false,
    error: long,
    tool_iterations: 1,
    restarts: 1,
    graph,
    concurrent_nodes_max: 1,
    passed: true,
    checks: [],
    faults: [{ path: '/a', message: long }],
    cause_node_id: 'm',
    input: { instruction: long },
    output: type === 'graph_extended' ? null : long,
    nodes: Array.from({ length: 100 }, (_, i) => ({
      kind: 'code',
      node_id: `grown ${i}`,
      depends_on: [],
      operation: 'x',
    })),
    edges: [],
    code: long,
    change: { action: 'append', path: 'a.b', value: long },
    call: { id: 'c', name: long, arguments: '{}' },
    files: [],
    query: long,
    recall: 'lexical',
    candidates: [{ name: long, score: 1 }],
    chosen: [long],
    results: [{ call_id: 'c', tool_name: long, chars: 1 }],
    messages_dropped: 2,
    subject: long,
    rule: long,
    by: long,
    request_id: 's',
    text: long,
    message: long,
    content: type === 'execution_mode_selected' ? null : long,
    question_index: 0,
    question: { message: long, options: [long] },
    answer: { action: 'accept', answers: [long] },
    budget: { of: 'node', name: long, per: 'run' },
    more: { usd: 1, tokens: 2 },
    percent: 80,
    measure: 'usd',
    limit: 1,
    used: 0.9,
    needed: 0.2,
    spent_by: [{ agent_name: long, node_id: null, used: 0.9 }],
    input_tokens_max: 1,
    output_tokens_max: 2,
    usd_max: 0.1,
    purpose: 'skill_selection',
    outcome: type === 'task_team_run_completed' ? 'complete' : 'incomplete',
  }
  return event(type, eventData[type].parse(everything) as never, 'r')
}

test.each(Object.keys(eventData) as EventType[])('%s is told in one short sentence', (type) => {
  const told = describeEvent(specimen(type), {
    taskId: 't',
    runId: 'r',
    agentName: 'Root agent',
    team: { workflow: 'W', nodes: 3, completed: 2 },
    nodeTool: null,
    asked: null,
    takenOver: false,
  })
  expect(told.text).toMatch(/^\S[^\n]{5,400}$/)
  expect(JSON.stringify(told).length).toBeLessThan(2500)
  expect(told.text).not.toMatch(/undefined|null|\[object|Main Agent/)
})

test.each<[EventType, object]>([
  ['task_claimed', { daemon: 'long' }],
  [
    'task_submitted',
    {
      task_id: 't',
      request: {
        source: 'long',
        skill: 'long',
        text: 't',
        profile: 'long',
        workflow: { name: 'long', arguments: {} },
      },
    },
  ],
  [
    'assistant_message_added',
    {
      content: 'c',
      tool_calls: [],
      usage: { input_tokens: 1, output_tokens: 1 },
      model: 'long',
      provider_name: 'long',
      duration_ms: 1,
    },
  ],
  ['tool_call_started', { call_id: 'long', tool_name: 'long', idempotent: false }],
  [
    'tool_result_recorded',
    { call_id: 'long', tool_name: 'long', success: false, content: 'c', error: 'e', duration_ms: 1 },
  ],
  ['approval_requested', { call_id: 'long', tool_name: 'long', subject: 's', rule: null }],
  ['graph_extended', { team_run_id: 't', node_id: 'long', nodes: [], edges: [] }],
  ['node_completed', { team_run_id: 't', node_id: 'long', run_id: 'r' }],
  ['node_blocked', { team_run_id: 't', node_id: 'a', cause_node_id: 'long' }],
])('%s is bounded also if a name or an id is far too long', (type, data) => {
  const long = JSON.parse(
    JSON.stringify(data).replaceAll('"long"', JSON.stringify('long'.repeat(50_000))),
  ) as object
  const around = {
    taskId: 't',
    runId: 'r',
    agentName: 'long'.repeat(50_000),
    team: null,
    nodeTool: null,
    asked: null,
    takenOver: false,
  }
  const told = describeEvent({ type, data: long } as DomainEvent, around)
  expect(told.text).toMatch(/^\S[^\n]{5,600}$/)
  expect(JSON.stringify(told).length).toBeLessThan(5_000)
})

test('a change of the shared state without a run is told of the team, because the program of the graph made it', () => {
  const around = {
    taskId: 't',
    runId: null,
    agentName: 'Root agent',
    team: { workflow: 'W', nodes: 1, completed: 0 },
    nodeTool: null,
    asked: null,
    takenOver: false,
  }
  const change = { action: 'increment', path: 'round', by: 1 } as const
  const [ofProgram, ofRun] = ([null, 'r'] as const).map((run_id) =>
    describeEvent(
      { type: 'shared_state_changed', data: { team_run_id: 'tr', run_id, change } } as DomainEvent,
      around,
    ),
  )
  expect(ofProgram).toMatchObject({
    actor: { type: 'team', id: 'tr', name: 'W' },
    who: 'team',
    text: 'Team run added 1 to round in the shared state.',
  })
  expect(ofRun).toMatchObject({
    actor: { type: 'agent' },
    text: 'Root agent added 1 to round in the shared state.',
  })
})

test('a task that is given up on is told without a number: the failure that follows says what was lost', () => {
  const around = {
    taskId: 't',
    runId: null,
    agentName: 'Root agent',
    team: null,
    nodeTool: null,
    asked: null,
    takenOver: false,
  }
  expect(describeEvent(event('task_dead_lettered', { claims: 6 }), around).text).toBe('Task was given up on.')
})

test.each<[EventType, object, string]>([
  ['approval_granted', { call_id: 'c' }, 'bob (over gateway) allowed write_file (a.md).'],
  [
    'approval_denied',
    { call_id: 'c', reason: 'no' },
    'bob (over gateway) refused write_file (a.md). Why: no.',
  ],
  [
    'question_answered',
    { call_id: 'c', question_index: 0, answer: { action: 'accept', answers: ['main'] } },
    'bob (over gateway) answered: main',
  ],
  [
    'client_call_answered',
    { call_id: 'c', content: 'blue' },
    'bob (over gateway) answered for the client: blue',
  ],
  [
    'client_call_answered',
    { call_id: 'c', content: '', error: 'no camera' },
    'bob (over gateway) said for the client that the call failed: no camera.',
  ],
  [
    'task_cancel_requested',
    { reason: 'enough' },
    'Task is to be cancelled, says bob (over gateway): enough.',
  ],
  [
    'task_steer_requested',
    { request_id: 's', text: 'Be brief.' },
    'Task is steered by bob (over gateway): Be brief.',
  ],
  [
    'node_cancel_requested',
    { team_run_id: 't', node_id: 'a', reason: 'enough' },
    'Node a is to be cancelled, says bob (over gateway): enough.',
  ],
])('%s names the person first, then the connection', (type, data, text) => {
  const around = {
    taskId: 't',
    runId: 'r',
    agentName: 'root',
    team: null,
    nodeTool: null,
    asked: { tool: 'write_file', subject: 'a.md' },
    takenOver: false,
  }
  expect(
    describeEvent({ type, data: { ...data, by: 'gateway', user_id: 'bob' } } as DomainEvent, around).text,
  ).toBe(text)
})
