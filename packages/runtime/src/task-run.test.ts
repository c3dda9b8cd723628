import { createHash } from 'node:crypto'
import {
  canonicalJson,
  type DomainEvent,
  event,
  type LogId,
  noUsage,
  type SessionId,
  type TaskId,
  type TaskRequest,
  type TaskResult,
} from '@beaver/core'
import {
  draft,
  emptyHead,
  type Entry,
  type Journal,
  joinBatch,
  type LogHead,
  newestRecord,
  seal,
} from '@beaver/core/journal'
import { memoryBlobStore, memoryJournal } from '@beaver/testing'
import { findTaskWorkflow } from '@beaver/workflows'
import { describe, expect, it } from 'vitest'
import { pastTasks } from './past-tasks.ts'
import { earlierTurns, sessionHistory } from './task-run.ts'

const messagesOf = async (
  log: LogId,
  previous: TaskId | null,
  past: Parameters<typeof sessionHistory>[2],
  user: string | null = null,
) => (await sessionHistory(log, { previous, user }, past)).messages

const result = (final_output: string, failure: TaskResult['failure'] = null): TaskResult => ({
  final_output,
  outputs: [],
  usage: noUsage,
  provider: null,
  model: null,
  simulated: false,
  failure,
})
const agentTeam = findTaskWorkflow('AgentTeam')
if (agentTeam === null) throw new Error('AgentTeam is not added.')
const findWorkflow = (name: string) => (name === 'AgentTeam' ? agentTeam : null)
const daemon = (name: string): DomainEvent => event('task_claimed', { daemon: name })

/** A session on the in-memory journal, and how often its logs were read. */
function session() {
  const memory = memoryJournal()
  const blobs = memoryBlobStore()
  const reads: string[] = []
  const counted = (kind: 'first' | 'last' | 'read') => (log: LogId) => (
    reads.push(`${kind} ${log.task}`),
    memory[kind](log) as never
  )
  const journal: Journal = {
    ...memory,
    first: counted('first'),
    last: counted('last'),
    read: counted('read'),
  }
  const logOf = (task: string): LogId => ({
    tenant: 'local',
    session: 's' as SessionId,
    task: task as TaskId,
  })
  let newest: TaskId | null = null
  let tasks = 0

  /** Writes one message of events. */
  async function write(log: LogId, from: LogHead, events: readonly DomainEvent[]): Promise<LogHead> {
    let head = from
    const records = []
    for (const each of events) {
      const sealed = seal(head, draft(each), {
        epoch: 1,
        source: '/beaver/daemons/d',
        subject: log.task,
        time: '2026-01-01T00:00:00.000Z',
      })
      if (sealed.record.blob !== null) await blobs.put(sealed.record.blob.sha256, sealed.record.blob.bytes)
      records.push(sealed.record)
      head = sealed.head
    }
    await memory.append({
      log,
      expectedRevision: (await memory.last(log))?.revision ?? 0,
      payloads: [joinBatch(records)],
    })
    return head
  }

  /** A task: its request, some work, and how it ended. */
  async function task(
    of: {
      text?: string
      user?: string
      history?: TaskRequest['history']
      until?: LogId
      answer?: string | null
      failed?: string
      workflow?: TaskRequest['workflow']
      events?: number
      after?: DomainEvent[]
    } = {},
  ) {
    const { text = 'ask', answer = 'answer', events = 3, workflow } = of
    const log = logOf(`task ${++tasks}`)
    const request: TaskRequest = {
      text,
      workspace: '/w',
      skill: null,
      source: 'cli',
      ...(workflow === undefined ? {} : { workflow }),
      ...(of.user === undefined ? {} : { user_id: of.user }),
      ...(of.history === undefined ? {} : { history: of.history }),
      ...(of.until === undefined ? {} : { history_until: of.until.task }),
    }
    const submitted = {
      task_id: log.task,
      session_id: log.session,
      tenant: log.tenant,
      previous_task_id: newest,
      request,
    }
    let head = await write(log, emptyHead, [event('task_submitted', submitted)])
    for (let i = 0; i < events; i++) head = await write(log, head, [daemon(`d${i}`)])
    const ended =
      of.failed === undefined
        ? event('task_completed', result(answer ?? ''))
        : event('task_failed', result('', { class: 'provider_refused', message: of.failed }))
    if (answer !== null) await write(log, head, [daemon('last'), ended, ...(of.after ?? [])])
    newest = log.task
    return log
  }

  return {
    journal,
    blobs,
    reads,
    task,
    newest: () => newest,
    log: logOf('now'),
    memory,
    past: () => pastTasks({ journal, blobs, findWorkflow }),
  }
}

describe('the history of a session', () => {
  it('has the conversation that a client gave with a task, before its question', async () => {
    const of = session()
    await of.task({
      text: 'three',
      history: [
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
      ],
      answer: 'four',
    })
    expect((await messagesOf(of.log, of.newest(), of.past())).map(({ content }) => content)).toEqual([
      'one',
      'two',
      'three',
      'four',
    ])
  })

  it('goes back from a task to the one that it names, as if those between them had not been', async () => {
    const of = session()
    const one = await of.task({ text: 'ask one', answer: 'answer one' })
    await of.task({ text: 'ask two', answer: 'answer two' })
    const three = await of.task({ text: 'ask three', answer: 'answer three', until: one })
    const words = async (previous: LogId) =>
      (await messagesOf(of.log, previous.task, of.past())).map(({ content }) => content)
    expect(await words(three)).toEqual(['ask one', 'answer one', 'ask three', 'answer three'])
    expect(await words(one)).toEqual(['ask one', 'answer one'])
  })

  it('has the newest of the given messages if they are too long together', async () => {
    const of = session()
    const history = Array.from({ length: 30 }, (_, i) => ({
      role: 'user' as const,
      content: `${i} ${'x'.repeat(9_000)}`,
    }))
    await of.task({ history })
    const told = (await messagesOf(of.log, of.newest(), of.past())).map(
      ({ content }) => content?.split(' ')[0],
    )
    expect(told).toEqual([...Array.from({ length: 11 }, (_, i) => String(19 + i)), 'ask', 'answer'])
  })

  it('is what its earlier tasks asked and answered, oldest first', async () => {
    const of = session()
    for (const n of ['one', 'two', 'three']) await of.task({ text: `ask ${n}`, answer: `answer ${n}` })
    expect(await messagesOf(of.log, of.newest(), of.past())).toEqual(
      ['one', 'two', 'three'].flatMap((n) => [
        { role: 'user', content: `ask ${n}` },
        { role: 'assistant', content: `answer ${n}` },
      ]),
    )
    expect(await messagesOf(of.log, null, of.past())).toEqual([])
  })

  it('says of a task that failed that there was no answer, and why (AL-12)', async () => {
    const of = session()
    await of.task({ text: 'first', failed: 'The key was refused.' })
    expect(await messagesOf(of.log, of.newest(), of.past())).toEqual([
      { role: 'user', content: 'first' },
      { role: 'assistant', content: '[No answer: The key was refused.]' },
    ])
  })

  it('leaves out what has nothing to show, and goes on before it', async () => {
    const of = session()
    await of.task({ text: 'first' })
    await of.task({ text: 'silent', answer: '' })
    await of.task({ text: 'third' })
    expect(
      (await messagesOf(of.log, of.newest(), of.past()))
        .filter(({ role }) => role === 'user')
        .map(({ content }) => content),
    ).toEqual(['first', 'third'])
  })

  it('is that of the newest tasks, at most twenty, at most 100,000 characters', async () => {
    const of = session()
    for (let i = 0; i < 25; i++) await of.task({ text: `ask ${i}` })
    const history = await messagesOf(of.log, of.newest(), of.past())
    expect([history.length, history[0]?.content]).toEqual([40, 'ask 5'])
    await of.task({ text: 'x'.repeat(60_000) })
    await of.task({ text: 'y'.repeat(30_000) })
    expect((await messagesOf(of.log, of.newest(), of.past())).length).toBe(40)
    await of.task({ answer: 'z'.repeat(20_000) })
    expect((await messagesOf(of.log, of.newest(), of.past())).map(({ content }) => content?.length)).toEqual([
      30_000, 6, 3, 20_000,
    ])
  })

  it('shortens what is longer than a whole history, and leaves room for what was said before', async () => {
    const of = session()
    await of.task({ text: 'x'.repeat(60_000) })
    await of.task({ text: 'small' })
    await of.task({ text: 'long?', answer: '好'.repeat(250_000) })
    await of.task({ text: 'y'.repeat(40_000) })
    await of.task({ text: 'w'.repeat(100_001), answer: 'z'.repeat(100_001) })
    for (const past of [of.past(), of.past()]) {
      const history = await messagesOf(of.log, of.newest(), past)
      expect(history.map(({ content }) => content?.length)).toEqual([5, 9_989, 40_000, 6, 25_000, 25_000])
      expect(history[1]?.content).toMatch(
        /^好+ \[…\] \[The rest is left out here, because it is too long\.\]$/,
      )
    }
  })

  it('ends where another user asked (D-67)', async () => {
    const of = session()
    await of.task({ text: 'of Ada', user: 'Ada' })
    await of.task({ text: 'of Bob', user: 'Bob' })
    await of.task({ text: 'of Ada again', user: 'Ada' })
    const asked = async (user: string | null) =>
      (await messagesOf(of.log, of.newest(), of.past(), user)).map(({ content }) => content)
    expect(await asked('Ada')).toEqual(['of Ada again', 'answer'])
    expect(await asked('Bob')).toEqual([])
    expect(await asked(null)).toEqual([])
  })

  it('costs one more task two reads, in the two hundredth as in the second, however long the logs are', async () => {
    const of = session()
    const past = of.past()
    const costs: number[] = []
    for (let i = 0; i < 200; i++) {
      of.reads.length = 0
      await messagesOf(of.log, of.newest(), past)
      costs.push(of.reads.length)
      expect(of.reads.filter((read) => read.startsWith('read'))).toEqual([])
      await of.task({ events: 10 })
    }
    expect(costs.slice(0, 2)).toEqual([0, 2])
    expect(new Set(costs.slice(1))).toEqual(new Set([2]))
  })

  it('costs a daemon that comes new to it two reads for each task it shows', async () => {
    const of = session()
    for (let i = 0; i < 200; i++) await of.task()
    of.reads.length = 0
    expect(await messagesOf(of.log, of.newest(), of.past())).toHaveLength(40)
    expect(of.reads).toHaveLength(40)
  })

  it('reads an answer that is a blob', async () => {
    const of = session()
    await of.task({ answer: '好'.repeat(30_000) })
    expect((await messagesOf(of.log, of.newest(), of.past()))[1]?.content).toBe('好'.repeat(30_000))
  })

  it('finds the answer of a task to which something was written after its end', async () => {
    const of = session()
    await of.task({ answer: 'kept', after: [event('task_cancel_requested', { reason: 'late' })] })
    expect((await messagesOf(of.log, of.newest(), of.past()))[1]?.content).toBe('kept')
  })

  it('does not keep what has not ended', async () => {
    const of = session()
    const past = of.past()
    const log = await of.task({ answer: null })
    expect(await messagesOf(of.log, of.newest(), past)).toEqual([])
    await of.memory.append({
      log,
      expectedRevision: (await of.memory.last(log))?.revision ?? 0,
      payloads: [await endOf(of, log)],
    })
    expect(await messagesOf(of.log, of.newest(), past)).toHaveLength(2)
  })

  it('ends where a log is missing', async () => {
    const of = session()
    expect(await messagesOf(of.log, 'nowhere' as TaskId, of.past())).toEqual([])
  })

  it.each<[string, (payload: string) => string]>([
    ['changed', (payload) => payload.replace('ask', 'lie')],
    ['not a record', () => '[]'],
    ['of another task', (payload) => renamed(payload)],
  ])('begins after a task with a first entry that is %s', async (_, forge) => {
    const of = session()
    const log = await of.task()
    const first = await of.memory.first(log)
    const forged = {
      ...of.journal,
      first: async () => ({
        revision: 1,
        timeMs: 0,
        payload: Buffer.from(forge(Buffer.from(first?.payload ?? '').toString())),
      }),
    }
    const past = pastTasks({ journal: forged, blobs: of.blobs, findWorkflow })
    expect(await messagesOf(of.log, of.newest(), past)).toEqual([])
  })

  it('begins after a task with a last entry that was changed', async () => {
    const of = session()
    const log = await of.task()
    const last = await of.memory.last(log)
    const forged = {
      ...of.journal,
      last: async () => ({
        revision: 9,
        timeMs: 0,
        payload: Buffer.from(
          Buffer.from(last?.payload ?? '')
            .toString()
            .replace('answer', 'forged'),
        ),
      }),
    }
    expect(
      await messagesOf(of.log, of.newest(), pastTasks({ journal: forged, blobs: of.blobs, findWorkflow })),
    ).toEqual([])
  })
})

describe('what is kept of ended tasks', () => {
  it('is read again when an operator removed a text, so that no later task is told it', async () => {
    const of = session()
    const log = await of.task({ answer: 'The word is xyzzy.' })
    const removed = new Map<string, Uint8Array>()
    const blobs = {
      ...of.blobs,
      of: (hash: string) => (removed.has(hash) ? Promise.resolve(removed.get(hash) as Uint8Array) : null),
      refresh: async () => removed.size,
    }
    const past = pastTasks({ journal: of.journal, blobs, findWorkflow })
    const told = async () => (await messagesOf(of.log, of.newest(), past)).map(({ content }) => content)
    expect(await told()).toEqual(['ask', 'The word is xyzzy.'])
    const end = newestRecord((await of.memory.last(log)) as Entry)
    removed.set(end?.hash ?? '', Buffer.from(JSON.stringify(result('The word is [redacted].'))))
    expect(await told()).toEqual(['ask', 'The word is [redacted].'])
    of.reads.length = 0
    expect([await told(), of.reads]).toEqual([['ask', 'The word is [redacted].'], []])
  })

  it('is bounded by their number and their characters: the longest unused goes first', async () => {
    for (const bound of [{ tasksMax: 2 }, { charsMax: 2 * 'askanswer'.length }]) {
      const of = session()
      const logs = [await of.task(), await of.task(), await of.task()] as const
      const past = pastTasks({ journal: of.journal, blobs: of.blobs, findWorkflow }, bound)
      const costOf = async (log: LogId): Promise<number> => {
        of.reads.length = 0
        await past.read(log)
        return of.reads.length
      }
      expect([
        await costOf(logs[0]),
        await costOf(logs[1]),
        await costOf(logs[0]),
        await costOf(logs[2]),
      ]).toEqual([2, 2, 0, 2])
      expect([await costOf(logs[0]), await costOf(logs[2]), await costOf(logs[1])]).toEqual([0, 0, 2])
    }
  })
})

describe('the turns of a session', () => {
  const roundRobin = (members: string[], more: object = {}) => ({
    strategy: 'round_robin',
    members,
    message: 'go',
    ...more,
  })
  const turn = (args: object): TaskRequest['workflow'] => ({ name: 'AgentTeam', arguments: args as never })

  it('are counted for the same team only, and cost one more task two reads', async () => {
    const of = session()
    const past = of.past()
    const call = (args: object) =>
      earlierTurns({ log: of.log, previous: of.newest(), workflow: agentTeam, args }, past)
    const costs: number[] = []
    for (let i = 0; i < 60; i++) {
      of.reads.length = 0
      expect(await call(roundRobin(['a', 'b']))).toBe(i)
      costs.push(of.reads.length)
      await of.task({ workflow: turn(roundRobin(['a', 'b'])) })
    }
    expect(new Set(costs.slice(1))).toEqual(new Set([2]))
    await of.task()
    await of.task({ workflow: turn(roundRobin(['a', 'c'])) })
    await of.task({ workflow: { name: 'unknown', arguments: {} } })
    expect([
      await call(roundRobin(['a', 'b'])),
      await call(roundRobin(['a', 'c'])),
      await call({ ...roundRobin(['a', 'b']), strategy: 'broadcast' }),
    ]).toEqual([60, 1, 0])
  })
})

async function endOf(of: ReturnType<typeof session>, log: LogId): Promise<Uint8Array> {
  const last = JSON.parse(Buffer.from((await of.memory.last(log))?.payload ?? '').toString()) as {
    taskseq: number
    epoch: number
    hash: string
  }[]
  const head = last.at(-1) as LogHead
  const { record } = seal(head, draft(event('task_completed', result('late'))), {
    epoch: 1,
    source: '/d',
    subject: log.task,
    time: '2026-01-01T00:00:00.000Z',
  })
  return joinBatch([record])
}

/** The same record, well made, of a log of another name. */
function renamed(payload: string): string {
  const [{ hash: _, ...record }] = JSON.parse(payload) as [
    Record<string, unknown> & { data: Record<string, unknown> },
  ]
  const other = { ...record, data: { ...record.data, task_id: 'other' } }
  return JSON.stringify([{ ...other, hash: createHash('sha256').update(canonicalJson(other)).digest('hex') }])
}
