// Teams that are tasks of their own (AgentTeam, workflows without a root agent) through a real daemon and
// worker threads. A team whose daemon dies is in daemon-crash.test.ts.
import { AgentTeam } from '@beaver/client'
import type { TeamStreamEvent } from '@beaver/team-patterns'
import { until } from '@beaver/testing'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type FakeReply, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { keptSystem } from '../support/kept-system.ts'
import { only, type TestSystem, told } from '../support/system.ts'

let system: TestSystem
beforeAll(async () => void ({ system } = await keptSystem()))
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
    expect(() => new AgentTeam(system.client, { strategy: 'voting', members: ['a'] })).toThrow(/"strategy"/)
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
