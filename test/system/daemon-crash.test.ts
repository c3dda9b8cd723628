// kill -9, SIGSTOP and SIGCONT of daemons that drive tasks of every kind: the next daemon goes on from the
// journal, and asks for nothing it has. The rules for every order of events are in
// packages/runtime/src/daemon.test.ts and in the simulation.
import { AgentTeam, clientOn, type TaskOutcome } from '@beaver/client'
import { foldTask } from '@beaver/core/fold'
import type { RecordedEvent } from '@beaver/core/journal'
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DaemonProcess } from '../support/daemon.ts'
import { type FakeReply, say, type SeenRequest, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { type SlowFind, slowFind } from '../support/slow-find.ts'
import { only, testSystem, type TestSystem, told } from '../support/system.ts'

let server: TestServer
let system: TestSystem
let find: SlowFind
let first: DaemonProcess
let second: DaemonProcess
/** Tasks that were under way when the first daemon was killed, by their texts. */
const tasks = new Map<string, string>()
let ran: Promise<TaskOutcome>
let accepted: readonly number[]

const never = (): Promise<FakeReply> => held<FakeReply>().promise
const agentOf = ({ messages }: SeenRequest): string =>
  /^- agent: (.+)$/m.exec(messages[0]?.content ?? '')?.[1] ?? ''
const agents = ['a', 'b', 'c'].map((name) => ({ name, instruction: `do ${name}` }))
const plan = { plan: [{ member: 'worker', task: 'first' }, { member: 'checker', task: 'second', depends_on: ['worker'] }] } // prettier-ignore
const callOnce: Record<string, FakeReply> = {
  count: use(['recount_files', {}]),
  'have a team do it': use(['ConcurrentWorkflow', { task: 'the whole', agents }]),
  'say it': use(['echo', { text: 'careful' }]),
  'ask me': use(['ask_user', { question: 'Which branch?', options: ['main', 'next'] }]),
  'remember this': use(['memory', { action: 'add', target: 'user', content: 'prefers tables, 中文也行' }]),
}

/**
 * What a model says while the first daemon lives (`waiting`: what the test waits for does not come), and
 * then.
 */
const answers =
  (waiting: boolean) =>
  (request: SeenRequest): FakeReply | Promise<FakeReply> => {
    const { text, results } = request
    const name = agentOf(request)
    const late = (reply: FakeReply): FakeReply | Promise<FakeReply> => (waiting ? never() : reply)
    if (name === 'Coordinator')
      return say(
        system.provider.requests.filter((each) => agentOf(each) === name).length === 1
          ? JSON.stringify(plan)
          : 'in all',
      )
    if (name === 'worker') return late(say('worked'))
    if (name === 'checker') return say('checked')
    if (text.includes('<instruction '))
      return text.includes('do c')
        ? late(say('result of c'))
        : say(`result of ${text.includes('do a') ? 'a' : 'b'}`)
    if (text === 'cancelled') return never()
    const call = callOnce[text]
    if (call !== undefined) return results.length === 0 ? call : say(`So: ${results.at(-1) ?? ''}`)
    return late(say('42'))
  }

async function submitted(task: string, more: object = {}): Promise<void> {
  tasks.set(task, (await system.client.submit({ task, ...more })).task_id)
}
const asked = (text: string): Promise<unknown> =>
  until(`the model is asked: ${text}`, () => system.provider.about(text).length > 0, { everyMs: 5 })
const idOf = (task: string): string => tasks.get(task) ?? ''

/** How many tasks were ever accepted. */
async function acceptances(): Promise<number> {
  const info = await system.nc.request(
    `$JS.API.STREAM.INFO.${system.subjects.stream}`,
    JSON.stringify({ subjects_filter: system.subjects.acceptances }),
  )
  const { state } = info.json<{ state: { subjects?: Record<string, number> } }>()
  return Object.values(state.subjects ?? {}).reduce((sum, messages) => sum + messages, 0)
}

beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, {
    permissions: { rules: [{ tool: 'echo', pattern: '*careful*', decision: 'ask' }] },
  })
  find = await slowFind(system.workspace)
  first = await system.daemon(find.env)
  system.provider.answerBy(answers(true))
  await submitted('remember this', { session_id: 'one' })
  await system.ended(idOf('remember this'))
  for (const task of ['think', 'steered', 'cancelled', 'count', 'have a team do it', 'say it', 'ask me'])
    await submitted(task)
  const team = new AgentTeam(system.client, { members: ['worker', 'checker'] }).task('Do it.')
  tasks.set('grow', (await system.client.submit(team)).task_id)
  const client = clientOn(system.nc, system.subjects, { daemonMs: 60_000, askAgainMs: 300 })
  ran = client.run({ task: 'wait for it' })
  for (const task of ['think', 'steered', 'cancelled', 'wait for it', 'do c']) await asked(task)
  await until(
    'a member of the team is asked',
    () => system.provider.requests.some((each) => agentOf(each) === 'worker'),
    { everyMs: 5 },
  )
  await until('the tool runs', async () => (await find.runs()) >= 1, { everyMs: 10 })
  await system.reached(
    idOf('have a team do it'),
    'two nodes are complete',
    (all) => only(all, 'node_completed').length === 2,
  )
  await system.reached(idOf('say it'), 'a call waits', (all) => told(all).includes('approval_requested'))
  await system.reached(idOf('ask me'), 'a question waits', (all) => told(all).includes('question_asked'))
  await system.client.steer(idOf('steered'), 'Faster.')
  // The daemon has the request and cannot answer it any more.
  first.kill('SIGSTOP')
  const cancelled = client.cancel(idOf('cancelled'), 'no longer needed')
  await system.nc.flush()
  const before = await acceptances()
  await system.kill(first)
  system.provider.answerBy(answers(false))
  second = await system.daemon(find.env)
  await cancelled
  await ran
  accepted = [before, await acceptances()]
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** What holds of every task that was taken over. */
function expectTakenOver(events: readonly RecordedEvent[]): void {
  const claims = only(events, 'task_claimed')
  // A task that waits for a person may be let go of by its daemon, which claims it again.
  expect(claims.map((claim) => claim.epoch)).toEqual(claims.map((_, i) => i + 1))
  expect([...new Set(claims.map((claim) => claim.data.daemon))]).toEqual([first.id, second.id])
  // It got on before its first daemon died.
  expect(foldTask(events).ownersLost).toBeLessThan(2)
  expect(
    told(events).filter((type) => /^task_(completed|incomplete|failed|cancelled)$/.test(type)),
  ).toHaveLength(1)
}

describe('kill -9 of a daemon', () => {
  it('while an answer of the provider is on its way: it is asked for again, and the task completes', async () => {
    const events = await system.ended(idOf('think'))
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: '42' } })
    expectTakenOver(events)
    expect(system.provider.about('think')).toHaveLength(2)
    expect(only(events, 'assistant_message_added')).toHaveLength(1)
  })

  it('while a client waits for the result: the client has it from the next daemon, and the task is one task', async () => {
    const { status, final_output, task_id, session_id } = await ran
    expect([status, final_output]).toEqual(['completed', '42'])
    expect([task_id.slice(0, 5), session_id]).toEqual(['task_', task_id])
    expectTakenOver(await system.events(task_id))
    expect(accepted[1]).toBe(accepted[0])
  })

  it('while an idempotent tool runs: it is run again, and its answer is not asked for again', async () => {
    await until('the tool runs again', async () => (await find.runs()) >= 2, { everyMs: 10 })
    await find.open()
    const events = await system.ended(idOf('count'))
    expect(events.at(-1)?.type).toBe('task_completed')
    expectTakenOver(events)
    expect(system.provider.about('count')).toHaveLength(2)
    expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { success: true } }])
    expect(only(events, 'tool_call_started')).toHaveLength(1)
  })

  it('while a team runs: nodes that completed are not run again, and those under way go on', async () => {
    const events = await system.ended(idOf('have a team do it'))
    // A call that was under way when its daemon died counts, because it may have been made.
    const calls = only(events, 'assistant_message_added').length + only(events, 'model_call_lost').length
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { usage: { calls } } })
    const result = JSON.parse(only(events, 'tool_result_recorded').at(-1)?.data.content as string) as {
      outcome: string
      final_output: string
    }
    expect(result.outcome).toBe('complete')
    for (const name of ['a', 'b', 'c']) expect(result.final_output).toContain(`result of ${name}`)
    expectTakenOver(events)
    expect(
      told(events).filter((type) => type === 'node_started' || type === 'task_team_run_started'),
    ).toHaveLength(4)
    expect(['do a', 'do b', 'do c'].map((text) => system.provider.about(text).length)).toEqual([1, 1, 2])
  })

  it('while a team grows: it grows the same graph, and nobody who answered is asked again', async () => {
    const events = await system.ended(idOf('grow'))
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'in all' } })
    expectTakenOver(events)
    expect([only(events, 'graph_extended').length, only(events, 'task_team_run_started').length]).toEqual([
      1, 1,
    ])
    expect(only(events, 'node_started').map(({ data }) => data.node_id)).toEqual([
      'Coordinator #plan',
      'worker #1',
      'checker #2',
      'Coordinator #synthesis',
    ])
    const times = (name: string): number =>
      system.provider.requests.filter((each) => agentOf(each) === name).length
    expect([times('Coordinator'), times('worker'), times('checker')]).toEqual([2, 2, 1])
  })

  it('while a call waits for a person: it is not asked for again, and runs once, with the arguments that the person gives it', async () => {
    await system.client.decide(idOf('say it'), {
      callId: 'call_0',
      approved: true,
      arguments: '{"text":"very careful"}',
    })
    const events = await system.ended(idOf('say it'))
    expectTakenOver(events)
    expect(told(events).filter((type) => /approval|tool_/.test(type))).toEqual([
      'approval_requested',
      'approval_granted',
      'tool_call_started',
      'tool_result_recorded',
    ])
    expect(only(events, 'approval_granted')[0]?.data.arguments).toBe('{"text":"very careful"}')
    expect(events.at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: expect.stringMatching(/\n\{"text":"very careful"\}$/) as string },
    })
    expect(system.provider.about('say it')).toHaveLength(2)
  })

  it('while a question waits for a person: its answer completes the task on the next daemon', async () => {
    await system.client.answer(idOf('ask me'), {
      callId: 'call_0',
      answer: { action: 'accept', answers: ['next'] },
    })
    const events = await system.ended(idOf('ask me'))
    expectTakenOver(events)
    expect(only(events, 'question_asked')).toHaveLength(1)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'So: next' } })
    expect(system.provider.about('ask me')).toHaveLength(2)
  })

  it('before it uses a text that steers a task: the next daemon gives the text once', async () => {
    const events = await system.ended(idOf('steered'))
    expectTakenOver(events)
    expect(only(events, 'user_message_added').filter(({ data }) => data.content === 'Faster.')).toHaveLength(
      1,
    )
    expect(JSON.stringify(system.provider.about('Faster.').at(-1)?.messages).split('Faster.')).toHaveLength(2)
  })

  it('that has just received a cancel: the client asks again, and the cancel is journaled', async () => {
    const events = await system.ended(idOf('cancelled'))
    expect(only(events, 'task_cancel_requested')).toMatchObject([{ data: { reason: 'no longer needed' } }])
    expect(events.at(-1)?.type).toBe('task_cancelled')
  })

  it('keeps what an agent remembered for later runs of any session; the run that changed it kept its prompt', async () => {
    const promptOf = (request?: SeenRequest): string =>
      request?.messages.find(({ role }) => role === 'system')?.content ?? ''
    const events = await system.events(idOf('remember this'))
    expect(JSON.parse(only(events, 'tool_result_recorded')[0]?.data.content ?? '')).toEqual({
      target: 'user',
      changed: true,
      entries: ['prefers tables, 中文也行'],
      chars_used: 20,
      chars_max: 2_000,
    })
    const prompts = system.provider.about('remember this').map(promptOf)
    expect([prompts.length, prompts[1] === prompts[0], prompts[0]?.includes('prefers tables')]).toEqual([
      2,
      true,
      false,
    ])
    await system.client.run({ task: 'another day', session_id: 'two' })
    expect(promptOf(system.provider.about('another day')[0])).toContain('prefers tables, 中文也行')
  })
})

describe('a stalled owner', () => {
  it('loses its tasks with their leases, and writes nothing more when it goes on: neither a root nor the nodes of a team', async () => {
    system.provider.forget()
    const [late, good] = [held<FakeReply>(), held<FakeReply>()]
    const team = ['v', 'w', 'x', 'y'].map((name) => ({ name, instruction: `do ${name}` }))
    const seen = { roots: 0, nodes: 0 }
    system.provider.answerBy(({ text, results }) => {
      if (text === 'think on') return ++seen.roots === 1 ? late.promise : good.promise
      if (text.includes('<instruction ')) return ++seen.nodes <= 4 ? late.promise : say('of the owner')
      return results.length === 0
        ? use(['ConcurrentWorkflow', { task: 'the whole', agents: team }])
        : say('as the team says')
    })
    const stalled = second
    const [alone, together] = [
      await system.client.submit({ task: 'think on' }),
      await system.client.submit({ task: 'work together' }),
    ]
    await until('all are under way', () => seen.roots === 1 && seen.nodes === 4, { everyMs: 5 })
    stalled.kill('SIGSTOP')
    const third = await system.daemon()
    for (const { task_id } of [alone, together])
      await system.reached(
        task_id,
        'the other one has claimed it',
        (all) => only(all, 'task_claimed').length === 2,
      )
    await until('the other one asks the provider', () => seen.roots === 2, { everyMs: 5 })
    late.settle(say('of the stalled one'))
    stalled.kill('SIGCONT')
    await until('the stalled one has let go', async () => (await tasksOf(stalled)) === 0, { everyMs: 20 })
    good.settle(say('of the owner'))
    const logs = [await system.ended(alone.task_id), await system.ended(together.task_id)]
    for (const events of logs) {
      const claims = only(events, 'task_claimed')
      expect(claims.map((claim) => [claim.data.daemon, claim.epoch])).toEqual([
        [stalled.id, 1],
        [third.id, 2],
      ])
      expect(told(events).at(-1)).toBe('task_completed')
      expect(
        events.filter((event) => event.epoch === 1 && event.taskseq > (claims[1]?.taskseq ?? 0)),
      ).toEqual([])
      expect(only(events, 'assistant_message_added').map(({ data }) => data.content)).not.toContain(
        'of the stalled one',
      )
    }
    expect(
      only(logs[0] ?? [], 'assistant_message_added').map((event) => [event.data.content, event.epoch]),
    ).toEqual([['of the owner', 2]])
    expect(only(logs[1] ?? [], 'task_team_run_started')).toHaveLength(1)
    const completed = only(logs[1] ?? [], 'node_completed').map(({ data }) => data.node_id)
    expect(completed.toSorted()).toEqual(['v', 'w', 'x', 'y'])

    // It goes on with other work.
    await system.kill(third)
    system.provider.answerBy(() => say('done'))
    const { task_id } = await system.client.run({ task: 'other' })
    expect(only(await system.events(task_id), 'task_claimed')[0]?.data.daemon).toBe(stalled.id)
  })
})

/** How many tasks a daemon holds. `null`: another one answered. */
async function tasksOf(daemon: DaemonProcess): Promise<number | null> {
  const message = await system.nc
    .request(system.subjects.service('status'), '', { timeout: 2_000 })
    .catch(() => null)
  const { result } = message?.json<{ result: { daemon: string; tasks: number } }>() ?? { result: null }
  return result?.daemon === daemon.id ? result.tasks : null
}
