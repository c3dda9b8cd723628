// Tasks that the daemon which accepts them drives at once (docs/decisions/0031).
import type { ChatAnswer } from '@beaver/agent'
import { BeaverError, type LogId } from '@beaver/core'
import { splitBatch } from '@beaver/core/journal'
import { held, says, type ScriptedProvider, scriptedProvider, until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { leaseMs, typesOf, world, type World } from '../test/kit.ts'

const oneAnswer = (): ScriptedProvider => scriptedProvider([says('42')])

const entriesOf = async (journal: World['journal'], log: LogId): Promise<string[][]> =>
  (await journal.read(log)).map((entry) =>
    splitBatch(entry.payload).map((record) => record.type.split('.')[1] ?? ''),
  )

const claimsOf = async ({ events }: Pick<World, 'events'>, log: LogId): Promise<string[]> =>
  (await events(log)).flatMap((event) => (event.type === 'task_claimed' ? [event.data.daemon] : []))

it('is accepted, claimed and begun by one entry', async () => {
  const { daemon, submit, ended, journal } = world()
  const log = await submit({ at: daemon({ provider: oneAnswer() }) })
  await ended(log)
  expect(await entriesOf(journal, log)).toEqual([
    ['task_submitted', 'task_claimed', 'run_started', 'system_prompt_snapshotted', 'user_message_added'],
    ['assistant_message_added', 'run_completed', 'task_completed'],
  ])
})

it('is delivered to its daemon, which acknowledges it at its end: nobody gets it again', async () => {
  const { daemon, submit, ended, journal, clock, events } = world()
  const first = daemon({ provider: oneAnswer() })
  const log = await submit({ at: first })
  const all = await ended(log)
  await until('it is let go', () => first.tasks.size === 0)
  const queue = journal.queue({ leaseMs, clock })
  const signal = new AbortController().signal
  const pulled = queue.pull({ of: 'accepted', deliveriesMax: 1, waitMs: 10, signal })
  const more = pulled[Symbol.asyncIterator]()
  const next = more.next()
  for (let ms = 0; ms < 2 * leaseMs; ms += 500) clock.advance(500)
  expect((await next).done).toBe(true)
  expect(await events(log)).toHaveLength(all.length)
})

it('is not driven, and asked of nobody, when its acceptance is refused; it is accepted as any other then', async () => {
  const { daemon, submit, ended, journal, passing } = world()
  const provider = oneAnswer()
  const first = daemon({ provider })
  const accept = journal.accept
  let refused = 0
  journal.accept = async (acceptance) => (refused++ === 0 ? { kind: 'tail_moved' } : accept(acceptance))
  const log = await submit({ at: first })
  await ended(log)
  await passing('all is let go', () => first.tasks.size === 0)
  expect(refused).toBe(2)
  expect(provider.requests).toHaveLength(1)
})

it('whose acceptance can never be stored is refused, and nothing of it stands anywhere', async () => {
  const { daemon, submit, journal, passing } = world()
  const provider = oneAnswer()
  const first = daemon({ provider })
  journal.accept = () =>
    Promise.reject(new BeaverError('too_large', 'The server takes no more than 4096 bytes in a message.'))
  await expect(submit({ at: first, task_id: 't', session_id: 's' })).rejects.toMatchObject({
    code: 'too_large',
  })
  await passing('it is let go', () => first.tasks.size === 0)
  expect(await journal.read({ tenant: 'local', session: 's', task: 't' } as LogId)).toEqual([])
  expect(provider.requests).toEqual([])
})

it('whose acceptance cannot be stored is left alone if another daemon accepts and claims it meanwhile, in the same epoch', async () => {
  const { daemon, submit, ended, journal, ...rest } = world()
  const answer = held<ChatAnswer>()
  const thinks = { name: 'p', model: 'm', chat: () => answer.promise }
  const [first, second] = [
    daemon({ provider: thinks, id: 'first' }),
    daemon({ provider: oneAnswer(), id: 'second' }),
  ]
  const { accept } = journal
  const [there, accepts] = [held<LogId>(), held<true>()]
  journal.accept = async (acceptance) => {
    if (!acceptance.payloads.some((payload) => Buffer.from(payload).toString().includes('"daemon":"second"')))
      return accept(acceptance)
    accepts.settle(true)
    await there.promise
    throw new BeaverError('too_large', 'The server takes no more than 4096 bytes in a message.')
  }
  const names = { task_id: 't', session_id: 's' }
  const refused = submit({ at: second, ...names }).catch((error: unknown) => error)
  await accepts.promise
  const log = await submit({ at: first, ...names })
  there.settle(log)
  expect(await refused).toMatchObject({ code: 'too_large' })
  await until('the second lets go of it', () => second.tasks.size === 0)
  answer.settle({
    content: '42',
    toolCalls: [],
    finishReason: 'stop',
    usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
    model: 'm',
    responseId: null,
  })
  expect((await ended(log)).at(-1)?.type).toBe('task_completed')
  expect(await claimsOf(rest, log)).toEqual(['first'])
})

it('that was accepted, and whose events are larger than the server takes now, waits, and goes on when the server takes them', async () => {
  const { daemon, submit, ended, journal, passing } = world()
  const append = journal.append
  let refused = 0
  journal.append = (appended) =>
    refused++ < 3
      ? Promise.reject(new BeaverError('too_large', 'The server takes no more than 4096 bytes in a message.'))
      : append(appended)
  const provider = oneAnswer()
  const log = await submit()
  daemon({ provider })
  await passing('it has been tried', () => refused > 3)
  const events = await ended(log)
  expect(typesOf(events).slice(0, 3)).toEqual(['task_submitted', 'task_claimed', 'run_started'])
  expect([events.at(-1)?.type, events.at(-1)?.epoch, provider.requests.length]).toEqual([
    'task_completed',
    1,
    1,
  ])
})

it('whose id is taken is told so: the task there is not driven a second time', async () => {
  const { daemon, submit, ended } = world()
  const provider = oneAnswer()
  const first = daemon({ provider })
  const log = await submit({ at: first, task_id: 't', session_id: 's' })
  await ended(log)
  expect(await submit({ at: first, task_id: 't', session_id: 's' })).toEqual(log)
  await expect(submit({ at: first, task_id: 't', session_id: 's', text: 'another' })).rejects.toMatchObject({
    code: 'conflict',
  })
  expect(provider.requests).toHaveLength(1)
})

it('is handed on by another daemon that it is delivered to; its daemon keeps its lease then', async () => {
  const { daemon, submit, ended, passing, clock, ...rest } = world()
  const answer = held<ChatAnswer>()
  let asked = 0
  const thinks = { name: 'p', model: 'm', chat: () => (asked++, answer.promise) }
  const second = daemon({ provider: thinks, id: 'second' })
  await passing('the second waits for tasks', () => clock.now() > 0)
  // It takes none from the queue.
  const first = daemon({ provider: thinks, id: 'first', deaf: true })
  const log = await submit({ at: first })
  await passing('it thinks', () => asked === 1)
  for (let ms = 0; ms < 3 * leaseMs; ms += 250) {
    clock.advance(250)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect([first.tasks.size, second.tasks.size]).toEqual([1, 0])
  answer.settle({
    content: '42',
    toolCalls: [],
    finishReason: 'stop',
    usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
    model: 'm',
    responseId: null,
  })
  await ended(log)
  expect(await claimsOf(rest, log)).toEqual(['first'])
  expect(asked).toBe(1)
})

it('of a daemon that died is taken up by the one it is delivered to', async () => {
  const { daemon, submit, ended, passing, ...rest } = world()
  const first = daemon({ provider: scriptedProvider([held<ChatAnswer>().promise]), id: 'first', deaf: true })
  const log = await submit({ at: first })
  await passing('it is claimed', async () => (await claimsOf(rest, log)).length === 1)
  first.kill()
  daemon({ provider: oneAnswer(), id: 'second' })
  await ended(log)
  expect(await claimsOf(rest, log)).toEqual(['first', 'second'])
})

it('is accepted within a tenth of a second also when no thread begins it', async () => {
  const { daemon, submit, passing, journal } = world()
  const first = daemon({ provider: scriptedProvider([]) })
  first.pool.start = () => ({
    outcome: new Promise(() => {}),
    cancel: () => {},
    steer: () => {},
    drop: () => {},
  })
  let log: LogId | null = null
  void submit({ at: first }).then((accepted) => (log = accepted))
  const accepted = await passing('it is accepted', () => log, 10)
  expect(await entriesOf(journal, accepted)).toEqual([['task_submitted', 'task_claimed']])
})

it('that breaks before anything of it is written comes by the queue', async () => {
  const { daemon, submit, ended } = world()
  const provider = oneAnswer()
  const first = daemon({ provider })
  const start = first.pool.start
  let broken = 0
  first.pool.start = (spec, host) => {
    if (broken++ === 0) throw new Error('no thread')
    return start(spec, host)
  }
  await ended(await submit({ at: first }))
  expect(broken).toBe(2)
  expect(provider.requests).toHaveLength(1)
})

it('comes by the queue when its daemon has no room', async () => {
  const { daemon, submit, ended, passing, ...rest } = world()
  const [one, two] = [held<ChatAnswer>(), held<ChatAnswer>()]
  const answers = [one.promise, two.promise]
  let asked = 0
  const full = daemon({
    provider: { name: 'p', model: 'm', chat: () => answers[asked++] as Promise<ChatAnswer> },
    tasksMax: 1,
  })
  const first = await submit({ at: full })
  await passing('the first is under way', () => asked === 1)
  const second = await submit({ at: full })
  expect(typesOf(await rest.events(second))).toEqual(['task_submitted'])
  const answer = {
    content: '42',
    toolCalls: [],
    finishReason: 'stop',
    usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
    model: 'm',
    responseId: null,
  }
  one.settle(answer)
  await ended(first)
  two.settle(answer)
  await ended(second)
  expect(await claimsOf(rest, second)).toEqual([full.id])
})
