// Tasks that only wait hold nothing of a daemon (D-64), and the clocks of teams stop for people (D-63).
import { type ChatAnswer, type ChatProvider, defineTool, ProviderError } from '@beaver/agent'
import { event, logKey } from '@beaver/core'
import { until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { leaseMs, typesOf, world, type World } from '../test/kit.ts'

const answer = (text: string, toolCalls: ChatAnswer['toolCalls'] = []): ChatAnswer => ({
  content: text,
  toolCalls,
  finishReason: toolCalls.length > 0 ? 'tool_calls' : 'stop',
  usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
  model: 'm',
  responseId: null,
})
const remove = defineTool({
  name: 'remove',
  description: 'Removes.',
  input: z.strictObject({}),
  permission: 'ask',
  run: () => 'removed',
})
/** Calls the tool that asks for an approval, then says so; anything else it answers at once. */
const asksFirst: ChatProvider = {
  name: 'p',
  model: 'm',
  async chat({ messages }) {
    if (messages.some((message) => message.role === 'tool')) return answer('done')
    return messages.some((message) => message.content === 'quick')
      ? answer('quick')
      : answer('', [{ id: 'c1', name: 'remove', arguments: '{}' }])
  },
}

const waitsFor = async (
  { events }: Pick<World, 'events'>,
  log: Parameters<World['events']>[0],
): Promise<boolean> => (await events(log)).at(-1)?.type === 'task_suspended'

/** Calls the tool of the client, then says what it got. */
const asksClient: ChatProvider = {
  name: 'p',
  model: 'm',
  async chat({ messages }) {
    const result = messages.find((message) => message.role === 'tool')
    return result === undefined
      ? answer('', [{ id: 'c1', name: 'colour', arguments: '{}' }])
      : answer(`It is ${result.content}.`)
  },
}
const client_tools = [{ name: 'colour' }]

describe('a task that waits for its client', () => {
  const said = (content: string) =>
    event('client_call_answered', { call_id: 'c1', content, by: 'web' }, 'run1')
  const runOf = async ({ events }: Pick<World, 'events'>, log: Parameters<World['events']>[0]) =>
    (await events(log)).find(({ type }) => type === 'run_started')?.runId

  it('is let go of, and goes on with the answer, wherever it was written', async () => {
    const { daemon, submit, ended, passing, journal, clock, write, ...rest } = world()
    const one = daemon({ provider: asksClient })
    const log = await submit({ client_tools })
    await passing('it is suspended', () => waitsFor(rest, log), 250)
    expect(one.tasks.size).toBe(0)
    expect((await rest.events(log)).at(-1)?.data).toMatchObject({
      waits_for: 'client',
      reason: 'One call waits for the client.',
    })
    await write(log, { ...said('blue'), runId: await runOf(rest, log) } as ReturnType<typeof said>)
    await journal.queue({ leaseMs, clock }).wake(log)
    const all = await ended(log)
    expect(all.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'It is blue.' } })
    expect(typesOf(all).filter((type) => type === 'client_call_requested')).toHaveLength(1)
    expect(typesOf(all).filter((type) => type === 'assistant_message_added')).toHaveLength(2)
  })

  it('is answered at the daemon that drives it', async () => {
    const { daemon, submit, ended, ...rest } = world()
    const one = daemon({ provider: asksClient })
    const log = await submit({ client_tools, at: one })
    await until('it waits', async () => typesOf(await rest.events(log)).includes('client_call_requested'))
    await one.tasks
      .get(logKey(log))
      ?.answerForClient({ answers: [{ callId: 'c1', content: 'red' }], by: 'web' })
    expect((await ended(log)).at(-1)).toMatchObject({ data: { final_output: 'It is red.' } })
  })

  it('is cancelled by its alarm when the client never answers, and no model is asked again', async () => {
    const { daemon, submit, ended } = world()
    daemon({ provider: asksClient, limits: { approvalWaitMsMax: 60_000 } })
    const all = await ended(await submit({ client_tools }))
    expect(all.at(-1)?.type).toBe('task_cancelled')
    expect(all.find(({ type }) => type === 'task_cancel_requested')?.data).toMatchObject({
      reason: 'Its client did not answer within 60 s.',
    })
    expect(typesOf(all).filter((type) => type === 'assistant_message_added')).toHaveLength(1)
  })

  it('keeps the answer that came before its daemon died, and asks no client again', async () => {
    const { daemon, submit, ended, ...rest } = world()
    const one = daemon({ provider: asksClient, id: 'first' })
    const log = await submit({ client_tools, at: one })
    await until('it waits', async () => typesOf(await rest.events(log)).includes('client_call_requested'))
    one.kill()
    daemon({ provider: asksClient, id: 'second' })
    const again = rest.passing
    await again(
      'the second waits',
      async () =>
        (await rest.events(log)).filter(({ type }) => type === 'task_claimed').length > 1 ||
        waitsFor(rest, log),
      250,
    )
    await rest.write(log, { ...said('blue'), runId: await runOf(rest, log) } as ReturnType<typeof said>)
    await rest.journal.queue({ leaseMs, clock: rest.clock }).wake(log)
    const all = await ended(log)
    expect(all.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'It is blue.' } })
    expect(typesOf(all).filter((type) => type === 'client_call_requested')).toHaveLength(1)
  })
})

describe('a task that waits for a person', () => {
  it('is let go of: many more than there is room for wait, and another one runs beside them', async () => {
    const { daemon, submit, ended, passing, ...rest } = world()
    const one = daemon({ provider: asksFirst, tools: [remove], tasksMax: 2 })
    const waiting = []
    for (let i = 0; i < 8; i++) waiting.push(await submit({ text: 'remove it' }))
    for (const log of waiting) await passing('it is suspended', () => waitsFor(rest, log), 250)
    expect(one.tasks.size).toBe(0)
    const quick = await submit({ text: 'quick', at: one })
    expect((await ended(quick)).at(-1)?.type).toBe('task_completed')
    const [first] = waiting as [Parameters<World['events']>[0]]
    expect((await rest.events(first)).at(-1)?.data).toMatchObject({
      waits_for: 'person',
      reason: 'One call waits for a person.',
    })
  })

  it('goes on when it was decided, wherever the decision was written', async () => {
    const { daemon, submit, ended, passing, journal, clock, decide, ...rest } = world()
    daemon({ provider: asksFirst, tools: [remove], id: 'first' })
    const log = await submit({ text: 'remove it' })
    await passing('it is suspended', () => waitsFor(rest, log), 250)
    await decide(log, 'c1', true)
    await journal.queue({ leaseMs, clock }).wake(log)
    const all = await ended(log)
    expect(all.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'done' } })
    expect(typesOf(all).filter((type) => type === 'task_claimed')).toHaveLength(2)
    expect(typesOf(all).filter((type) => type === 'assistant_message_added')).toHaveLength(2)
  })

  it('goes on when it is decided by its own daemon at the moment in which it is suspended', async () => {
    const { daemon, submit, ended, journal, ...rest } = world()
    const { queue } = journal
    let decided: Promise<unknown> | null = null
    journal.queue = (of) => {
      const tasks = queue(of)
      return {
        ...tasks,
        async wakeIn(log, delayMs) {
          await tasks.wakeIn(log, delayMs)
          decided ??=
            one.tasks.get(logKey(log))?.decide({ callId: 'c1', approved: true, by: 'ann', reason: '' }) ??
            null
          await decided
        },
      }
    }
    const one = daemon({ provider: asksFirst, tools: [remove] })
    const log = await submit({ text: 'remove it' })
    const all = await ended(log)
    expect(decided).not.toBeNull()
    expect(typesOf(await rest.events(log))).toContain('task_released')
    expect(all.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'done' } })
  })

  it('is let go of although its log could not be read at first: its claim is not lost by that', async () => {
    const { daemon, submit, passing, journal, ...rest } = world()
    const { last } = journal
    let failing = 0
    journal.last = (of) => (failing-- > 0 ? Promise.reject(new Error('nobody answers')) : last(of))
    daemon({ provider: asksFirst, tools: [remove] })
    const log = await submit({ text: 'remove it' })
    await until('it asks', async () => typesOf(await rest.events(log)).includes('approval_requested'))
    failing = 2
    await passing('the reads fail', () => failing <= 0, 250)
    await passing('it is suspended', () => waitsFor(rest, log), 250)
    expect(typesOf(await rest.events(log)).filter((type) => type === 'task_claimed')).toHaveLength(1)
  })

  it('is refused in the end by its alarm, when nobody answers', async () => {
    const { daemon, submit, ended } = world()
    daemon({ provider: asksFirst, tools: [remove], limits: { approvalWaitMsMax: 60_000 } })
    const all = await ended(await submit({ text: 'remove it' }))
    expect(all.find((event) => event.type === 'approval_denied')?.data).toMatchObject({
      reason: 'Nobody answered within 60 s.',
    })
    expect(typesOf(all)).toContain('task_suspended')
    expect(all.at(-1)?.type).toBe('task_completed')
  })

  it('loses no owner by waiting: any number of waits and wakes gives it up never', async () => {
    const { daemon, submit, passing, journal, clock, ...rest } = world()
    daemon({ provider: asksFirst, tools: [remove], limits: { ownersLostMax: 1 } })
    const log = await submit({ text: 'remove it' })
    for (let i = 0; i < 5; i++) {
      await passing('it is suspended', () => waitsFor(rest, log), 250)
      await rest.write(log, event('task_released', { daemon: 'other', reason: 'Somebody wrote.' }))
      await journal.queue({ leaseMs, clock }).wake(log)
      await passing('it is claimed again', async () => !(await waitsFor(rest, log)), 50)
    }
    expect(typesOf(await rest.events(log))).not.toContain('task_dead_lettered')
  })
})

describe('a task whose provider wants to be left alone', () => {
  it('is let go of until then, and asks again at its time', async () => {
    const { daemon, submit, ended, clock } = world()
    const asked: number[] = []
    const busy: ChatProvider = {
      name: 'p',
      model: 'm',
      async chat() {
        asked.push(clock.now())
        if (asked.length === 1)
          throw new ProviderError('rate_limited', 'Slow down.', { status: 429, retryAfterMs: 20_000 })
        return answer('at last')
      },
    }
    daemon({ provider: busy })
    const all = await ended(await submit())
    expect(all.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'at last' } })
    expect(all.find((event) => event.type === 'task_suspended')?.data).toMatchObject({
      waits_for: 'limit',
      reason: 'Slow down.',
    })
    expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeGreaterThanOrEqual(20_000)
    expect((asked[1] ?? 0) - (asked[0] ?? 0)).toBeLessThan(23_000)
  })
})

describe('a task that follows another', () => {
  it('holds no room: with room for one, sixty sessions of four tasks are done', async () => {
    const { daemon, submit, ended } = world()
    const one = daemon({ provider: { name: 'p', model: 'm', chat: async () => answer('x') }, tasksMax: 1 })
    const logs = []
    for (let session = 0; session < 60; session++)
      for (let task = 0; task < 4; task++) logs.push(await submit({ session_id: `s${session}` }))
    for (const log of logs) expect((await ended(log)).at(-1)?.type).toBe('task_completed')
    await until('nothing is held', () => one.tasks.size === 0)
  })
})

describe('the deadline of a node', () => {
  it('stops while a call of it waits for a person, whoever drives the task then', async () => {
    const { daemon, submit, ended, passing, decide, journal, clock, ...rest } = world()
    const team = {
      id: 't1',
      name: 'ConcurrentWorkflow',
      arguments: JSON.stringify({ task: 't', agents: [{ name: 'a', instruction: 'remove it' }] }),
    }
    const provider: ChatProvider = {
      name: 'p',
      model: 'm',
      async chat({ messages }) {
        const isNode = messages.some(
          (message) => message.role === 'user' && (message.content ?? '').includes('<instruction '),
        )
        if (messages.some((message) => message.role === 'tool')) return answer('done')
        return isNode ? answer('', [{ id: 'c1', name: 'remove', arguments: '{}' }]) : answer('', [team])
      },
    }
    daemon({ provider, tools: [remove], limits: { nodeDeadlineMs: 10_000, teamDeadlineMs: 12_000 } })
    const log = await submit()
    await passing('it is suspended', () => waitsFor(rest, log), 250)
    clock.advance(3_600_000)
    await decide(log, 'c1', true)
    await journal.queue({ leaseMs, clock }).wake(log)
    expect((await ended(log)).at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: 'done' },
    })
  })
})

describe('a stalled owner whose provider wanted a pause', () => {
  it('asks no model when it goes on: the task belongs to another one', async () => {
    const { daemon, submit, ended, passing, events } = world()
    let asked = 0
    const busy: ChatProvider = {
      name: 'p',
      model: 'm',
      async chat() {
        asked++
        throw new ProviderError('provider_unavailable', 'Away.', { status: 503 })
      },
    }
    const first = daemon({ provider: busy, id: 'first' })
    const log = await submit()
    await until('it waits before it asks again', async () =>
      typesOf(await events(log)).includes('provider_call_failed'),
    )
    first.stall()
    daemon({ provider: { name: 'p', model: 'm', chat: async () => answer('42') }, id: 'second' })
    await ended(log)
    first.goOn()
    await passing('the first lets go', () => first.tasks.size === 0)
    expect(asked).toBe(1)
    expect(typesOf(await events(log)).filter((type) => type === 'assistant_message_added')).toHaveLength(1)
  })
})
