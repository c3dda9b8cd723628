// Teams that are tasks of their own (AgentTeam, workflows without a root agent) through a real daemon and
// worker threads. A team whose daemon dies is in daemon-crash.test.ts.
import { AgentTeam } from '@beaver/client'
import type { DaemonActors } from '@beaver/contracts'
import type { TeamStreamEvent } from '@beaver/team-patterns'
import { until } from '@beaver/testing'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type FakeReply, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { keptSystem, type KeptSystem } from '../support/kept-system.ts'
import { only, type TestSystem, told } from '../support/system.ts'

let kept: KeptSystem
let system: TestSystem
beforeAll(async () => {
  kept = await keptSystem()
  system = kept.system
})
beforeEach(() => system.provider.forget())

const agentOf = ({ messages }: SeenRequest): string =>
  /^- agent: (.+)$/m.exec(messages[0]?.content ?? '')?.[1] ?? ''
const answersBy = (answer: (name: string, request: SeenRequest) => FakeReply | Promise<FakeReply>): void =>
  system.provider.answerBy((request) => answer(agentOf(request), request))

describe('AgentTeam', () => {
  it('runs as a task without a root agent, and reports what its members said', async () => {
    answersBy((name) => say(`${name} says`))
    const team = new AgentTeam(system.client, {
      strategy: 'sequential',
      members: ['a', { name: 'b', system_prompt: 'You doubt.' }],
    })
    const run = await team.run('Think.')
    expect(run).toMatchObject({
      success: true,
      final_output: 'b says',
      member_outputs: { a: 'a says', b: 'b says' },
      steps: 2,
      message: null,
    })
    expect(
      run.interactions.map(({ member_name, timestamp }) => [
        member_name,
        Number.isNaN(Date.parse(timestamp)),
      ]),
    ).toEqual([
      ['a', false],
      ['b', false],
    ])
    const events = await system.events(run.task_id)
    expect(told(events).filter((type) => type.startsWith('task_'))).toEqual(['task_submitted', 'task_claimed', 'task_team_run_started', 'task_team_run_completed', 'task_completed']) // prettier-ignore
    expect(only(events, 'run_started').map(({ data }) => [data.agent_name, data.parent_run_id])).toEqual([
      ['a', null],
      ['b', null],
    ])
    const [doubter] = system.provider.requests.filter((request) => agentOf(request) === 'b')
    expect(doubter?.messages[0]?.content).toContain('You doubt.')
    expect(doubter?.tools).not.toContain('SequentialWorkflow')
    expect(doubter?.tools).not.toContain('team_shared_state')
  })

  it('streams its events, one terminal event last, each with the ids of its run (D-50)', async () => {
    answersBy((name) => say(name === 'b' ? '' : `${name} says`))
    const team = new AgentTeam(system.client, { strategy: 'broadcast', members: ['a', 'b'] })
    const events: TeamStreamEvent[] = []
    for await (const event of team.runStream('Think.')) events.push(event)
    expect(events.map((event) => [event.type, 'member_name' in event ? event.member_name : null])).toEqual(
      expect.arrayContaining([
        ['team_run_started', null],
        ['member_started', 'a'],
        ['member_delta', 'a'],
        ['member_completed', 'a'],
        ['member_failed', 'b'],
      ]),
    )
    expect(
      events.filter((event) => event.type === 'team_run_completed' || event.type === 'team_run_failed'),
    ).toEqual([events.at(-1)])
    expect(events.at(-1)).toMatchObject({
      type: 'team_run_failed',
      outcome: 'incomplete',
      outputs: [{ node_id: 'a', output: 'a says' }],
    })
    expect(new Set(events.map((event) => event.team_run_id)).size).toBe(1)
  })

  it('round_robin without tasks gives each message of a session to the next member (D-48)', async () => {
    answersBy((name) => say(`${name} says`))
    const team = new AgentTeam(system.client, { strategy: 'round_robin', members: ['a', 'b', 'c'] })
    const spoke: string[] = []
    for (const message of ['1', '2', '3', '4'])
      spoke.push((await team.run(message, { sessionId: 'turns' })).final_output)
    await new AgentTeam(system.client, { strategy: 'round_robin', members: ['x', 'y'] }).run('another team', {
      sessionId: 'turns',
    })
    spoke.push(
      (await team.run('5', { sessionId: 'turns' })).final_output,
      (await team.run('1', { sessionId: 'other' })).final_output,
    )
    expect(spoke.map((text) => text.at(0))).toEqual(['a', 'b', 'c', 'a', 'b', 'a'])
  })

  it('members change the shared state at the same time, and no update is lost (D-51)', async () => {
    const members = Array.from({ length: 8 }, (_, i) => `m${i}`)
    answersBy((_, { results }) =>
      results.length < 3
        ? use(
            ['team_shared_state', { action: 'increment', path: 'custom_data.count' }],
            ['team_shared_state', { action: 'append', path: 'custom_data.log', value: 1 }],
          )
        : say(`counted: ${results.at(-2)}`),
    )
    const team = new AgentTeam(system.client, {
      strategy: 'broadcast',
      members,
      shared_state: { custom_data: { count: 0, log: [] } },
    })
    const run = await team.run('Count.')
    expect(run.success).toBe(true)
    const changes = only(await system.events(run.task_id), 'shared_state_changed').filter(
      ({ data }) => data.run_id !== null,
    )
    expect(changes).toHaveLength(32)
    const counts = system.provider.requests
      .flatMap(({ results }) => results)
      .flatMap((text) => (/^\{"value":\d+\}$/.test(text) ? [Number(text.slice(9, -1))] : []))
    expect(Math.max(...counts)).toBe(16)
    expect(new Set(counts).size).toBe(16)
  })

  it('is refused before anything is stored when its configuration is wrong', async () => {
    expect(() => AgentTeam.read(system.client, { strategy: 'voting', members: ['a'] })).toThrow(/"strategy"/)
    await expect(
      system.client.submit({
        workflow: { name: 'AgentTeam', arguments: { members: ['a', 'a'], message: 'x' } },
      }),
    ).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining('"a"'),
    })
  })
})

describe('a task that is a workflow', () => {
  const agents = [{ name: 'a', instruction: 'do a' }, { name: 'b', instruction: 'do b' }] // prettier-ignore

  it('has the result of its team', async () => {
    answersBy((name) => say(`${name} says`))
    const { status, final_output, outputs, model } = await system.client.run({
      workflow: { name: 'ConcurrentWorkflow', arguments: { task: 't', agents } },
    })
    expect([status, final_output, outputs.length, model]).toEqual([
      'completed',
      '## a\n\na says\n\n## b\n\nb says',
      2,
      'fake-model',
    ])
  })

  it('is incomplete when a node fails; what there is stays in the result', async () => {
    answersBy((name) => say(name === 'a' ? '' : 'b says'))
    const end = await system.client.run({
      workflow: { name: 'ConcurrentWorkflow', arguments: { task: 't', agents } },
    })
    expect(end).toMatchObject({
      status: 'incomplete',
      outputs: [{ node_id: 'b', output: 'b says' }],
      failure: { class: 'empty_output' },
    })
  })

  it('can be cancelled, and every request of it is closed', async () => {
    answersBy((name) => (name === 'a' ? null : say('b says')))
    const whole = await system.client.submit({
      workflow: { name: 'ConcurrentWorkflow', arguments: { task: 't', agents } },
    })
    await system.reached(whole.task_id, 'a runs', (events) => told(events).includes('node_completed'))
    await system.client.cancel(whole.task_id, 'enough')
    expect((await system.ended(whole.task_id)).at(-1)).toMatchObject({
      type: 'task_cancelled',
      data: { failure: { class: 'cancelled', message: 'enough' } },
    })
    await until('the request is closed', () =>
      system.provider.requests
        .filter((request) => agentOf(request) === 'a')
        .every(({ abandoned }) => abandoned),
    )
  })
})

describe('the actors of a daemon', () => {
  interface Told {
    readonly ok: boolean
    readonly daemons: readonly DaemonActors[]
    readonly unanswered: readonly { readonly daemon: string; readonly reason: string }[]
  }
  const actors = async (): Promise<Told & { exit: number | null }> => {
    const { exit, out } = await kept.beaver('status', '--actors', '--json')
    return { exit, ...(JSON.parse(out) as Told) }
  }
  const loop = (agent: string, node: string | null, status: string) => ({
    agent,
    node_id: node,
    status,
    attempt: 1,
    restarts: 0,
    thread: expect.any(Number) as number,
    run_id: expect.stringMatching(/^run_/) as string,
  })

  it('are its threads, its tasks, their loops and teams, as they are now', async () => {
    const agents = ['a', 'b', 'c'].map((name) => ({ name, instruction: `do ${name}` }))
    answersBy((name, { results }) => {
      if (name === 'root') return use(['ConcurrentWorkflow', { task: 't', agents }])
      if (name === 'a') return null
      return name === 'b' ? say('b says') : results.length > 0 ? say('c says') : use(['echo', { text: 'careful' }]) // prettier-ignore
    })
    const { task_id } = await system.client.submit({ task: 'work together', title: 'Three agents' })
    await system.reached(
      task_id,
      'one node ended and one asks',
      (events) => told(events).includes('node_completed') && told(events).includes('approval_requested'),
    )
    const now = await until('both loops are where they stay', async () => {
      const told = await actors()
      const task = told.daemons[0]?.tasks.find((each) => each.task_id === task_id)
      return task?.teams[0]?.loops.some(({ status }) => status === 'waiting_for_approval') && told
    })
    expect([now.exit, now.ok, now.unanswered]).toEqual([0, true, []])
    const [daemon] = now.daemons
    expect(daemon).toMatchObject({ daemon: kept.daemon.id, pid: kept.daemon.pid, thread_restarts: 0 })
    expect(daemon?.threads).toEqual([
      { thread: expect.any(Number) as number, loops: expect.any(Number) as number, answers: true },
    ])
    expect(daemon?.tasks.find((each) => each.task_id === task_id)).toEqual({
      task_id,
      session_id: expect.any(String) as string,
      title: 'Three agents',
      workflow: null,
      state: 'running',
      driven_ms: expect.any(Number) as number,
      owners_lost: { charged: 0, in_a_row: 0 },
      root: loop('root', null, 'acting'),
      teams: [
        {
          team_run_id: expect.stringMatching(/^team_/) as string,
          workflow: 'ConcurrentWorkflow',
          state: 'watching',
          nodes: 3,
          nodes_ended: 1,
          loops: [loop('a', 'a', 'thinking'), loop('c', 'c', 'waiting_for_approval')],
          loops_left_out: 0,
        },
      ],
    })
    expect(daemon?.policies.map(({ supervisor, restarts_max: max }) => [supervisor, max])).toEqual([
      ['worker_pool', 20],
      ['task', 5],
      ['task_without_progress', 100],
      ['loop', 3],
      ['loop_out_of_memory', 1],
      ['loop_suspect_tools', 16],
    ])
    const { out } = await kept.beaver('status', '--actors')
    expect(out).toMatch(/ConcurrentWorkflow  watching  1 of 3 nodes ended\n.*─ a  thinking  thread \d/)

    await system.client.cancel(task_id, 'enough')
    await system.ended(task_id)
    await until('the daemon holds nothing of it', async () =>
      (await actors()).daemons.every(({ tasks }) => tasks.every((each) => each.task_id !== task_id)),
    )
  })

  it('lack a daemon that does not answer, which is said and is no reason to wait for ever', async () => {
    const { nc, subjects } = system
    const silent = [
      nc.subscribe(subjects.presenceQuestion, {
        callback: (_, question) => {
          for (const daemon of ['daemon_old', 'daemon_silent']) question.respond(JSON.stringify({ daemon }))
        },
      }),
      nc.subscribe(subjects.servicesOf('daemon_silent', 'actors'), { callback: () => {} }),
    ]
    try {
      await nc.flush()
      const now = await actors()
      expect([now.exit, now.ok, now.daemons.map(({ daemon }) => daemon)]).toEqual([
        1,
        false,
        [kept.daemon.id],
      ])
      expect(now.unanswered).toEqual([
        { daemon: 'daemon_old', reason: 'It has ended, or its version does not know this request.' },
        { daemon: 'daemon_silent', reason: 'The daemon daemon_silent did not answer within 3 s.' },
      ])
    } finally {
      for (const each of silent) each.unsubscribe()
    }
  })
})
