// Sessions read back by the client, from a real journal; `search` from a real projector.
import { type BeaverClient, clientOn, type SessionEvent } from '@beaver/client'
import {
  type BlobStore,
  type DomainEvent,
  event,
  type LogId,
  noUsage,
  type RunId,
  type SessionId,
  type TaskId,
} from '@beaver/core'
import { draft, emptyHead, type Journal, joinBatch, type LogHead, seal } from '@beaver/core/journal'
import { connectNats, natsBlobStore, natsJournal, type Subjects, subjectsOf } from '@beaver/nats'
import { until } from '@beaver/testing'
import type { NatsConnection } from '@nats-io/nats-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testServer, type TestServer } from '../support/nats.ts'
import { projectorProcess } from '../support/projector.ts'

let server: TestServer
let nc: NatsConnection
beforeAll(async () => {
  server = await testServer()
  nc = await connectNats({ url: server.url, name: 'sessions' })
})
afterAll(async () => {
  await nc.close()
  await server[Symbol.asyncDispose]()
})

const said = (run: string, content: string): DomainEvent =>
  event(
    'assistant_message_added',
    {
      content,
      tool_calls: [],
      finish_reason: 'stop',
      usage: noUsage,
      provider_name: 'p',
      model: 'm',
      response_id: null,
      duration_ms: 1,
    },
    run,
  )
const asked = (run: string, content: string): DomainEvent => event('user_message_added', { content }, run)
const runStarted = (run: string, parent: string | null = null): DomainEvent =>
  event(
    'run_started',
    {
      run_id: run as RunId,
      parent_run_id: parent as RunId | null,
      attempt_index: 1,
      agent_name: 'a',
      team_run_id: null,
      node_id: null,
      source: parent === null ? 'cli' : 'team:t',
      max_tool_iterations: 1,
      tools: [],
    },
    run,
  )
const completed = (final_output: string): DomainEvent =>
  event('task_completed', {
    final_output,
    outputs: [],
    usage: noUsage,
    provider: null,
    model: null,
    simulated: false,
    failure: null,
  })

/** A journal a test writes by hand. */
async function written() {
  const subjects: Subjects = subjectsOf(server.newNamespace())
  const journal: Journal = await natsJournal(nc, subjects)
  const blobs: BlobStore = await natsBlobStore(nc, subjects)
  const heads = new Map<TaskId, { head: LogHead; revision: number; log: LogId }>()
  let ticks = 0

  async function sealed(task: TaskId, from: LogHead, events: readonly DomainEvent[]) {
    let head = from
    const records = []
    for (const each of events) {
      const time = new Date(Date.UTC(2026, 0, 1) + ticks++ * 1_000).toISOString()
      const made = seal(head, draft(each), { epoch: 1, source: '/beaver/daemons/d', subject: task, time })
      if (made.record.blob !== null) await blobs.put(made.record.blob.sha256, made.record.blob.bytes)
      records.push(made.record)
      head = made.head
    }
    return { head, payload: joinBatch(records) }
  }

  return {
    subjects,
    client: clientOn(nc, subjects) satisfies BeaverClient,
    async submit(name: string, session: string, text = `ask ${name}`): Promise<TaskId> {
      const log: LogId = { tenant: 'local', session: session as SessionId, task: name as TaskId }
      const tail = await journal.sessionTail(log.tenant, log.session)
      const request = { text, workspace: '/w', skill: null, source: 'cli' }
      const submitted = event('task_submitted', {
        task_id: log.task,
        session_id: log.session,
        tenant: log.tenant,
        previous_task_id: tail.task,
        request,
      })
      const { head, payload } = await sealed(log.task, emptyHead, [submitted])
      const outcome = await journal.accept({ log, payloads: [payload], tail })
      if (outcome.kind !== 'accepted') throw new Error(outcome.kind)
      heads.set(log.task, { head, revision: outcome.revision, log })
      return log.task
    },
    async write(task: TaskId, ...events: DomainEvent[]): Promise<void> {
      const of = heads.get(task) as { head: LogHead; revision: number; log: LogId }
      const { head, payload } = await sealed(task, of.head, events)
      const outcome = await journal.append({
        log: of.log,
        expectedRevision: of.revision,
        payloads: [payload],
      })
      if (outcome.kind !== 'appended') throw new Error(outcome.kind)
      heads.set(task, { head, revision: outcome.revision, log: of.log })
    },
    async writeRaw(task: TaskId, payload: string): Promise<void> {
      const of = heads.get(task) as { head: LogHead; revision: number; log: LogId }
      await journal.append({ log: of.log, expectedRevision: of.revision, payloads: [Buffer.from(payload)] })
    },
  }
}

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = []
  for await (const each of events) seen.push(each)
  return seen
}
const told = (events: readonly SessionEvent[]): string[] =>
  events.map((each) => `${each.task_id} ${each.hidden ? '-' : '+'}${each.type}`)

describe('a session', () => {
  it('is its tasks in the order they were accepted, the events of each in theirs, hidden ones marked', async () => {
    const journal = await written()
    const [b, a] = [await journal.submit('b', '会话 1.*'), await journal.submit('a', '会话 1.*')]
    const other = await journal.submit('other', 'another')
    await journal.write(
      b,
      runStarted('r1'),
      event('system_prompt_snapshotted', { content: 'secret' }, 'r1'),
      asked('r1', 'ask b'),
    )
    await journal.write(other, runStarted('r1'), asked('r1', 'elsewhere'))
    await journal.write(b, said('r1', 'answer'), completed('answer'))
    await journal.write(a, runStarted('r2'))
    expect(told(await all(journal.client.sessions.getEventRecords('会话 1.*')))).toEqual([
      'b -task_submitted',
      'b -run_started',
      'b -system_prompt_snapshotted',
      'b +user_message_added',
      'b +assistant_message_added',
      'b -task_completed',
      'a -task_submitted',
      'a -run_started',
    ])
  })

  it('is cut into its runs', async () => {
    const journal = await written()
    const [one, two] = [await journal.submit('one', 's'), await journal.submit('two', 's')]
    await journal.write(
      one,
      runStarted('r1'),
      runStarted('w1', 'r1'),
      asked('w1', 'work'),
      asked('r1', 'ask'),
      said('r1', 'done'),
      completed('done'),
    )
    await journal.write(two, runStarted('r2'), asked('r2', 'ask'))
    const { sessions } = journal.client
    expect(await sessions.listRunIds('s')).toEqual(['r1', 'w1', 'r2'])
    expect(told(await all(sessions.getRunEventRecords('s', 'r1')))).toEqual([
      'one -run_started',
      'one +user_message_added',
      'one +assistant_message_added',
    ])
    expect(told(await all(sessions.getRunEventRecords('s', 'w1')))).toEqual([
      'one -run_started',
      'one +user_message_added',
    ])
    expect(await all(sessions.getRunEventRecords('s', 'nobody'))).toEqual([])
  })

  it('has as its visible history what was asked and answered, of the newest tasks, the oldest of them first', async () => {
    const journal = await written()
    for (let i = 1; i <= 5; i++) {
      const task = await journal.submit(`t${i}`, 's', i === 4 ? '好'.repeat(40_000) : `ask ${i}`)
      await journal.write(
        task,
        runStarted(`r${i}`),
        asked(`r${i}`, 'hidden from the history'),
        said(`r${i}`, 'thinking aloud'),
      )
      await journal.write(
        task,
        event('run_completed', { finish_reason: 'stop', tool_iterations: 0, usage: noUsage }, `r${i}`),
        completed(i === 2 ? '' : `answer ${i}`),
      )
    }
    await journal.submit('under way', 's')
    const { sessions } = journal.client
    const history = await sessions.getVisibleHistory('s')
    expect(
      history.map(({ task_id, role, content }) => [
        task_id,
        role,
        content.length > 99 ? content.length : content,
      ]),
    ).toEqual([
      ['t1', 'user', 'ask 1'],
      ['t1', 'assistant', 'answer 1'],
      ['t3', 'user', 'ask 3'],
      ['t3', 'assistant', 'answer 3'],
      ['t4', 'user', 40_000],
      ['t4', 'assistant', 'answer 4'],
      ['t5', 'user', 'ask 5'],
      ['t5', 'assistant', 'answer 5'],
    ])
    expect(history[0]?.at).toMatch(/^2026-01-01T00:00:\d\d\.000Z$/)
    expect((await sessions.getVisibleHistory('s', { tasksMax: 2 })).map(({ task_id }) => task_id)).toEqual([
      't5',
      't5',
    ])
    expect(await all(journal.client.events('t3'))).toMatchObject([
      { type: 'task_submitted' },
      {},
      {},
      {},
      {},
      { type: 'task_completed' },
    ])
    expect(await all(journal.client.events('no such task'))).toEqual([])
  })

  it('has in its visible history the answer of a task to which something was written after its end', async () => {
    const journal = await written()
    const task = await journal.submit('t', 's')
    await journal.write(task, runStarted('r'), completed('kept'))
    await journal.write(task, event('task_cancel_requested', { reason: 'late' }))
    expect((await journal.client.sessions.getVisibleHistory('s')).map(({ content }) => content)).toEqual([
      'ask t',
      'kept',
    ])
  })

  it('has in its visible history that a task failed, and why (AL-12)', async () => {
    const journal = await written()
    const failure = { class: 'provider_refused', message: 'The key was refused.' } as const
    await journal.write(await journal.submit('t', 's'), {
      ...completed(''),
      type: 'task_failed',
      data: { ...completed('').data, failure },
    } as DomainEvent)
    expect((await journal.client.sessions.getVisibleHistory('s')).map(({ content }) => content)).toEqual([
      'ask t',
      '[No answer: The key was refused.]',
    ])
  })

  it('is read as far as it is asked for, however long it is', async () => {
    const journal = await written()
    const task = await journal.submit('t', 's')
    for (let i = 0; i < 20; i++)
      await journal.write(task, ...Array.from({ length: 60 }, (_, n) => asked('r', `${i}.${n}`)))
    const [first] = await all(journal.client.sessions.getEventRecords('s'))
    const late = await journal.submit('late', 's')
    await journal.writeRaw(
      late,
      JSON.stringify([{ ...first, specversion: '1.0', subject: 'late', type: 'beaver.task_claimed.v1' }]),
    )
    let seen = 0
    for await (const _ of journal.client.sessions.getEventRecords('s')) if (++seen === 1_000) break
    expect(seen).toBe(1_000)
    await expect(all(journal.client.sessions.getEventRecords('s'))).rejects.toMatchObject({
      code: 'corrupt_journal',
    })
  })

  it('of several hundred messages a task is read to its end', async () => {
    const journal = await written()
    const tasks = [await journal.submit('t1', 's'), await journal.submit('t2', 's')] as const
    for (let i = 0; i < 1_200; i++) await journal.write(tasks[(i % 2) as 0 | 1], asked('r', `${i}`))
    expect(await all(journal.client.sessions.getEventRecords('s'))).toHaveLength(1_202)
  })

  it('with a record that does not follow the one before it is refused with the place', async () => {
    const journal = await written()
    const task = await journal.submit('t', 's')
    const mine = await all(journal.client.sessions.getEventRecords('s'))
    expect(mine).toHaveLength(1)
    await journal.writeRaw(
      task,
      JSON.stringify([{ ...mine[0], specversion: '1.0', subject: 't', type: 'beaver.task_claimed.v1' }]),
    )
    await expect(all(journal.client.sessions.getEventRecords('s'))).rejects.toMatchObject({
      code: 'corrupt_journal',
      message: 'The log of task t is broken: event 1 follows event 1.',
    })
    await expect(journal.client.sessions.getVisibleHistory('s')).rejects.toMatchObject({
      code: 'corrupt_journal',
    })
  })

  it('nobody used is empty, also where there is no journal yet; an id that cannot be one is refused', async () => {
    const { sessions } = clientOn(nc, subjectsOf(server.newNamespace()))
    expect(await all(sessions.getEventRecords('s'))).toEqual([])
    expect(await sessions.listRunIds('s')).toEqual([])
    expect(await sessions.getVisibleHistory('s')).toEqual([])
    await expect(sessions.getVisibleHistory('')).rejects.toMatchObject({ code: 'invalid_arguments' })
    await expect(all(sessions.getEventRecords('a\u0000b'))).rejects.toMatchObject({
      code: 'invalid_arguments',
    })
    await expect(sessions.search('a')).rejects.toMatchObject({ code: 'no_daemon' })
  })
})

describe('search', () => {
  it('asks the projector: other sessions, best first, hidden text never', async () => {
    const journal = await written()
    const task = await journal.submit('t1', '会话')
    await journal.write(
      task,
      runStarted('r1'),
      event('system_prompt_snapshotted', { content: '季度 hidden prompt' }, 'r1'),
      asked('r1', '请统计季度销售额'),
    )
    await journal.write(
      task,
      runStarted('w1', 'r1'),
      asked('w1', 'only a worker heard 季度销售额'),
      completed('42'),
    )
    await using projector = await projectorProcess({ url: server.url, namespace: journal.subjects.namespace })
    const { sessions } = journal.client
    await until('it is projected', async () => (await sessions.search('季度')).length > 0, { everyMs: 5 })
    expect(await sessions.search('季度销售额')).toEqual([
      {
        session_id: '会话',
        task_id: 't1',
        role: 'user',
        excerpt: '请统计季度销售额',
        at: expect.stringMatching(/Z$/) as string,
      },
    ])
    expect(await sessions.search('季度', { exceptSession: '会话' })).toEqual([])
    expect(await sessions.search('hidden prompt')).toEqual([])
    expect(await sessions.search('" OR 1=1 --', { limit: 1_000 })).toEqual([])
    expect(projector.pid).toBeGreaterThan(0)
  })
})
