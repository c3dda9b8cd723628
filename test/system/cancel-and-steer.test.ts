// A person cancels a running task or steers it with a text: each reaches the task once, wherever it stands.
// The rules are in packages/runtime/src/daemon.test.ts and task-steers.test.ts; daemons that die or do not
// have the task are in two-daemons.test.ts and daemon-crash.test.ts.
import { held, until } from '@beaver/testing'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { keptSystem, type KeptSystem } from '../support/kept-system.ts'
import { only, type TestSystem, told } from '../support/system.ts'

let kept: KeptSystem
let system: TestSystem
beforeAll(async () => {
  kept = await keptSystem()
  system = kept.system
  await kept.projector()
})
beforeEach(() => system.provider.forget())

const never = (): Promise<FakeReply> => held<FakeReply>().promise
const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'done',
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  )
const codeOf = async (promise: Promise<unknown>): Promise<string> =>
  (await refusal(promise)).split(':')[0] as string

/** How often a text stands in the last request to the model. */
const timesIn = (text: string): number =>
  JSON.stringify(system.provider.requests.at(-1)?.messages).split(text).length - 1
const asked = (): Promise<unknown> =>
  until('the model is asked', () => system.provider.requests.length === 1, { everyMs: 5 })

/** A task whose first answer waits for the test; the model then says `after`. */
async function thinking(
  after = 'done',
): Promise<{ readonly task_id: string; answer(reply: FakeReply): void }> {
  const first = held<FakeReply>()
  system.provider.answerBy(() => (system.provider.requests.length === 1 ? first.promise : say(after)))
  const { task_id } = await system.client.submit({ task: 'think' })
  await asked()
  return { task_id, answer: (reply) => first.settle(reply) }
}

describe('cancel', () => {
  it('while thinking: the request to the provider is closed, the task ends as cancelled with the reason, and what was sent is counted', async () => {
    system.provider.answerBy(never)
    const { task_id } = await system.client.submit({ task: 'think' })
    await asked()
    await system.client.cancel(task_id, '不要了')
    await until('the request is closed', () => system.provider.requests[0]?.abandoned, { everyMs: 5 })
    const events = await system.ended(task_id)
    expect(told(events).slice(-4)).toEqual([
      'task_cancel_requested',
      'provider_call_failed',
      'run_cancelled',
      'task_cancelled',
    ])
    const usage = only(events, 'run_cancelled')[0]?.data.usage
    expect(usage).toMatchObject({ output_tokens: 0, calls: 1, estimated_calls: 1 })
    expect(usage?.input_tokens).toBeGreaterThan(
      system.provider.requests[0]?.messages[0]?.content?.length ?? Infinity,
    )
    const shown = () => system.client.query('task', { task_id }).catch(() => null)
    await until('the read model has the task', async () => (await shown())?.task.status === 'cancelled')
    expect((await shown())?.task).toMatchObject({ ...usage, usage_by_model: [usage] })
    expect(events.at(-1)).toMatchObject({
      data: { final_output: '', failure: { class: 'cancelled', message: '不要了' }, usage },
    })
    expect(await codeOf(system.client.cancel(task_id, 'again'))).toBe('conflict')
    expect(await codeOf(system.client.cancel('nobody knows it', 'x'))).toBe('not_found')
    expect(system.provider.requests).toHaveLength(1)
  })

  it('while a tool runs: the tool is stopped, its call is recorded as cancelled', async () => {
    const runs = await kept.find.runs()
    system.provider.answerBy(() => use(['recount_files', {}]))
    const { task_id } = await system.client.submit({ task: 'count' })
    await until('the tool runs', async () => (await kept.find.runs()) > runs, { everyMs: 5 })
    await system.client.cancel(task_id, 'enough')
    const events = await system.ended(task_id)
    expect(only(events, 'tool_result_recorded')).toMatchObject([
      { data: { success: false, error: 'cancelled' } },
    ])
    expect(events.at(-1)?.type).toBe('task_cancelled')
    await until('the process of the tool is gone', () => !kept.find.running(), { everyMs: 10 })
  })

  it('of one node: its request is closed, what depends on it is blocked, the others go on, and the task is incomplete with what they made', async () => {
    const agents = ['a', 'b', 'c', 'd'].map((name) => ({ name, instruction: `do ${name}` }))
    const edges = [
      ['a', 'c'],
      ['b', 'd'],
    ]
    const ofRoot: string[] = []
    system.provider.answerBy(({ text }) => {
      if (text.includes('do a')) return never()
      if (text.includes('<instruction ')) return say('made by b or d')
      return ofRoot.push(text) > 1
        ? say('The team was stopped in part.')
        : use(['GraphWorkflow', { task: 't', agents, edges, output_agent: 'd', allow_disconnected: true }])
    })
    const { task_id } = await system.client.submit({ task: 'have a team do it' })
    await until('a is under way', () => system.provider.about('do a').length === 1, { everyMs: 5 })
    expect(await codeOf(system.client.cancel(task_id, 'x', { nodeId: 'nobody' }))).toBe('not_found')
    await system.reached(task_id, 'd completed', (all) =>
      only(all, 'node_completed').some((event) => event.data.node_id === 'd'),
    )
    expect(await codeOf(system.client.cancel(task_id, 'x', { nodeId: 'd' }))).toBe('conflict')
    await system.client.cancel(task_id, 'not needed', { nodeId: 'a' })
    await until(
      'its request is closed',
      () => system.provider.about('do a').every((request) => request.abandoned),
      { everyMs: 5 },
    )
    const events = await system.ended(task_id)
    expect(only(events, 'node_cancel_requested')).toMatchObject([
      { data: { node_id: 'a', reason: 'not needed' } },
    ])
    expect(only(events, 'node_cancelled').map((event) => event.data.node_id)).toEqual(['a'])
    expect(only(events, 'node_blocked')).toMatchObject([{ data: { node_id: 'c', cause_node_id: 'a' } }])
    expect(only(events, 'task_team_run_failed')).toMatchObject([{ data: { outcome: 'incomplete' } }])
    expect(events.at(-1)).toMatchObject({
      type: 'task_incomplete',
      data: { outputs: [{ node_id: 'd', output: 'made by b or d' }] },
    })
  })

  it('of a task that waits for the one before it: it ends as cancelled when its turn comes, and nobody is asked', async () => {
    const first = held<FakeReply>()
    system.provider.answerBy(({ text }) => (text === 'first' ? first.promise : say('should not be asked')))
    const before = await system.client.submit({ task: 'first', session_id: 'cancelled' })
    await asked()
    const parked = await system.client.submit({ task: 'second', session_id: 'cancelled' })
    await system.client.cancel(parked.task_id, 'enough')
    expect(told(await system.events(parked.task_id))).toEqual(['task_submitted', 'task_cancel_requested'])
    first.settle(say('done'))
    expect((await system.ended(before.task_id)).at(-1)?.type).toBe('task_completed')
    expect((await system.ended(parked.task_id)).at(-1)).toMatchObject({
      type: 'task_cancelled',
      data: { failure: { message: 'enough' } },
    })
    expect(system.provider.about('second')).toEqual([])
  })
})

describe('a text that steers a task', () => {
  it('is journaled with its author, is given after the answer that is under way, also if that would be the last, and is shown', async () => {
    const { task_id, answer } = await thinking('without drafts')
    const text = 'Leave out the drafts. 不要草稿'
    expect(await system.client.steer(task_id, text, { requestId: 'no-drafts' })).toEqual({
      task_id,
      request_id: 'no-drafts',
    })
    const steers = async () =>
      (await system.client.query('task', { task_id }).catch(() => null))?.steers ?? []
    await until('it is shown as not given', async () => (await steers())[0]?.given_taskseq === null)
    answer(say('with drafts'))
    const events = await system.ended(task_id)
    expect(only(events, 'task_steer_requested')).toMatchObject([
      { data: { request_id: 'no-drafts', text, by: 'ada' } },
    ])
    expect(told(events).slice(-6)).toEqual([
      'assistant_message_added',
      'user_message_added',
      'model_call_reserved',
      'assistant_message_added',
      'run_completed',
      'task_completed',
    ])
    expect(only(events, 'task_completed')[0]?.data.final_output).toBe('without drafts')
    expect(timesIn(text)).toBe(1)

    const given = events.findLast(({ type }) => type === 'user_message_added')?.taskseq
    await until('it is shown as given', async () => (await steers())[0]?.given_taskseq === given)
    const [requested] = only(events, 'task_steer_requested')
    expect(await steers()).toMatchObject([
      { text, text_chars: text.length, by: 'ada', user_id: null, taskseq: requested?.taskseq },
    ])
    const { events: items } = await system.client.query('timeline', { task_id })
    expect(items.map((item) => item.text).filter((each) => each.includes(text))).toEqual([
      `Task is steered by ada: ${text}`,
      `Root agent was told: ${text}`,
    ])
  })

  it('is given after the results of the calls that are open', async () => {
    const { task_id, answer } = await thinking()
    await system.client.steer(task_id, 'Faster.')
    answer(use(['echo', { text: 'a' }], ['echo', { text: 'b' }]))
    await system.ended(task_id)
    expect(system.provider.requests.at(-1)?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'user',
    ])
  })

  it('is journaled once under its id, and its id cannot be used for another text', async () => {
    const { task_id, answer } = await thinking()
    const steer = (text: string): Promise<unknown> => system.client.steer(task_id, text, { requestId: 'r1' })
    await Promise.all(Array.from({ length: 30 }, () => steer('Faster.')))
    expect(await refusal(steer('Slower.'))).toBe(
      `conflict: The request r1 steers the task ${task_id} already, with another text. Use another request_id.`,
    )
    answer(say('x'))
    const events = await system.ended(task_id)
    expect(only(events, 'task_steer_requested')).toHaveLength(1)
    expect(await refusal(steer('Faster.'))).toBe('done')
    expect(await refusal(system.client.steer(task_id, 'Faster.'))).toBe(
      `conflict: The task ${task_id} has ended already: completed.`,
    )
    expect(timesIn('Faster.')).toBe(1)
  })

  it('has a bounded length, and a task takes a bounded number of them', async () => {
    const { task_id, answer } = await thinking()
    for (const text of ['', ' \n', 'x'.repeat(10_001)])
      expect(await codeOf(system.client.steer(task_id, text))).toBe('invalid_arguments')
    const codes = await Promise.all(
      Array.from({ length: 130 }, (_, i) => codeOf(system.client.steer(task_id, `text ${i}`))),
    )
    expect(codes.filter((code) => code === 'done')).toHaveLength(100)
    expect(codes.filter((code) => code === 'conflict')).toHaveLength(30)
    answer(say('x'))
    const events = await system.ended(task_id)
    expect(only(events, 'user_message_added')).toHaveLength(101)
    expect(system.provider.requests).toHaveLength(2)
  })

  it('is refused for what is not there, is being cancelled, or has no root agent', async () => {
    system.provider.answerBy(never)
    expect(await codeOf(system.client.steer('nobody knows it', 'x'))).toBe('not_found')
    const workflow = {
      name: 'ConcurrentWorkflow',
      arguments: { task: 't', agents: [{ name: 'a', instruction: 'do it' }] },
    }
    const { task_id } = await system.client.submit({ workflow })
    expect(await refusal(system.client.steer(task_id, 'x'))).toBe(
      `conflict: The task ${task_id} is the workflow ConcurrentWorkflow. It has no root agent that could be steered.`,
    )
    await system.client.cancel(task_id, 'enough')
    await system.ended(task_id)
    expect(only(await system.events(task_id), 'task_steer_requested')).toEqual([])
  })

  it('of a task that waits for the one before it is given with its first request', async () => {
    const first = held<FakeReply>()
    system.provider.answerBy(({ text }) => (text === 'first' ? first.promise : say('done')))
    await system.client.submit({ task: 'first', session_id: 'steered' })
    await asked()
    const { task_id } = await system.client.submit({ task: 'second', session_id: 'steered' })
    await system.client.steer(task_id, 'Faster.')
    first.settle(say('done'))
    const events = await system.ended(task_id)
    expect(told(events).slice(0, 3)).toEqual(['task_submitted', 'task_steer_requested', 'task_claimed'])
    expect(only(events, 'assistant_message_added')).toHaveLength(1)
    expect(timesIn('Faster.')).toBe(1)
  })

  it('of a task that waits for an approval leaves it waiting without a daemon, and is given after the decision', async () => {
    system.provider.answerBy(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? say('done') : use(['echo', { text: 'careful' }]),
    )
    const { task_id } = await system.client.submit({ task: 'echo' })
    await system.reached(task_id, 'it is suspended', (all) => only(all, 'task_suspended').length === 1)
    await system.client.steer(task_id, 'Faster.')
    expect(told(await system.events(task_id)).slice(-2)).toEqual(['task_suspended', 'task_steer_requested'])
    const [waits] = only(await system.events(task_id), 'approval_requested')
    await system.client.decide(task_id, { callId: waits?.data.call_id ?? '', approved: true })
    const events = await system.ended(task_id)
    expect([only(events, 'task_claimed').length, only(events, 'task_suspended').length]).toEqual([2, 1])
    expect(system.provider.requests.at(-1)?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'user',
    ])
    expect(timesIn('Faster.')).toBe(1)
  })

  it('is kept by a retry', async () => {
    const { task_id, answer } = await thinking()
    await system.client.steer(task_id, 'Faster.')
    system.provider.answerBy(() => say(''))
    answer(say(''))
    expect((await system.ended(task_id)).at(-1)?.type).toBe('task_failed')
    system.provider.answerBy(() => say('done'))
    const retried = await system.client.retry(task_id)
    await system.ended(retried.task_id)
    expect(timesIn('Faster.')).toBe(1)
  })
})
