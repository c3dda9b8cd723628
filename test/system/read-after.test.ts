// A reader that has the beginning of a log reads on from there: what it costs, and what it never trusts. A real
// journal and a real projector.
import { clientOn } from '@beaver/client'
import { type DomainEvent, event, type LogId } from '@beaver/core'
import { draft, emptyHead, joinBatch, type LogHead, type RecordedEvent, seal } from '@beaver/core/journal'
import { connectNats, natsJournal, type Subjects, subjectsOf } from '@beaver/nats'
import { until } from '@beaver/testing'
import type { NatsConnection } from '@nats-io/nats-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testServer } from '../support/nats.ts'
import { projectorProcess } from '../support/projector.ts'

const stack = new AsyncDisposableStack()
let nc: NatsConnection
let subjects: Subjects
let client: ReturnType<typeof clientOn>
let alone: Subjects
beforeAll(async () => {
  const server = stack.use(await testServer())
  const namespace = server.newNamespace()
  subjects = subjectsOf(namespace)
  alone = subjectsOf(server.newNamespace())
  nc = await connectNats({ url: server.url, name: 'read-after' })
  stack.defer(() => nc.close())
  stack.use(await projectorProcess({ url: server.url, namespace }))
  client = clientOn(nc, subjects)
})
afterAll(() => stack.disposeAsync())

const logOf = (task: string): LogId => ({ tenant: 'local', session: task, task }) as LogId
const said = (content: string): DomainEvent => event('user_message_added', { content })
const submission = ({ tenant, session, task }: LogId): DomainEvent =>
  event('task_submitted', {
    task_id: task,
    session_id: session,
    tenant,
    previous_task_id: null,
    request: { text: 'x', workspace: '/', skill: null, source: 'test' },
  })
const end = event('task_completed', {
  final_output: 'done',
  outputs: [],
  usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
  provider: null,
  model: null,
  simulated: true,
  failure: null,
})

/** A log that grows. Each entry has the events as its records, in one chain. */
async function begunLog(log: LogId, of = subjects) {
  const journal = await natsJournal(nc, of)
  stack.defer(() => journal.close())
  let [head, revision]: [LogHead, number] = [emptyHead, 0]
  const entryOf = (events: readonly DomainEvent[]): Uint8Array =>
    joinBatch(
      events.map((each) => {
        const sealed = seal(head, draft(each), {
          epoch: 1,
          source: '/beaver/daemons/d',
          subject: log.task,
          time: '2026-01-01T00:00:00.000Z',
        })
        head = sealed.head
        return sealed.record
      }),
    )
  const accepted = await journal.accept({
    log,
    payloads: [entryOf([submission(log)])],
    tail: await journal.sessionTail(log.tenant, log.session),
  })
  if (accepted.kind !== 'accepted') throw new Error(accepted.kind)
  return {
    async append(...entries: (readonly DomainEvent[])[]): Promise<void> {
      const payloads = entries.map(entryOf)
      for (let at = 0; at < payloads.length; at += 500) {
        const part = payloads.slice(at, at + 500)
        const outcome = await journal.append({ log, expectedRevision: revision, payloads: part })
        if (outcome.kind !== 'appended') throw new Error(outcome.kind)
        revision = outcome.revision
      }
    },
    /** What follows claims another past than the log has. */
    forget: (): void => void (head = { ...head, hash: 'f'.repeat(64) }),
  }
}

const projected = (taskId: string, taskseq: number): Promise<unknown> =>
  until('the read model has it', async () => {
    const { events } = await client
      .query('events', { task_id: taskId, after: taskseq - 1, limit: 1 })
      .catch(() => ({ events: [] }))
    return events.length > 0
  })
const placesOf = async (events: AsyncIterable<RecordedEvent>, most = Infinity): Promise<number[]> => {
  const places: number[] = []
  for await (const { taskseq } of events) if (places.push(taskseq) >= most) break
  return places
}
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)
/** How many messages the connection receives meanwhile. */
async function received<Value>(act: () => Promise<Value>): Promise<{ value: Value; messages: number }> {
  const before = nc.stats().inMsgs
  const value = await act()
  return { value, messages: nc.stats().inMsgs - before }
}

it('a reader at the end of a long log reads the end alone, also from the middle of an entry, and then what comes', async () => {
  const log = await begunLog(logOf('long'))
  await log.append(...numbers(1, 2_000).map((n) => [said(`a${n}`), said(`b${n}`)]))
  await projected('long', 4_001)
  const places = numbers(3_993, 4_001)
  const read = await received(() => placesOf(client.events('long', { after: 3_992 })))
  expect(read.value).toEqual(places)
  expect(read.messages).toBeLessThan(50)
  const watched = await received(() => placesOf(client.watch('long', { after: 3_992 }), places.length))
  expect(watched.value).toEqual(places)
  expect(watched.messages).toBeLessThan(50)
  const one = await received(() => client.event('long', 3_993))
  expect(one.value).toMatchObject({ taskseq: 3_993, data: { content: 'b1996' } })
  expect(one.messages).toBeLessThan(50)
  const live = client.watch('long', { after: 4_001 })
  const next = live.next()
  await log.append([said('new')], [end])
  expect([(await next).value?.taskseq, await placesOf(live)]).toEqual([4_002, [4_003]])
})

it('a reader that has the last event of a task that ended gets the end and no event', async () => {
  const log = await begunLog(logOf('ended'))
  await log.append([said('a'), end])
  await projected('ended', 3)
  expect(await placesOf(client.watch('ended', { after: 3 }))).toEqual([])
  expect(await placesOf(client.events('ended', { after: 3 }))).toEqual([])
  expect(await client.event('ended', 4)).toBeNull()
  expect(await client.event('no such task', 2)).toBeNull()
})

it('a reader of a place that the read model does not know reads from the beginning, without the events that it has', async () => {
  const log = await begunLog(logOf('short'))
  await log.append([said('a')], [said('b')])
  await projected('short', 3)
  const ahead = client.watch('short', { after: 4 })
  const next = ahead.next()
  await log.append([said('c')], [said('d')], [end])
  expect((await next).value?.taskseq).toBe(5)
  await ahead.return(undefined)
  const unprojected = await begunLog(logOf('short'), alone)
  await unprojected.append([said('a')], [said('b')], [end])
  expect(await placesOf(clientOn(nc, alone).watch('short', { after: 2 }))).toEqual([3, 4])
  expect(await clientOn(nc, alone).event('short', 3)).toMatchObject({ data: { content: 'b' } })
})

it('a reader behind a break of the chain is shown no event', async () => {
  const log = await begunLog(logOf('broken'))
  await log.append([said('a')])
  log.forget()
  await log.append([said('b')], [said('c')], [end])
  await projected('broken', 5)
  expect((await client.query('events', { task_id: 'broken' })).chain_ok).toBe(false)
  const broken = { code: 'corrupt_journal' }
  await expect(placesOf(client.watch('broken', { after: 3 }))).rejects.toMatchObject(broken)
  await expect(placesOf(client.events('broken', { after: 3 }))).rejects.toMatchObject(broken)
  await expect(client.event('broken', 4)).rejects.toMatchObject(broken)
})
