import { describe, expect, it, test } from 'vitest'
import { noUsage } from '../usage.ts'
import { type DomainEvent, event } from '../events/catalog.ts'
import type { RunId, TeamRunId } from '../ids.ts'
import { ownerLosses } from './owner-losses.ts'

const claimed = (daemon: string): DomainEvent => event('task_claimed', { daemon })
const released: DomainEvent = event('task_released', { daemon: 'd', reason: 'drained' })
const started = (run = 'root'): DomainEvent =>
  event(
    'run_started',
    {
      run_id: run as RunId,
      parent_run_id: null,
      attempt_index: 1,
      agent_name: 'a',
      team_run_id: null,
      node_id: null,
      source: 'test',
      max_tool_iterations: 5,
      tools: [],
    },
    run,
  )
const answered = (calls: Record<string, string>, run = 'root'): DomainEvent =>
  event(
    'assistant_message_added',
    {
      content: null,
      tool_calls: Object.entries(calls).map(([id, name]) => ({ id, name, arguments: '{}' })),
      finish_reason: 'tool_calls',
      usage: noUsage,
      provider_name: 'p',
      model: 'm',
      response_id: null,
      duration_ms: 1,
    },
    run,
  )
const begun = (id: string, tool: string, run = 'root'): DomainEvent =>
  event('tool_call_started', { call_id: id, tool_name: tool, idempotent: false }, run)
const result = (id: string, tool: string, run = 'root'): DomainEvent =>
  event(
    'tool_result_recorded',
    { call_id: id, tool_name: tool, success: true, content: '', error: null, duration_ms: 1 },
    run,
  )

it('is not charged while the client makes the call', () => {
  const begunForClient = [claimed('d1'), started(), answered({ c1: 'colour' }), begun('c1', 'colour')]
  const asked = event('client_call_requested', { call_id: 'c1', tool_name: 'colour' }, 'root')
  const said = event('client_call_answered', { call_id: 'c1', content: 'blue', by: 'web' }, 'root')
  expect(ownerLosses([...begunForClient, asked])).toMatchObject({ lost: 1, charged: 0 })
  expect(ownerLosses([...begunForClient, asked, said])).toMatchObject({ lost: 1, charged: 0 })
})

/** The root has called `bad` and has no result. */
const acting = [claimed('d1'), started(), answered({ c1: 'bad' }), begun('c1', 'bad')]

describe('the death of the last owner', () => {
  it('is charged if a call had started and has no result: its tool is suspect', () => {
    expect(ownerLosses(acting)).toEqual({
      lost: 1,
      charged: 1,
      lastCharged: true,
      suspects: { names: ['bad'], pure: false },
    })
  })

  test.each<[string, DomainEvent[]]>([
    ['nothing had begun', [claimed('d1')]],
    ['the model was asked', [claimed('d1'), started()]],
    ['the result was recorded', [...acting, result('c1', 'bad')]],
    [
      'a call waited for a person',
      [
        claimed('d1'),
        started(),
        answered({ c1: 'bad' }),
        event('approval_requested', { call_id: 'c1', tool_name: 'bad', subject: '', rule: null }, 'root'),
      ],
    ],
    [
      'the run had ended',
      [...acting, event('run_cancelled', { reason: 'enough', tool_iterations: 0, usage: noUsage }, 'root')],
    ],
  ])('is not charged if %s', (_, events) => {
    const losses = ownerLosses(events)
    expect(losses).toMatchObject({ lost: 1, charged: 0, lastCharged: false, suspects: { names: [] } })
  })

  it('is not charged if the call waits for its team, but a call of a member is charged', () => {
    const team = event(
      'task_team_run_started',
      {
        team_run_id: 'team' as TeamRunId,
        run_id: 'root' as RunId,
        call_id: 'c1',
        graph: { workflow: 'w', task: 't', nodes: [], outputs: [], output: null } as never,
        concurrent_nodes_max: 1,
      },
      'root',
    )
    const waiting = [
      claimed('d1'),
      started(),
      answered({ c1: 'ConcurrentWorkflow' }),
      begun('c1', 'ConcurrentWorkflow'),
      team,
    ]
    expect(ownerLosses(waiting)).toMatchObject({ charged: 0, suspects: { names: [] } })
    const member = [started('m'), answered({ c1: 'bad' }, 'm'), begun('c1', 'bad', 'm')]
    expect(ownerLosses([...waiting, ...member])).toMatchObject({ charged: 1, suspects: { names: ['bad'] } })
  })

  it('is not charged while a call waits for a person, but is once that has answered', () => {
    const asked = event(
      'question_asked',
      { call_id: 'c1', tool_name: 'bad', question_index: 0, question: { message: 'Why?' } },
      'root',
    )
    const answered = event(
      'question_answered',
      { call_id: 'c1', question_index: 0, answer: { action: 'accept', answers: ['x'] }, by: 'ada' },
      'root',
    )
    expect(ownerLosses([...acting, asked])).toMatchObject({
      lost: 1,
      charged: 0,
      suspects: { names: [], pure: false },
    })
    expect(ownerLosses([...acting, asked, answered])).toMatchObject({
      lost: 1,
      charged: 1,
      suspects: { names: ['bad'] },
    })
  })

  it('makes pure tools suspect if a run was about to act, because they run before their record', () => {
    expect(ownerLosses([claimed('d1'), started()]).suspects).toEqual({ names: [], pure: true })
    expect(ownerLosses([...acting, result('c1', 'bad')]).suspects).toEqual({ names: [], pure: true })
    expect(ownerLosses([claimed('d1')]).suspects.pure).toBe(false)
  })
})

describe('an owner that let go', () => {
  test.each<[string, DomainEvent]>([
    ['by a release', released],
    [
      'because the task only waits',
      event('task_suspended', { daemon: 'd', waits_for: 'provider', until: null, reason: '' } as never),
    ],
  ])('is not lost: it let go %s', (_, letGo) => {
    expect(ownerLosses([...acting, letGo])).toEqual({
      lost: 0,
      charged: 0,
      lastCharged: false,
      suspects: { names: [], pure: false },
    })
    expect(ownerLosses([...acting, letGo, claimed('d2')])).toMatchObject({ lost: 1, charged: 1 })
  })

  it('does not change what earlier owners lost', () => {
    expect(ownerLosses([...acting, claimed('d2'), released])).toMatchObject({
      lost: 1,
      charged: 1,
      lastCharged: false,
      suspects: { names: ['bad'] },
    })
  })
})

describe('the deaths of several owners', () => {
  it('are charged to a tool only once: after that, it runs in a process of its own', () => {
    const events = [...acting, claimed('d2'), claimed('d3'), claimed('d4')]
    expect(ownerLosses(events)).toMatchObject({
      lost: 4,
      charged: 1,
      lastCharged: false,
      suspects: { names: ['bad'] },
    })
  })

  it('are charged again to another tool', () => {
    const events = [
      ...acting,
      claimed('d2'),
      result('c1', 'bad'),
      answered({ c2: 'worse' }),
      begun('c2', 'worse'),
    ]
    expect(ownerLosses(events)).toMatchObject({
      lost: 2,
      charged: 2,
      lastCharged: true,
      suspects: { names: ['bad', 'worse'] },
    })
  })

  it('are not charged to a tool that cost its run a thread, because it runs in a cell already', () => {
    const failure = { class: 'worker_lost' as const, message: 'lost' }
    const restarted = event('run_restarted', { failure, restarts: 1, suspect_tools: ['bad'] }, 'root')
    expect(ownerLosses([...acting, restarted])).toMatchObject({
      lost: 1,
      charged: 0,
      suspects: { names: ['bad'] },
    })
  })
})

it('a task that has ended loses no owner at its end', () => {
  const failed = event('task_failed', {} as never)
  expect(ownerLosses([...acting, failed])).toMatchObject({ lost: 0, charged: 0, lastCharged: false })
})
