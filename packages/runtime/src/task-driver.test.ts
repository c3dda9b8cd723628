import { type ChatAnswer, type ChatProvider, defineTool } from '@beaver/agent'
import { event } from '@beaver/core'
import { foldTask } from '@beaver/core/fold'
import { draft } from '@beaver/core/journal'
import { calls, held, says, scriptedProvider, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { cancelRequested, leaseMs, typesOf, world } from '../test/kit.ts'
import { TaskLog } from './task-log.ts'

const oneAnswer = () => scriptedProvider([says('42')])
const answers = (text: string): ChatAnswer => ({
  content: text,
  toolCalls: [],
  finishReason: 'stop',
  usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
  model: 'm',
  responseId: null,
})
const team = calls([
  'ConcurrentWorkflow',
  {
    task: 't',
    agents: [
      { name: 'a', instruction: 'do a' },
      { name: 'b', instruction: 'do b' },
    ],
  },
])

describe('a task', () => {
  it('is claimed, run and ended; the claim is one entry with the first events of its root', async () => {
    const { daemon, submit, ended, journal } = world()
    daemon({ provider: oneAnswer() })
    const log = await submit()
    const events = await ended(log)
    expect(typesOf(events)).toEqual([
      'task_submitted',
      'task_claimed',
      'run_started',
      'system_prompt_snapshotted',
      'user_message_added',
      'assistant_message_added',
      'run_completed',
      'task_completed',
    ])
    expect(events.map((event) => event.epoch)).toEqual([0, 1, 1, 1, 1, 1, 1, 1])
    expect(await journal.read(log)).toHaveLength(3)
  })

  it('has ended when its end stands in the journal: the thread of its root is not waited for', async () => {
    const { daemon, submit, passing, ended } = world()
    const one = daemon({ provider: oneAnswer() })
    const { start } = one.pool
    one.pool.start = (spec, host) => ({ ...start(spec, host), outcome: new Promise(() => {}) })
    const log = await submit()
    await passing('it is let go', async () => (await ended(log)).length > 0 && one.tasks.size === 0)
  })

  it('with an empty answer fails: no silent success', async () => {
    const { daemon, submit, ended } = world()
    daemon({ provider: scriptedProvider([says('  ')]) })
    expect((await ended(await submit())).at(-1)).toMatchObject({
      type: 'task_failed',
      data: { failure: { class: 'empty_output' }, final_output: '' },
    })
  })

  it('of a dead owner is taken up by another after the lease; what was answered is not asked again', async () => {
    const { daemon, submit, ended, passing, events } = world()
    const slow = defineTool({
      name: 'slow',
      description: 'Slow.',
      input: z.strictObject({}),
      idempotent: true,
      run: () => new Promise<string>(() => {}),
    })
    const fast = defineTool({
      name: 'slow',
      description: 'Slow.',
      input: z.strictObject({}),
      idempotent: true,
      run: () => 'at last',
    })
    const first = daemon({ provider: scriptedProvider([calls(['slow', {}])]), tools: [slow] })
    const log = await submit()
    await passing('the tool runs', async () =>
      (await events(log)).some((event) => event.type === 'tool_call_started'),
    )
    first.kill()
    const second = daemon({ provider: scriptedProvider([says('done')]), tools: [fast] })
    const all = await ended(log)
    expect(
      all.flatMap((event) => (event.type === 'task_claimed' ? [[event.data.daemon, event.epoch]] : [])),
    ).toEqual([
      [first.id, 1],
      [second.id, 2],
    ])
    expect(all.filter((event) => event.type === 'assistant_message_added')).toHaveLength(2)
    // It got on before it died.
    expect(foldTask(all).ownersLost).toBe(0)
  })

  it('whose owners die while it waits for a slow answer is not charged for them', async () => {
    const { daemon, submit, ended, passing, events } = world()
    const log = await submit()
    const claims = async () => (await events(log)).filter((event) => event.type === 'task_claimed').length
    for (let i = 1; i <= 4; i++) {
      const doomed = daemon({
        provider: scriptedProvider([held<ChatAnswer>().promise]),
        limits: { ownersLostMax: 1 },
      })
      await passing('it is claimed', async () => (await claims()) === i)
      doomed.kill()
    }
    daemon({ provider: oneAnswer(), limits: { ownersLostMax: 1 } })
    expect((await ended(log)).at(-1)?.type).toBe('task_completed')
  })

  it('that loses its owners without end, and never gets on, is given up on, as an event', async () => {
    const { daemon, submit, ended, write } = world()
    const log = await submit()
    for (let i = 0; i < 21; i++) await write(log, event('task_claimed', { daemon: `dead ${i}` }))
    daemon({ provider: scriptedProvider([]), limits: { ownersLostMax: 1 } })
    expect((await ended(log)).slice(-3)).toMatchObject([
      { type: 'task_claimed' },
      { type: 'task_dead_lettered', data: { claims: 21 } },
      {
        type: 'task_failed',
        data: {
          failure: {
            class: 'worker_lost',
            message: 'The task lost 21 owners in a row without progress. Beaver gave up on it.',
          },
        },
      },
    ])
  })
})

describe('a stalled owner', () => {
  it('that comes back is fenced, writes nothing more, and leaves the task to the one who has it', async () => {
    const { daemon, submit, ended, passing, events, clock } = world()
    const [late, good] = [held<ChatAnswer>(), held<ChatAnswer>()]
    const first = daemon({ provider: { name: 'p', model: 'm', chat: () => late.promise }, id: 'first' })
    const log = await submit()
    const claims = async () =>
      (await events(log)).flatMap((event) => (event.type === 'task_claimed' ? [event.data.daemon] : []))
    await passing('it is claimed', async () => (await claims()).length === 1)
    first.stall()
    let asked = 0
    daemon({ provider: { name: 'p', model: 'm', chat: () => (asked++, good.promise) }, id: 'second' })
    await passing('the second takes over and thinks', () => asked === 1)
    first.goOn()
    late.settle(answers('too late'))
    await until('the first lets go', () => first.tasks.size === 0)
    for (let ms = 0; ms < leaseMs; ms += 100) {
      clock.advance(100)
      await new Promise((resolve) => setImmediate(resolve))
    }
    // Its owner is alive: nobody may have claimed the task from it.
    expect(await claims()).toEqual(['first', 'second'])
    good.settle(answers('42'))
    const all = await ended(log)
    expect(all.at(-1)).toMatchObject({ type: 'task_completed', epoch: 2, data: { final_output: '42' } })
    expect(typesOf(all).filter((type) => type === 'assistant_message_added')).toHaveLength(1)
  })
})

describe('threads that die', () => {
  it.each([
    [
      'is charged: it says so',
      ['echo'],
      [{ data: { restarts: 1, failure: { class: 'worker_lost' }, suspect_tools: ['echo'] } }],
    ],
    ['is not charged: it goes on as if nothing had been', undefined, []],
  ])('a loop is started again from the journal; one that %s', async (_, charge, restarted) => {
    const { daemon, submit, ended } = world()
    const provider = scriptedProvider([held<Partial<ChatAnswer>>().promise, says('42')])
    const one = daemon({ provider })
    const log = await submit()
    await until('the provider is asked', () => provider.requests.length === 1)
    one.pool.lose(charge)
    const events = await ended(log)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: '42' } })
    expect(events.filter((event) => event.type === 'run_restarted')).toMatchObject(restarted)
  })

  it('without end fail no task that is not charged', async () => {
    const { daemon, submit, ended } = world()
    const provider = scriptedProvider([
      ...Array.from({ length: 9 }, () => held<Partial<ChatAnswer>>().promise),
      says('42'),
    ])
    const one = daemon({ provider })
    const log = await submit()
    for (let i = 1; i <= 9; i++) {
      await until('the provider is asked', () => provider.requests.length === i)
      one.pool.lose()
    }
    expect((await ended(log)).at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: '42' } })
  })

  it('of its answers more often than the policy allows fail the run, and the task', async () => {
    const { daemon, submit, ended } = world()
    const provider = scriptedProvider(Array.from({ length: 9 }, () => held<Partial<ChatAnswer>>().promise))
    const one = daemon({ provider })
    const log = await submit()
    const restarts: unknown[] = []
    for (let i = 1; i <= 4; i++) {
      await until('the provider is asked', () => provider.requests.length === i)
      restarts.push(
        ...[...one.tasks.values()].flatMap((task) => task.now().loops.map((loop) => loop.restarts)),
      )
      one.pool.lose([])
    }
    expect(restarts).toEqual([0, 1, 2, 3])
    const events = await ended(log)
    expect(events.at(-1)).toMatchObject({ type: 'task_failed', data: { failure: { class: 'worker_lost' } } })
    expect(events.filter((event) => event.type === 'run_restarted')).toHaveLength(3)
  })

  it('a root that waits for its team asks again for the same team: it runs once', async () => {
    const { daemon, submit, ended, events } = world()
    const nodes = [held<ChatAnswer>(), held<ChatAnswer>()]
    let asked = 0
    const provider: ChatProvider = {
      name: 'p',
      model: 'm',
      chat({ messages }) {
        const text = messages.findLast((message) => message.role === 'user')?.content ?? ''
        if (messages.some((message) => message.role === 'tool'))
          return Promise.resolve(answers('as the team says'))
        if (!text.includes('<instruction ')) return Promise.resolve({ ...answers(''), ...team })
        return ++asked > 2
          ? Promise.resolve(answers('again'))
          : (nodes[asked - 1] as { promise: Promise<ChatAnswer> }).promise
      },
    }
    const one = daemon({ provider })
    const log = await submit()
    await until('both nodes run', () => asked === 2)
    one.pool.lose()
    const all = await ended(log)
    expect(typesOf(all).filter((type) => type === 'task_team_run_started')).toHaveLength(1)
    expect(typesOf(all).filter((type) => type === 'node_started')).toHaveLength(2)
    expect(all.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'as the team says' } })
    expect((await events(log)).filter((event) => event.type === 'run_restarted')).toHaveLength(0)
  })
})

describe('cancel', () => {
  it('is journaled before it takes effect, and ends the task as cancelled', async () => {
    const { daemon, submit, ended } = world()
    const provider = scriptedProvider([held<Partial<ChatAnswer>>().promise])
    const one = daemon({ provider })
    const log = await submit()
    await until('the provider is asked', () => provider.requests.length === 1)
    await [...one.tasks.values()][0]?.cancel('enough')
    const events = await ended(log)
    expect(typesOf(events).slice(-3)).toEqual(['task_cancel_requested', 'run_cancelled', 'task_cancelled'])
    expect(events.at(-1)).toMatchObject({ data: { failure: { class: 'cancelled', message: 'enough' } } })
  })

  it('of a team stops its nodes, cancels what waits, and the root', async () => {
    const { daemon, submit, ended } = world()
    let asked = 0
    const provider: ChatProvider = {
      name: 'p',
      model: 'm',
      chat: ({ messages, signal }) =>
        messages.at(-1)?.content?.includes('<instruction ') === true
          ? (asked++,
            new Promise((_, reject) =>
              signal.addEventListener('abort', () => reject(signal.reason as Error)),
            ))
          : Promise.resolve({
              ...answers(''),
              ...calls([
                'SequentialWorkflow',
                {
                  task: 't',
                  agents: [
                    { name: 'a', instruction: 'do a' },
                    { name: 'b', instruction: 'do b' },
                  ],
                },
              ]),
            }),
    }
    const one = daemon({ provider })
    const log = await submit()
    await until('the first node runs', () => asked === 1)
    await [...one.tasks.values()][0]?.cancel('enough')
    const events = await ended(log)
    expect(
      events.flatMap((event) => (event.type === 'node_cancelled' ? [event.data.node_id] : [])).toSorted(),
    ).toEqual(['a', 'b'])
    expect(typesOf(events).slice(-4)).toEqual([
      'task_team_run_failed',
      'tool_result_recorded',
      'run_cancelled',
      'task_cancelled',
    ])
  })

  it('that comes while the end is being written comes too late: it is refused, and nothing follows the end', async () => {
    const { daemon, submit, ended } = world()
    const provider = scriptedProvider([held<Partial<ChatAnswer>>().promise])
    const one = daemon({ provider })
    const log = await submit()
    await until('the provider is asked', () => provider.requests.length === 1)
    const task = [...one.tasks.values()][0]
    let second: Promise<unknown> | undefined
    await task?.cancel('first')
    await until('the end is under way', () => {
      if (task?.end() !== null)
        second ??= task?.cancel('second').then(
          () => 'journaled',
          (error: { code: string }) => error.code,
        )
      return second
    })
    expect(await second).toBe('conflict')
    expect((await ended(log)).at(-1)?.type).toBe('task_cancelled')
  })

  it('in the journal of a task nobody owns is remembered by the one who claims it', async () => {
    const { daemon, submit, ended, journal, events, clock } = world()
    const log = await submit()
    const head = (await events(log)).at(-1)
    await new TaskLog(
      log,
      { head: head as never, revision: 0, epoch: 0 },
      { journal, blobs: { put: async () => {}, get: async () => new Uint8Array() }, clock, source: '/x' },
    ).append([draft(cancelRequested('before'))])
    daemon({ provider: scriptedProvider([]) })
    expect((await ended(log)).at(-1)).toMatchObject({
      type: 'task_cancelled',
      data: { failure: { message: 'before' } },
    })
  })
})

describe('tasks of one session (D-47)', () => {
  it('run one after the other in the order they were accepted; another session beside them', async () => {
    const { daemon, submit, ended } = world()
    const order: string[] = []
    const provider: ChatProvider = {
      name: 'p',
      model: 'm',
      async chat({ messages }) {
        const text = messages.findLast((message) => message.role === 'user')?.content ?? ''
        order.push(`${text} begins`)
        await new Promise((resolve) => setImmediate(resolve))
        order.push(`${text} ends`)
        return answers(`said ${text}`)
      },
    }
    const [one, two] = [daemon({ provider, id: 'one' }), daemon({ provider, id: 'two' })]
    const logs = []
    for (const text of ['first', 'second', 'third']) logs.push(await submit({ session_id: 's', text }))
    for (const log of logs) await ended(log)
    expect(order).toEqual([
      'first begins',
      'first ends',
      'second begins',
      'second ends',
      'third begins',
      'third ends',
    ])
    expect(one.tasks.size + two.tasks.size).toBe(0)
  })

  it('the later ones are told what was said before', async () => {
    const { daemon, submit, ended } = world()
    const provider = scriptedProvider([says('one'), says('two')])
    daemon({ provider })
    const [first, second] = [
      await submit({ session_id: 's', text: 'first' }),
      await submit({ session_id: 's', text: 'second' }),
    ]
    await ended(first)
    await ended(second)
    expect(provider.requests[1]?.messages.slice(1).map((message) => message.content)).toEqual([
      'first',
      'one',
      'second',
    ])
  })
})

describe('drain', () => {
  it('lets a running task finish within the grace period', async () => {
    const { daemon, submit, passing, events } = world()
    const answer = held<Partial<ChatAnswer>>()
    const provider = scriptedProvider([answer.promise])
    const one = daemon({ provider })
    const log = await submit()
    await until('the provider is asked', () => provider.requests.length === 1)
    const drained = one.drain(10_000).then(() => true)
    answer.settle(says('42'))
    await passing('it is drained', () =>
      Promise.race([drained, new Promise<false>((resolve) => setImmediate(() => resolve(false)))]),
    )
    expect((await events(log)).at(-1)?.type).toBe('task_completed')
  })

  it('hands over what does not finish: the task is released, not cancelled, and another goes on from the journal', async () => {
    const { daemon, submit, passing, events, ended } = world()
    const provider = scriptedProvider([held<Partial<ChatAnswer>>().promise])
    const one = daemon({ provider })
    const log = await submit()
    await until('the provider is asked', () => provider.requests.length === 1)
    const drained = one.drain(1_000).then(() => true)
    await passing('it is drained', () =>
      Promise.race([drained, new Promise<false>((resolve) => setImmediate(() => resolve(false)))]),
    )
    expect(typesOf(await events(log)).at(-1)).toBe('task_released')
    daemon({ provider: oneAnswer() })
    const all = await ended(log)
    expect(all.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: '42' } })
    expect(foldTask(all).ownersLost).toBe(0)
    expect(typesOf(all)).not.toContain('run_cancelled')
  })

  it('leaves what waits for another task in the queue, and takes nothing new', async () => {
    const { daemon, submit, passing, events } = world()
    const provider = scriptedProvider([held<Partial<ChatAnswer>>().promise])
    const one = daemon({ provider })
    await submit({ session_id: 's' })
    await submit({ session_id: 's' })
    await until('the first runs', () => provider.requests.length === 1)
    const drained = one.drain(0).then(() => true)
    await passing('it is drained', () =>
      Promise.race([drained, new Promise<false>((resolve) => setImmediate(() => resolve(false)))]),
    )
    const late = await submit({ session_id: 'other' })
    expect(one.tasks.size).toBe(0)
    expect(typesOf(await events(late))).toEqual(['task_submitted'])
  })
})

it('a daemon holds at most as many tasks as it may', async () => {
  const { daemon, submit, passing } = world()
  const answer = held<ChatAnswer>()
  let asked = 0
  const one = daemon({
    provider: { name: 'p', model: 'm', chat: () => (asked++, answer.promise) },
    tasksMax: 2,
  })
  for (let i = 0; i < 5; i++) await submit()
  await until('it is full', () => asked === 2)
  expect(one.tasks.size).toBe(2)
  answer.settle(answers('42'))
  await passing('all are done', () => asked === 5 && one.tasks.size === 0)
})
