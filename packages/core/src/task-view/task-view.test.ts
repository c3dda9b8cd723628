import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import {
  answer,
  code,
  graph,
  node,
  plain,
  quorum,
  recorded,
  result,
  runStarted,
  submitted,
  taskEnd,
  written,
} from '../../test/log.ts'
import type { DomainEvent } from '../events/catalog.ts'
import type { RecordedEvent } from '../journal/record.ts'
import { type AgentView, growthOrder, heldTools } from './agent-view.ts'
import { agentAsks, askingCall } from './asked.ts'
import { agentsOf, evolveTaskView, newTaskView, readTaskView, resultOf, type TaskView } from './task-view.ts'

function viewOf(...events: readonly DomainEvent[]): TaskView {
  const view = newTaskView()
  for (const event of recorded(...events)) evolveTaskView(view, event)
  return view
}
const statesOf = (...events: readonly DomainEvent[]): [string, string][] =>
  agentsOf(viewOf(...events)).map(({ name, state }) => [name, state])
const agent = (name: string, ...events: readonly DomainEvent[]): AgentView =>
  agentsOf(viewOf(...events)).find((each) => each.name === name) as AgentView

const claimed = (daemon: string): DomainEvent => plain('task_claimed', { daemon })
const told = (run: string): DomainEvent => plain('user_message_added', { content: 'go' }, run)
const calls = (run: string, ...ids: string[]): DomainEvent =>
  answer(
    run,
    null,
    ids.map((id) => ({ id, name: `tool_${id}` })),
  )
const started = (run: string, id: string): DomainEvent =>
  plain('tool_call_started', { call_id: id, tool_name: `tool_${id}`, idempotent: true }, run)
const asks = (id: string, run = 'root', tool = `tool_${id}`): DomainEvent =>
  plain('approval_requested', { call_id: id, tool_name: tool, subject: `about ${id}`, rule: null }, run)
const granted = (id: string, run = 'root'): DomainEvent =>
  plain('approval_granted', { call_id: id, by: 'ada' }, run)
const denied = (id: string, run = 'root'): DomainEvent =>
  plain('approval_denied', { call_id: id, by: 'ben', reason: '' }, run)
const question = (id: string, run = 'root', tool = 'ask_user'): DomainEvent =>
  plain(
    'question_asked',
    { call_id: id, tool_name: tool, question_index: 0, question: { message: 'Which?' } },
    run,
  )
const answered = (id: string, run = 'root'): DomainEvent =>
  plain(
    'question_answered',
    { call_id: id, question_index: 0, answer: { action: 'accept', answers: ['b'] }, by: 'ada' },
    run,
  )
const failure = { class: 'provider_unavailable', message: 'HTTP 503' } as const
const runFailed = (run: string): DomainEvent =>
  plain('run_failed', { failure, tool_iterations: 2, usage: taskEnd.usage }, run)
const runCancelled = (run: string): DomainEvent =>
  plain('run_cancelled', { reason: 'enough', tool_iterations: 1, usage: taskEnd.usage }, run)
const runCompleted = (run: string): DomainEvent =>
  plain('run_completed', { finish_reason: 'stop', tool_iterations: 2, usage: taskEnd.usage }, run)
const ended = (type: 'task_completed' | 'task_failed' | 'task_cancelled'): DomainEvent =>
  plain(type, { ...taskEnd, failure: type === 'task_completed' ? null : failure })

const team = { team_run_id: 'team1' }
const teamStarted = (of: ReturnType<typeof graph>, run: string | null = 'root'): DomainEvent =>
  plain('task_team_run_started', {
    ...team,
    run_id: run,
    call_id: run === null ? null : 'team',
    graph: of,
    concurrent_nodes_max: 16,
  })
const nodeStarted = (id: string): DomainEvent[] => [
  plain('node_started', { ...team, node_id: id, run_id: `run_${id}`, input: null }),
  runStarted(`run_${id}`, { parent: 'root', node: id }),
]
const nodeCompleted = (id: string): DomainEvent =>
  plain('node_completed', { ...team, node_id: id, run_id: `run_${id}` })
const nodeFailed = (id: string, message: string): DomainEvent =>
  plain('node_failed', {
    ...team,
    node_id: id,
    run_id: `run_${id}`,
    failure: { class: 'evidence_missing', message },
  })
const nodeBlocked = (id: string, cause: string): DomainEvent =>
  plain('node_blocked', { ...team, node_id: id, cause_node_id: cause })

const begun = [submitted, claimed('d1'), runStarted('root'), told('root')]
/** A team of three: the first has completed, the second acts, the third waits. */
const teamAtWork = [
  ...begun,
  calls('root', 'team'),
  teamStarted(graph(node('collect'), node('count', 'collect'), node('write', 'count'))),
  ...nodeStarted('collect'),
  calls('run_collect', 'list'),
  result('run_collect', 'list', 'tool_list'),
  answer('run_collect', 'done'),
  runCompleted('run_collect'),
  nodeCompleted('collect'),
  ...nodeStarted('count'),
  told('run_count'),
  calls('run_count', 'stats'),
]

describe('the agents of a task', () => {
  it('are the root and its team in declared order, each in its state', () => {
    expect(statesOf(...teamAtWork)).toEqual([
      ['root', 'acting'],
      ['collect', 'completed'],
      ['count', 'acting'],
      ['write', 'waiting'],
    ])
  })

  it('have the calls of their last answer, and count the failed ones', () => {
    expect(agent('count', ...teamAtWork).calls).toMatchObject([
      { tool: 'tool_stats', written: '{}', result: null },
    ])
    expect(
      agent('count', ...teamAtWork, result('run_count', 'stats', 'tool_stats', 'no', false)),
    ).toMatchObject({
      state: 'thinking',
      toolCalls: 1,
      toolCallsFailed: 1,
      tokens: 15,
    })
  })

  it('end as nodes when their gate has decided, not when their run completes', () => {
    const run = [
      ...teamAtWork,
      result('run_count', 'stats', 'tool_stats'),
      answer('run_count', 'done'),
      runCompleted('run_count'),
    ]
    expect(agent('count', ...run)).toMatchObject({ state: 'finalizing', nodeEnded: false })
    const failed = [...run, nodeFailed('count', 'recount was not called.'), nodeBlocked('write', 'count')]
    expect(agent('count', ...failed)).toMatchObject({
      state: 'failed',
      nodeEnded: true,
      note: 'recount was not called.',
    })
    expect(agent('write', ...failed)).toMatchObject({ state: 'blocked', note: 'by count' })
  })

  it('say that a request is tried again, until it succeeds', () => {
    const again = plain('provider_call_failed', { failure, tries: 1, retry_in_ms: 500, status: 503 }, 'root')
    expect(agent('root', ...begun, again).note).toBe('HTTP 503 (try 2 follows)')
    expect(agent('root', ...begun, again, calls('root', 'a')).note).toBeNull()
  })

  it('wait for a person when every call that is open does, and name the calls that are held', () => {
    const held = [...begun, calls('root', 'a', 'b'), asks('a')]
    expect(agent('root', ...held).state).toBe('waiting_for_approval')
    expect(heldTools(agent('root', ...held))).toEqual(['tool_b'])
    expect(agent('root', ...held, started('root', 'b')).state).toBe('acting')
    const waiting = [...held, started('root', 'b'), result('root', 'b', 'tool_b')]
    expect(agent('root', ...waiting).state).toBe('waiting_for_approval')
    expect(agent('root', ...waiting, denied('a')).state).toBe('acting')
    expect(agent('root', ...waiting, denied('a'), result('root', 'a', 'tool_a')).state).toBe('thinking')
    expect(agent('root', ...waiting, runCancelled('root'), denied('a')).state).toBe('cancelled')
    expect(agent('root', ...begun, calls('root', 'a'), question('a')).state).toBe('waiting_for_answer')
  })

  it('that are to be cancelled say why until they are', () => {
    const asked = [
      ...teamAtWork,
      plain('node_cancel_requested', { ...team, node_id: 'count', reason: 'enough' }),
    ]
    expect(agent('count', ...asked)).toMatchObject({ state: 'acting', note: 'to be cancelled: enough' })
    const cancelled = plain('node_cancelled', { ...team, node_id: 'count', reason: 'enough' })
    expect(agent('count', ...asked, cancelled)).toMatchObject({ state: 'cancelled', note: 'enough' })
  })
})

describe('the teams of a task', () => {
  const tool = {
    kind: 'tool' as const,
    node_id: 'find',
    depends_on: ['split'],
    tool: 'stats',
    arguments: {},
  }
  const workflow = [
    submitted,
    teamStarted(
      graph(code('split'), tool, node('branch', 'split'), quorum(1, 'end', 'find', 'branch')),
      null,
    ),
    plain('node_computed', { ...team, node_id: 'split', output: '["x"]' }),
    plain('graph_extended', {
      ...team,
      node_id: 'split',
      nodes: [node('item', 'split')],
      edges: [['item', 'end']],
      outputs: ['end'],
      output: 'end',
    }),
    plain('node_skipped', { ...team, node_id: 'branch', reason: 'The condition does not hold.' }),
    ...nodeStarted('find'),
    plain('tool_call_requested', { call: { id: 'f', name: 'stats', arguments: '{}' } }, 'run_find'),
  ]

  it('of a workflow have no root; a node that came later stands behind the one it was added after', () => {
    const view = viewOf(...workflow)
    expect(view.root).toBeNull()
    expect(agentsOf(view).map(({ name, kind, state }) => [name, kind, state])).toEqual([
      ['split', 'code', 'completed'],
      ['item', 'agent', 'waiting'],
      ['find', 'tool', 'acting'],
      ['branch', 'agent', 'skipped'],
      ['end', 'agent', 'waiting'],
    ])
    expect([...view.nodes.values()].map(({ name }) => name)).toEqual([
      'split',
      'find',
      'branch',
      'end',
      'item',
    ])
    expect(agent('end', ...workflow).dependsOn).toEqual(['find', 'branch', 'item'])
    expect(view.ownTeams).toMatchObject([{ nodeCount: 5, nodesAtStart: 4, outcome: null }])
  })

  it('have a tool node whose call is done when its result is there; the gate has the last word', () => {
    const after = [...workflow, result('run_find', 'f', 'stats')]
    expect(agent('find', ...after).state).toBe('finalizing')
    expect(agent('find', ...after, nodeCompleted('find')).state).toBe('completed')
  })

  it('keep their remarks and their outcome', () => {
    const noted = plain('team_diagnostic_recorded', {
      ...team,
      node_id: 'split',
      code: 'unknown_member',
      message: 'Who?',
    })
    expect(viewOf(...workflow, noted).ownTeams[0]?.notes).toEqual([{ kind: 'note', text: 'split: Who?' }])
  })

  it('do not make a run without a known node the root', () =>
    expect(viewOf(submitted, runStarted('x', { node: 'x' })).root).toBeNull())
})

describe('a task', () => {
  it('is taken over by another daemon, not by the same one', () => {
    expect(viewOf(submitted, claimed('d1'), claimed('d1'))).toMatchObject({ claims: 2, takenOver: false })
    expect(viewOf(submitted, claimed('d1'), claimed('d2'))).toMatchObject({ daemon: 'd2', takenOver: true })
  })

  it('is held by what no person decides, until a daemon claims it again', () => {
    const held = (waits_for: 'provider' | 'person'): DomainEvent =>
      plain('task_suspended', {
        waits_for,
        reason: 'The endpoint is gone.',
        daemon: 'd1',
        wait_ms: 1,
        until: written.time,
      } as never)
    expect(viewOf(submitted, held('provider')).held).toBe('The endpoint is gone.')
    expect(viewOf(submitted, held('provider'), claimed('d1')).held).toBeNull()
    expect(viewOf(submitted, held('person')).held).toBeNull()
  })

  it('is read up to now, and no further than its reader may', async () => {
    async function* events(): AsyncGenerator<RecordedEvent> {
      yield* recorded(...begun)
      throw new Error('read on')
    }
    expect(await readTaskView(events(), () => false)).toBeNull()
    expect(
      (
        await readTaskView(
          (async function* () {
            yield* recorded(...begun)
          })(),
          () => true,
        )
      )?.view.taskseq,
    ).toBe(4)
  })

  it('has the same view after the same events', () =>
    expect(viewOf(...teamAtWork)).toEqual(viewOf(...teamAtWork)))
})

describe('what a task asks', () => {
  const open = (...events: readonly DomainEvent[]): string[] => {
    const { askedCalls, openQuestions } = viewOf(submitted, ...events)
    return [...askedCalls, ...openQuestions].map(askingCall)
  }

  it('is what nobody has decided or answered, oldest first, by the runs', () => {
    expect(open(asks('a'), asks('a', 's'), asks('b'))).toEqual(['root/a', 's/a', 'root/b'])
    expect(open(asks('a'), asks('a', 's'), granted('a'))).toEqual(['s/a'])
    expect(open(asks('a'), denied('a'), asks('b'))).toEqual(['root/b'])
    expect(open(question('a'), question('a', 's'), answered('a'))).toEqual(['s/a'])
    expect(open(granted('a'), answered('b'))).toEqual([])
  })

  it('is not what waits for the client, which has a list of its own', () => {
    const asked = plain('client_call_requested', { call_id: 'a', tool_name: 'tool_a' }, 'root')
    const said = plain('client_call_answered', { call_id: 'a', content: 'blue', by: 'web' }, 'root')
    const log = [...begun, calls('root', 'a'), asked]
    expect(open(...log)).toEqual([])
    expect(viewOf(submitted, ...log).clientCalls).toMatchObject([
      { runId: 'root', callId: 'a', tool: 'tool_a', written: '{}' },
    ])
    expect(agent('root', ...log).state).toBe('waiting_for_client')
    expect(viewOf(submitted, ...log, said).clientCalls).toEqual([])
    expect(viewOf(submitted, ...log, runCancelled('root')).clientCalls).toEqual([])
  })

  it('counts as it was asked last', () =>
    expect(
      viewOf(submitted, asks('a'), asks('b'), asks('a', 'root', 'other')).askedCalls.map(
        ({ asked }) => asked.tool_name,
      ),
    ).toEqual(['tool_b', 'other']))

  it('names the agent, and has the arguments as they were written', () => {
    const view = viewOf(...teamAtWork, asks('stats', 'run_count'), question('q', 'run_count', 'deploy'))
    expect(view.askedCalls).toMatchObject([
      { agent: 'count', written: '{}', runId: 'run_count', callId: 'stats' },
    ])
    expect(view.openQuestions.map((each) => [each.agent, agentAsks(each)])).toEqual([['count', false]])
  })

  it.each([
    ['its call has a result', result('root', 'a', 'tool_a')],
    ['its run fails', runFailed('root')],
    ['its run is cancelled', runCancelled('root')],
    ['the task ends', ended('task_cancelled')],
  ])('is nothing any more when %s', (_, end) => {
    expect(open(asks('a'), end)).toEqual([])
    expect(open(question('a'), end)).toEqual([])
  })

  it('is nothing any more when its node has ended', () =>
    expect(viewOf(...teamAtWork, asks('stats', 'run_count'), nodeFailed('count', 'late')).askedCalls).toEqual(
      [],
    ))

  it('stays when another run ends, and when another daemon claims the task', () =>
    expect(open(asks('a'), question('b'), runCompleted('s'), claimed('d2'))).toEqual(['root/a', 'root/b']))

  it('is kept with what was said about it', () => {
    const { settled, said } = viewOf(
      submitted,
      asks('a'),
      denied('a'),
      question('b'),
      answered('b'),
      denied('c'),
    )
    expect(settled.map(({ asked, event }) => [askingCall(asked), event.type])).toEqual([
      ['root/a', 'approval_denied'],
      ['root/b', 'question_answered'],
    ])
    expect(said.map(({ by, taskseq }) => [by, taskseq])).toEqual([
      ['agent', 4],
      ['user', 5],
    ])
  })
})

describe('what is said while a task runs', () => {
  it('is what its root agent says before its answer, and what steers it', () => {
    const steered = plain('task_steer_requested', { request_id: 'r', text: 'be brief', by: 'ada' })
    const { said } = viewOf(
      ...begun,
      answer('root', 'first', [{ id: 'a', name: 'a' }]),
      steered,
      answer('root', 'fin'),
      ended('task_completed'),
    )
    expect(said).toEqual([
      { by: 'agent', text: 'first', taskseq: 5 },
      { by: 'user', text: 'be brief', taskseq: 6 },
    ])
  })
})

describe('the result of a task (AL-13)', () => {
  it('has the output, the model and the usage, and is null before the task has ended', () => {
    const run = [...begun, calls('root', 'a'), answer('root', 'fin'), runCompleted('root')]
    expect(resultOf(viewOf(...run))).toBeNull()
    expect(resultOf(viewOf(...run, ended('task_completed')))).toEqual({
      task_id: 't1',
      session_id: 's1',
      run_id: 'root',
      status: 'completed',
      output_text: 'fin',
      finish_reason: 'stop',
      tool_iterations: 2,
      provider_name: null,
      model: null,
      usage: taskEnd.usage,
      outputs: [],
      simulated: true,
      failure: null,
    })
  })

  const finished = (run: string, finish_reason: string): DomainEvent => {
    const said = answer(run, 'said')
    return { ...said, data: { ...said.data, finish_reason } } as DomainEvent
  }
  test.each<[string, readonly DomainEvent[], string]>([
    [
      'was forced when the iterations were used up (SCH-07)',
      [finished('root', 'max_tool_iterations_finalized'), runFailed('root')],
      'max_tool_iterations_finalized',
    ],
    ['was cut off', [finished('root', 'length'), runFailed('root')], 'length'],
    ['called tools, and no other came', [calls('root', 'a'), runFailed('root')], 'error'],
    ['never came', [runFailed('root')], 'error'],
    [
      'was a worker\u2019s',
      [runStarted('w', { node: 'w' }), finished('w', 'length'), runFailed('w'), runFailed('root')],
      'error',
    ],
  ])('has the right finish reason if the last answer %s', (_, events, finish_reason) =>
    expect(resultOf(viewOf(...begun, ...events, ended('task_failed')))).toMatchObject({
      status: 'failed',
      finish_reason,
    }),
  )

  it('has the finish reason cancelled for a cancelled task, also without a root', () => {
    const cancelled = { finish_reason: 'cancelled', tool_iterations: 1, run_id: 'root' }
    expect(resultOf(viewOf(...begun, runCancelled('root'), ended('task_cancelled')))).toMatchObject(cancelled)
    expect(resultOf(viewOf(submitted, ended('task_cancelled')))).toMatchObject({
      ...cancelled,
      run_id: null,
      tool_iterations: 0,
    })
  })
})
interface Grown {
  readonly id: string
  readonly after: string | null
}
const order = (nodes: readonly Grown[]): Grown[] =>
  growthOrder(nodes, { id: (each) => each.id, addedAfter: (each) => each.after })

test('what a graph grew by stands after the node it grew after, in declared order, at any depth', () => {
  expect(
    order([
      { id: 'split', after: null },
      { id: 'collect', after: null },
      { id: 'item 1', after: 'split' },
      { id: 'item 2', after: 'split' },
      { id: 'part', after: 'item 1' },
    ]).map(({ id }) => id),
  ).toEqual(['split', 'item 1', 'part', 'item 2', 'collect'])
})

test('every node stands once, whatever it says it was added after', () => {
  const id = fc.integer({ min: 0, max: 6 }).map(String)
  const nodes = fc.uniqueArray(fc.record({ id, after: fc.option(id) }), { selector: (each) => each.id })
  const sorted = (all: readonly Grown[]): Grown[] => all.toSorted((a, b) => a.id.localeCompare(b.id))
  fc.assert(
    fc.property(nodes, (all) => {
      expect(sorted(order(all))).toEqual(sorted(all))
    }),
  )
})

test('a browser can run the view: nothing that it imports needs Node.js', () => {
  const seen = new Set<string>()
  const visit = (url: URL): void => {
    if (seen.has(url.href)) return
    seen.add(url.href)
    const imports = readFileSync(url, 'utf8').matchAll(/^(?:import|export)(?! type)[^'"]*?from '([^']+)'/gm)
    for (const [, from = ''] of imports) {
      expect(from).not.toMatch(/^node:/)
      if (from.startsWith('.')) visit(new URL(from, url))
    }
  }
  visit(new URL('task-view.ts', import.meta.url))
  expect(seen.size).toBeGreaterThan(10)
})
