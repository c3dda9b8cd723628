import { describe, expect, it } from 'vitest'
import {
  answer,
  graph,
  node,
  plain,
  quorum,
  recorded,
  result,
  runStarted,
  submitted,
} from '../../test/log.ts'
import type { DomainEvent } from '../events/catalog.ts'
import { evaluateNode } from '@beaver/evidence'
import { factsOf } from '../evidence/run-facts.ts'
import type { AgentNode } from '../graph/execution-graph.ts'
import type { TeamProgram } from '../graph/team-program.ts'
import type { TaskId } from '../ids.ts'
import { retryCopy } from './retry-copy.ts'
import type { RunState } from './run-state.ts'
import { foldTask, type TaskState } from './task-state.ts'

const noUsage = { input_tokens: 0, output_tokens: 0, calls: 0 }
const claimed = plain('task_claimed', { daemon: 'd1' })
const user = (run: string): DomainEvent => plain('user_message_added', { content: 'do it' }, run)
const begun = (run: string, nodeId?: string): DomainEvent[] => [
  runStarted(run, nodeId === undefined ? {} : { parent: 'root', node: nodeId }),
  user(run),
]
const called = (run: string, id: string, idempotent = true): DomainEvent =>
  plain('tool_call_started', { call_id: id, tool_name: 'tool', idempotent }, run)
const calls = (run: string, ...ids: string[]): DomainEvent =>
  answer(
    run,
    null,
    ids.map((id) => ({ id, name: 'tool' })),
  )
const failure = { class: 'provider_unavailable', message: 'down' } as const
const failedTry = (run: string): DomainEvent =>
  plain('provider_call_failed', { failure, tries: 1, retry_in_ms: 5, status: null }, run)
const runFailed = (run: string, name: string = failure.class, tool_iterations = 0): DomainEvent =>
  plain(
    'run_failed',
    { failure: { class: name as never, message: 'down' }, tool_iterations, usage: noUsage },
    run,
  )
const runCompleted = (run: string): DomainEvent =>
  plain('run_completed', { finish_reason: 'stop', tool_iterations: 0, usage: noUsage }, run)
const cancelled = (run: string, id: string): DomainEvent =>
  plain(
    'tool_result_recorded',
    {
      call_id: id,
      tool_name: 'tool',
      success: false,
      content: 'The run was cancelled.',
      error: 'cancelled',
      duration_ms: 0,
    },
    run,
  )
const ended = (type: 'task_failed' | 'task_incomplete' | 'task_cancelled'): DomainEvent =>
  plain(type, {
    final_output: '',
    outputs: [],
    usage: noUsage,
    provider: null,
    model: null,
    simulated: false,
    failure,
  })

const noProgram = () => null
const options = { programOf: noProgram, gate: evaluateNode }
const into = { taskId: 't1.retry-1' as TaskId, taskseq: 3 }

interface Retried {
  readonly copy: DomainEvent[]
  readonly task: TaskState
  readonly types: string[]
}

/** The new task's log after its first claim, folded as a daemon folds it. */
const retried = (...old: DomainEvent[]): Retried => retriedBy(noProgram, ...old)
function retriedBy(programOf: () => TeamProgram | null, ...old: DomainEvent[]): Retried {
  const copy = retryCopy(recorded(submitted, claimed, ...old), into, { ...options, programOf })
  return { copy, task: foldTask(recorded(submitted, claimed, ...copy)), types: copy.map(({ type }) => type) }
}

const root = ({ task }: { task: TaskState }) => task.runs.get('root')
const nodes = ({ task }: { task: TaskState }) =>
  Object.fromEntries([...(task.teams.get('team1')?.nodes ?? [])].map(([id, { status }]) => [id, status]))

describe('a root run that failed', () => {
  const log = [
    ...begun('root'),
    calls('root', 'c1'),
    called('root', 'c1'),
    result('root', 'c1', 'tool', 'text'),
    failedTry('root'),
    runFailed('root'),
  ]

  it('keeps its answers and results and asks the model again, with tries and calls of its own', () => {
    const asked = { provider_name: 'p', model: 'm' }
    const usage = { input_tokens: 9, output_tokens: 1, calls: 1 }
    const bounds = { input_tokens_max: 9, output_tokens_max: 1, usd_max: 0 }
    const retry = retried(
      ...log.slice(0, -1),
      plain('model_call_reserved', { ...asked, ...bounds }, 'root'),
      plain('model_call_lost', { ...asked, usage }, 'root'),
      plain('model_call_paid', { ...asked, usage, purpose: 'knowledge_search' }, 'root'),
      ...log.slice(-1),
      ended('task_failed'),
    )
    expect(root(retry)?.usage).toEqual(noUsage)
    expect(root(retry)).toMatchObject({ status: 'thinking', answers: 1, tries: 0, due: { waitedMs: 0 } })
    expect(root(retry)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(retry.task.ended).toBeNull()
    expect(retry.types).toEqual([
      'task_log_copied',
      'run_started',
      'user_message_added',
      'assistant_message_added',
      'tool_call_started',
      'tool_result_recorded',
    ])
  })

  it('says from where it was copied, and copied answers cost nothing', () => {
    const [first, ...rest] = retried(...log, ended('task_failed')).copy
    expect(first).toMatchObject({ data: { task_id: 't1', taskseq: 10, events: 5, previous_task_id: null } })
    expect(rest.find(({ type }) => type === 'assistant_message_added')?.data).toMatchObject({
      usage: noUsage,
      copied_from: { task_id: 't1', taskseq: 5 },
    })
  })

  it('continues from the first retry when it is retried again, and its answers still name the first task', () => {
    const once = retryCopy(recorded(submitted, claimed, ...log, ended('task_failed')), into, options)
    const again = retryCopy(
      recorded(
        submitted,
        claimed,
        ...once,
        calls('root', 'c2'),
        result('root', 'c2', 'tool'),
        runFailed('root'),
        ended('task_failed'),
      ),
      into,
      options,
    )
    expect(
      again.flatMap((event) =>
        event.type === 'assistant_message_added' ? [event.data.copied_from?.taskseq] : [],
      ),
    ).toEqual([5, 9])
    expect(foldTask(recorded(submitted, ...again)).runs.get('root')).toMatchObject({
      status: 'thinking',
      answers: 2,
      usage: noUsage,
    })
  })

  it('gives another answer if its last answer cannot be used', () => {
    const retry = retried(
      ...log.slice(0, -2),
      answer('root', ''),
      runFailed('root', 'empty_output'),
      ended('task_failed'),
    )
    expect(root(retry)).toMatchObject({ status: 'thinking', answers: 1 })
  })

  it('chooses its mode again if it continues from before its first answer', () => {
    const mode = plain(
      'execution_mode_selected',
      {
        task_id: 't1',
        attempt_index: 1,
        execution_mode: 'single',
        routing_source: 'main_agent_first_turn',
        primary_template_skill: 's',
        ignored_template_skills: [],
        workflow_tool: null,
        content: null,
      },
      'root',
    )
    expect(
      root(retried(...begun('root'), mode, answer('root', ''), runFailed('root'), ended('task_failed'))),
    ).toMatchObject({
      executionMode: null,
      status: 'thinking',
    })
    const kept = retried(
      ...begun('root'),
      mode,
      calls('root', 'c1'),
      result('root', 'c1', 'tool'),
      runFailed('root'),
      ended('task_failed'),
    )
    expect(root(kept)).toMatchObject({ executionMode: 'single' })
    expect(kept.copy.find(({ type }) => type === 'execution_mode_selected')?.data).toMatchObject({
      task_id: 't1.retry-1',
    })
  })

  it('gets as many iterations again if it used them up', () => {
    const retry = retried(
      ...begun('root'),
      calls('root', 'c1'),
      result('root', 'c1', 'tool'),
      answer('root', 'forced'),
      runFailed('root', 'iterations_exhausted', 20),
      ended('task_failed'),
    )
    expect(root(retry)).toMatchObject({ status: 'thinking', start: { max_tool_iterations: 40 } })
  })

  it('may do the same as often again if it went nowhere', () => {
    const started = begun('root').map((each) =>
      each.type === 'run_started' ? { ...each, data: { ...each.data, repeats_max: 2 } } : each,
    )
    const turns = ['c1', 'c2'].flatMap((id) => [calls('root', id), result('root', id, 'tool')])
    const retry = retried(...started, ...turns, runFailed('root', 'no_progress', 2), ended('task_failed'))
    expect(root(retry)).toMatchObject({
      ...{ status: 'thinking', sameTurns: { times: 2 } },
      start: { repeats_max: 4, max_tool_iterations: 20 },
    })
    const other = retried(...started, ...turns, runFailed('root'), ended('task_failed'))
    expect(root(other)?.start.repeats_max).toBe(2)
  })

  it('starts from the beginning if it had received nothing', () => {
    expect(retried(runStarted('root'), runFailed('root'), ended('task_failed')).task.runs.size).toBe(0)
  })
})

describe('a call with an unknown outcome', () => {
  it('stays as it was: begun, without a result', () => {
    const open = retried(
      ...begun('root'),
      calls('root', 'c1', 'c2'),
      called('root', 'c1', false),
      result('root', 'c2', 'tool'),
      runFailed('root'),
      ended('task_failed'),
    )
    expect(root(open)).toMatchObject({
      status: 'acting',
      calls: [
        { id: 'c1', started: true, idempotent: false, result: null },
        { id: 'c2', result: 'ok' },
      ],
    })
    const stopped = retried(
      ...begun('root'),
      calls('root', 'c1'),
      called('root', 'c1', false),
      cancelled('root', 'c1'),
      ended('task_cancelled'),
    )
    expect(root(stopped)?.calls).toMatchObject([{ id: 'c1', started: true, idempotent: false, result: null }])
  })
})

describe('a team of five in which one node failed', () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const of = (nodeId: string) => ({ team_run_id: 'team1', node_id: nodeId })
  const started = (call: string | null, ...added: string[]): DomainEvent =>
    plain('task_team_run_started', {
      team_run_id: 'team1',
      run_id: call === null ? null : 'root',
      call_id: call,
      graph: graph(
        ...names.slice(0, 4).map((name) => node(name)),
        node('e', 'd'),
        ...added.map((name) => node(name)),
      ),
      concurrent_nodes_max: 4,
    } as never)
  const completes = (nodeId: string): DomainEvent[] => [
    plain('node_started', { ...of(nodeId), run_id: `run-${nodeId}`, input: null } as never),
    ...begun(`run-${nodeId}`, nodeId),
    answer(`run-${nodeId}`, `said ${nodeId}`),
    runCompleted(`run-${nodeId}`),
    plain('node_completed', { ...of(nodeId), run_id: `run-${nodeId}` } as never),
  ]
  const fails = (nodeId: string, ...before: DomainEvent[]): DomainEvent[] => [
    plain('node_started', { ...of(nodeId), run_id: `run-${nodeId}`, input: null } as never),
    ...begun(`run-${nodeId}`, nodeId),
    ...before,
    failedTry(`run-${nodeId}`),
    runFailed(`run-${nodeId}`),
    plain('node_failed', { ...of(nodeId), run_id: `run-${nodeId}`, failure } as never),
  ]
  const incomplete = plain('task_team_run_failed', {
    team_run_id: 'team1',
    outcome: 'incomplete',
    message: '3 of 5 nodes completed',
  })
  const blocked = plain('node_blocked', { ...of('e'), cause_node_id: 'd' } as never)
  const team = [...completes('a'), ...completes('b'), ...completes('c'), ...fails('d'), blocked, incomplete]

  it('keeps what completed if the root called it: the call is due again, and what the root said about the result is gone', () => {
    const log = [
      ...begun('root'),
      calls('root', 'c1', 'c2'),
      called('root', 'c1'),
      result('root', 'c2', 'tool'),
      started('c1'),
      ...team,
    ]
    const retry = retried(
      ...log,
      result('root', 'c1', 'tool', 'incomplete'),
      answer('root', 'It is incomplete.'),
      runCompleted('root'),
      ended('task_incomplete'),
    )
    expect(nodes(retry)).toEqual({
      a: 'completed',
      b: 'completed',
      c: 'completed',
      d: 'waiting',
      e: 'waiting',
    })
    expect(retry.task.teams.get('team1')?.outcome).toBeNull()
    expect(root(retry)).toMatchObject({
      status: 'acting',
      answers: 1,
      calls: [
        { id: 'c1', started: true, result: null },
        { id: 'c2', result: 'ok' },
      ],
    })
    expect(retry.task.runs.get('run-a')).toMatchObject({
      status: 'completed',
      outputText: 'said a',
      usage: noUsage,
    })
    expect(retry.task.runs.has('run-d')).toBe(false)
  })

  it('continues although a definition was called as a tool after it, because the task is judged by the team', () => {
    const definition = plain('task_team_run_started', {
      team_run_id: 'team2',
      run_id: 'root',
      call_id: 'c2',
      graph: { ...graph(node('f')), workflow: 'workflow:count' },
      concurrent_nodes_max: 4,
    } as never)
    const failed = plain('task_team_run_failed', {
      team_run_id: 'team2',
      outcome: 'incomplete',
      message: '0 of 1 nodes completed',
    })
    const log = [
      ...begun('root'),
      calls('root', 'c1'),
      called('root', 'c1'),
      started('c1'),
      ...team,
      result('root', 'c1', 'tool', 'incomplete'),
    ]
    const after = [
      calls('root', 'c2'),
      called('root', 'c2'),
      definition,
      failed,
      result('root', 'c2', 'tool'),
      answer('root', 'x'),
      runCompleted('root'),
    ]
    const retry = retried(...log, ...after, ended('task_incomplete'))
    expect(nodes(retry)).toEqual({
      a: 'completed',
      b: 'completed',
      c: 'completed',
      d: 'waiting',
      e: 'waiting',
    })
    expect([retry.task.teams.get('team1')?.outcome, root(retry)?.calls.map(({ id }) => id)]).toEqual([
      null,
      ['c1'],
    ])
    expect(retry.task.teams.has('team2')).toBe(false)
  })

  it('keeps what completed if the root failed after the team', () => {
    const log = [
      ...begun('root'),
      calls('root', 'c1'),
      called('root', 'c1'),
      started('c1'),
      ...team,
      result('root', 'c1', 'tool'),
      runFailed('root'),
      ended('task_failed'),
    ]
    expect(nodes(retried(...log))).toMatchObject({ c: 'completed', d: 'waiting' })
  })

  it('stays ended if a later team replaced it', () => {
    const second = plain('task_team_run_started', {
      team_run_id: 'team2',
      run_id: 'root',
      call_id: 'c2',
      graph: graph(node('x')),
      concurrent_nodes_max: 1,
    } as never)
    const log = [
      ...begun('root'),
      calls('root', 'c1'),
      started('c1'),
      ...team,
      result('root', 'c1', 'tool'),
      calls('root', 'c2'),
      second,
    ]
    const done = plain('task_team_run_completed', { team_run_id: 'team2', outcome: 'complete' })
    const retry = retried(...log, done, result('root', 'c2', 'tool'), runFailed('root'), ended('task_failed'))
    expect([...retry.task.teams.values()].map(({ outcome }) => outcome)).toEqual(['incomplete', 'complete'])
    expect(root(retry)).toMatchObject({ status: 'thinking', answers: 2 })
  })

  it('continues without a root if the task is a workflow', () => {
    const retry = retried(started(null), ...team, ended('task_incomplete'))
    expect(nodes(retry)).toEqual({
      a: 'completed',
      b: 'completed',
      c: 'completed',
      d: 'waiting',
      e: 'waiting',
    })
    expect(retry.task.rootRunId).toBeNull()
  })

  it('starts the running nodes from the beginning if the task was cancelled while they ran', () => {
    const running = [
      plain('node_started', { ...of('b'), run_id: 'run-b', input: null } as never),
      ...begun('run-b', 'b'),
    ]
    const requested = plain('node_cancel_requested', { ...of('c'), reason: 'x' } as never)
    const retry = retried(
      started(null),
      ...completes('a'),
      ...running,
      requested,
      plain('node_cancelled', { ...of('c'), reason: 'x' } as never),
      ended('task_cancelled'),
    )
    expect(nodes(retry)).toEqual({ a: 'completed', b: 'waiting', c: 'waiting', d: 'waiting', e: 'waiting' })
    expect(retry.task.teams.get('team1')?.nodes.get('c')?.cancelReason).toBeNull()
  })

  it('continues a node whose effect is in doubt, instead of starting it from the beginning', () => {
    const doubt = [calls('run-d', 'w1'), called('run-d', 'w1', false)]
    const retry = retried(started(null), ...completes('a'), ...fails('d', ...doubt), ended('task_incomplete'))
    expect(nodes(retry)).toMatchObject({ a: 'completed', d: 'running' })
    expect(retry.task.runs.get('run-d')).toMatchObject({
      status: 'acting',
      calls: [{ id: 'w1', started: true, result: null }],
    })
  })

  describe('whose program lets the graph grow', () => {
    const change = (run: string | null, path: string): DomainEvent =>
      plain('shared_state_changed', {
        team_run_id: 'team1',
        run_id: run,
        change: { action: 'set', path, value: 1 },
      } as never)
    const growth = { nodes: [node('f', 'a')], outputs: ['e', 'f'], output: null }
    /**
     * After a, the graph grows and the program writes into the shared state. The node e is told which nodes
     * failed.
     */
    const program: TeamProgram = {
      after: (_, { node_id }) =>
        node_id === 'a'
          ? { kind: 'go_on', growth, stateChanges: [{ action: 'set', path: 'program', value: 1 }] }
          : { kind: 'go_on' },
      enter: (view, { node_id }) => ({
        kind: 'run',
        input: node_id === 'f' ? { instruction: view.statusOf('b') } : null,
      }),
    }
    const grown = plain('graph_extended', { ...of('a'), ...growth, edges: [] } as never)
    const endOfA = [...completes('a'), change(null, 'program'), grown]
    const teamOf = (...log: DomainEvent[]) =>
      retriedBy(() => program, started(null), ...log, ended('task_incomplete')).task.teams.get('team1')
    const startOfF = (instruction: string): DomainEvent[] => [
      plain('node_started', { ...of('f'), run_id: 'run-f', input: { instruction } } as never),
      ...begun('run-f', 'f'),
      answer('run-f', 'said f'),
      runCompleted('run-f'),
      plain('node_completed', { ...of('f'), run_id: 'run-f' } as never),
    ]
    const statusOf = (team: ReturnType<typeof teamOf>, id: string) => team?.nodes.get(id)?.status

    it('keeps the growth, and what kept nodes and the program wrote into the shared state', () => {
      const team = teamOf(...endOfA, change('run-a', 'kept'), ...fails('d'), change('run-d', 'lost'))
      expect(team?.sharedState).toEqual({ kept: 1, program: 1 })
      expect(statusOf(team, 'f')).toBe('waiting')
    })

    it('keeps a node whose input is the same', () => {
      expect(statusOf(teamOf(...endOfA, ...startOfF('waiting'), ...fails('d')), 'f')).toBe('completed')
    })

    it('starts a node again that was told of a failure', () => {
      const team = teamOf(...endOfA, ...fails('b'), ...startOfF('failed'))
      expect([statusOf(team, 'a'), statusOf(team, 'f')]).toEqual(['completed', 'waiting'])
    })

    it('starts a node again that may have read what a node wrote that starts again', () => {
      const team = teamOf(...endOfA, ...fails('d'), change('run-d', 'lost'), ...completes('b'))
      expect([statusOf(team, 'a'), statusOf(team, 'b')]).toEqual(['completed', 'waiting'])
    })

    it('lets a run stay ended from which something else follows now, and draws the conclusion anew', () => {
      const otherwise = plain('graph_extended', {
        ...of('a'),
        ...growth,
        nodes: [node('f', 'a', 'b')],
        edges: [],
      } as never)
      const team = teamOf(...completes('a'), change(null, 'program'), otherwise, ...fails('d'))
      expect([statusOf(team, 'a'), statusOf(team, 'f'), team?.sharedState]).toEqual([
        'running',
        undefined,
        {},
      ])
    })
  })

  it('names the events on which a verdict rests by their new positions', () => {
    const judged: AgentNode = { ...node('a'), validation_rules: [{ kind: 'output_contains', texts: ['x'] }] }
    const log = [
      plain('task_team_run_started', {
        team_run_id: 'team1',
        run_id: null,
        call_id: null,
        graph: graph(judged, node('d')),
        concurrent_nodes_max: 4,
      } as never),
      plain('node_started', { ...of('a'), run_id: 'run-a', input: null } as never),
      ...begun('run-a', 'a'),
      failedTry('run-a'),
      failedTry('run-a'),
      answer('run-a', 'x'),
      runCompleted('run-a'),
    ]
    const run = foldTask(recorded(submitted, claimed, ...log)).runs.get('run-a')
    const { checks } = evaluateNode(judged, {
      ...factsOf(run as RunState),
      given: { outputs: [], texts: [] },
    })
    expect(checks[0]?.rests_on).toEqual([9])
    const { copy } = retried(
      ...log,
      plain('node_evidence_evaluated', { ...of('a'), run_id: 'run-a', passed: true, checks } as never),
      plain('node_completed', { ...of('a'), run_id: 'run-a' } as never),
      ended('task_incomplete'),
    )
    const verdict = copy.find((event) => event.type === 'node_evidence_evaluated')
    const placed = recorded(submitted, claimed, ...copy)
    const at =
      placed.find((event) => event.type === 'assistant_message_added' && event.runId === 'run-a')?.taskseq ??
      0
    expect([verdict?.data.checks[0]?.rests_on, at]).toEqual([[at], 8])
  })

  it('starts a node again that went on without the failed node, because it is given its output now', () => {
    const start = plain('task_team_run_started', {
      team_run_id: 'team1',
      run_id: null,
      call_id: null,
      graph: graph(node('a'), node('d'), quorum(1, 'e', 'a', 'd')),
      concurrent_nodes_max: 4,
    } as never)
    expect(
      nodes(
        retried(
          start,
          ...completes('a'),
          ...fails('d'),
          ...completes('e'),
          incomplete,
          ended('task_incomplete'),
        ),
      ),
    ).toEqual({
      a: 'completed',
      d: 'waiting',
      e: 'waiting',
    })
  })
})

it('refuses a log that has not ended', () => {
  expect(() => retryCopy(recorded(submitted, claimed), into, options)).toThrow(
    'Only a task that has ended is retried.',
  )
})
