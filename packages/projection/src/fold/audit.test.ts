import { canonicalJson, event, type JsonObject } from '@beaver/core'
import { joinBatch, type SealedRecord, type WireRecord } from '@beaver/core/journal'
import { hash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type LogWriter,
  newStream,
  result,
  singleTask,
  submitted,
  teamTask,
  userMessage,
  workflowTask,
} from '../../test/journal-fixture.ts'
import { answer } from '../../test/checked-answer.ts'
import { type Applied, openReadModel, type ReadModel } from '../read-model.ts'

interface Scene {
  readonly stream: ReturnType<typeof newStream>
  readonly log: LogWriter
}

/** A submitted and claimed task, to be tampered with. */
function scene(): Scene {
  const stream = newStream()
  const log = stream.log('task-1')
  log.write(submitted(log.log))
  log.epoch = 1
  log.write(event('task_claimed', { daemon: 'd1' }))
  return { stream, log }
}

async function applied({ stream }: Scene): Promise<{ model: ReadModel; report: Applied }> {
  const model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  return { model, report: await model.apply(stream.messages) }
}

const forged = (record: SealedRecord, from: string, to: string): SealedRecord => ({
  ...record,
  text: record.text.replace(from, to),
})
const findings = (model: ReadModel): unknown[] =>
  model.sql.all('select kind, taskseq, sequence from audit_findings order by finding_id')
const chainOk = (model: ReadModel): unknown =>
  model.sql.get<{ chain_ok: number }>('select chain_ok from tasks')?.chain_ok

describe('a changed event', () => {
  test('is one finding, is shown as it stands, and does not stop the events after it', async () => {
    const at = scene()
    at.log.put(forged(at.log.sealed(userMessage('r', 'pay 10')), 'pay 10', 'pay 99'))
    at.log.write(event('task_completed', result({ final_output: 'paid' })))
    const { model } = await applied(at)
    using _ = model
    expect(findings(model)).toEqual([{ kind: 'chain', taskseq: 3, sequence: 5 }])
    expect(model.sql.get('select status, final_output, chain_ok, last_taskseq from tasks')).toEqual({
      status: 'completed',
      final_output: 'paid',
      chain_ok: 0,
      last_taskseq: 4,
    })
    expect(model.sql.get('select data from events where taskseq = 3')).toEqual({
      data: '{"content":"pay 99"}',
    })
    expect(answer(model.sql, 'task', { task_id: 'task-1' })).toMatchObject({
      chain_ok: false,
      findings: [{ kind: 'chain', taskseq: 3 }],
    })
    expect(answer(model.sql, 'audit', {})).toMatchObject({ intact: false, tasks_broken: 1 })
  })

  test('is found whatever batch it comes in', async () => {
    const at = scene()
    at.log.put(forged(at.log.sealed(userMessage('r', 'a')), '"a"', '"b"'))
    const { model: whole } = await applied(at)
    using one = openReadModel(':memory:', { readBlob: at.stream.readBlob })
    one.begin('S@1')
    for (const message of at.stream.messages) await one.apply([message])
    expect(one.digest()).toBe(whole.digest())
    whole.close()
  })
})

test('finds and shows the same however messages are batched, whatever was changed in them', async () => {
  const stream = newStream()
  singleTask(stream.log('task-1'))
  teamTask(stream.log('task-2'))
  workflowTask(stream.log('task-3'))
  const change = fc.record({
    message: fc.nat(stream.messages.length - 1),
    byte: fc.nat(100_000),
    flip: fc.constantFrom(1, 2, 16, 32),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(change, { minLength: 1, maxLength: 4, selector: ({ message }) => message }),
      fc.integer({ min: 1, max: 30 }),
      async (changes, size) => {
        const messages = stream.messages.map((message) => ({
          ...message,
          payload: Uint8Array.from(message.payload),
        }))
        for (const { message, byte, flip } of changes) {
          const payload = (messages[message] as { payload: Uint8Array }).payload
          payload[byte % payload.length] = (payload[byte % payload.length] ?? 0) ^ flip
        }
        const digests = await Promise.all(
          [1, size, messages.length].map(async (batch) => {
            using model = openReadModel(':memory:', { readBlob: stream.readBlob })
            model.begin('S@1')
            for (let i = 0; i < messages.length; i += batch) await model.apply(messages.slice(i, i + batch))
            expect(
              model.sql.one<{ n: number }>('select count(*) as n from audit_findings').n,
            ).toBeGreaterThan(0)
            return model.digest()
          }),
        )
        expect(new Set(digests).size).toBe(1)
      },
    ),
    { numRuns: 10 },
  )
})

test('a missing event is one finding', async () => {
  const at = scene()
  at.log.sealed(userMessage('r', 'lost'))
  at.log.write(userMessage('r', 'kept'))
  const { model } = await applied(at)
  using _ = model
  expect(findings(model)).toEqual([{ kind: 'chain', taskseq: 4, sequence: 5 }])
  expect(chainOk(model)).toBe(0)
})

test('an event journaled twice is kept in the finding and counted once', async () => {
  const at = scene()
  const ended = at.log.sealed(event('task_failed', result({ failure: { class: 'internal', message: 'x' } })))
  at.log.put(ended)
  at.log.put(ended)
  const { model, report } = await applied(at)
  using _ = model
  expect(report).toMatchObject({ findings: 1 })
  expect(model.sql.get('select kind, taskseq, record from audit_findings')).toMatchObject({
    kind: 'repeat',
    taskseq: 3,
    record: expect.stringContaining('task_failed'),
  })
  expect(model.sql.get('select count(*) as n from events')).toEqual({ n: 3 })
})

test('an event of an older epoch is a finding', async () => {
  const at = scene()
  at.log.epoch = 0
  at.log.write(userMessage('r', 'late'))
  const { model } = await applied(at)
  using _ = model
  expect(model.sql.get('select message from audit_findings')).toEqual({
    message: 'event 3 has epoch 0, older than 1',
  })
})

test('a message that is no batch is a finding of its task, and the rest of the stream is applied', async () => {
  const at = scene()
  at.stream.messages.push({ sequence: 100, log: at.log.log, payload: Buffer.from('not json') })
  singleTask(at.stream.log('task-2'))
  const shifted = at.stream.messages.map((message, index) => ({ ...message, sequence: index + 1 }))
  using model = openReadModel(':memory:', { readBlob: at.stream.readBlob })
  model.begin('S@1')
  await model.apply(shifted)
  expect(findings(model)).toEqual([{ kind: 'message', taskseq: null, sequence: 3 }])
  expect(model.sql.all('select task_id, status, chain_ok from tasks order by task_key')).toEqual([
    { task_id: 'task-1', status: 'quarantined', chain_ok: 0 },
    { task_id: 'task-2', status: 'completed', chain_ok: 1 },
  ])
})

test('a log moved under the name of another task is a finding', async () => {
  const stream = newStream()
  const other = stream.log('task-2')
  const log = stream.log('task-1')
  log.write(submitted(other.log))
  const { model } = await applied({ stream, log })
  using _ = model
  expect(findings(model)).toEqual([{ kind: 'identity', taskseq: 1, sequence: 1 }])
})

test('an event of an unknown type is stored as it came and is no finding', async () => {
  const at = scene()
  // A newer Beaver seals a type this version has never heard of.
  const { text } = at.log.sealed(event('task_cancel_requested', { reason: 'later' }))
  const { hash: _hash, ...record } = JSON.parse(text) as WireRecord
  const later = { ...record, type: 'beaver.task_paused.v1', data: { until: 'noon' } }
  const head = hash('sha256', canonicalJson(later as unknown as JsonObject))
  at.log.put({ text: canonicalJson({ ...later, hash: head } as unknown as JsonObject), blob: null })
  at.log.head = { ...at.log.head, hash: head }
  at.log.write(event('task_completed', result()))
  const { model, report } = await applied(at)
  using _ = model
  expect(report.findings).toBe(0)
  expect(model.sql.get('select type, data from events where taskseq = 3')).toEqual({
    type: 'beaver.task_paused.v1',
    data: '{"until":"noon"}',
  })
  const timeline = answer(model.sql, 'timeline', { task_id: 'task-1' })
  expect(timeline.events[2]?.text).toBe(
    'Event 3 (beaver.task_paused.v1) has a type that this version does not know.',
  )
})

test('data of another shape than its type is a finding, with the chain intact', async () => {
  const at = scene()
  at.log.put(at.log.sealed({ type: 'user_message_added', data: { content: 7 } } as never))
  const { model } = await applied(at)
  using _ = model
  expect(findings(model)).toEqual([{ kind: 'shape', taskseq: 3, sequence: 5 }])
  expect(chainOk(model)).toBe(1)
})

test('data nested deeper than the stack is a finding, not a crash', async () => {
  const at = scene()
  at.log.put(
    forged(at.log.sealed(userMessage('r', 'x')), '"x"', `${'['.repeat(200_000)}${']'.repeat(200_000)}`),
  )
  at.log.write(event('task_completed', result()))
  const { model } = await applied(at)
  using _ = model
  expect(findings(model)).toEqual([
    { kind: 'chain', taskseq: 3, sequence: 5 },
    { kind: 'shape', taskseq: 3, sequence: 5 },
  ])
  expect(model.sql.get('select status from tasks')).toEqual({ status: 'completed' })
})

test('numbers beyond what can be summed do not make a task unreadable', async () => {
  const at = scene()
  const greatest = Number.MAX_SAFE_INTEGER
  for (let n = 0; n < 2; n++) {
    const usage = { input_tokens: greatest, output_tokens: greatest, calls: greatest }
    const answered = {
      content: 'x',
      tool_calls: [],
      finish_reason: 'stop',
      usage,
      provider_name: 'p',
      model: 'm',
      response_id: null,
      duration_ms: greatest,
    }
    at.log.write(event('assistant_message_added', answered, 'r'))
  }
  const { model } = await applied(at)
  using _ = model
  expect(answer(model.sql, 'tasks', {})).toMatchObject({ tasks: [{ input_tokens: greatest }] })
})

describe('blobs', () => {
  const big = '报'.repeat(40_000)

  test('are read into the event they belong to', async () => {
    const at = scene()
    at.log.write(userMessage('r', big))
    const { model, report } = await applied(at)
    using _ = model
    expect(at.stream.blobs.size).toBe(1)
    expect(report.findings).toBe(0)
    expect(model.sql.get('select data, blob_sha256 from events where taskseq = 3')).toEqual({
      data: JSON.stringify({ content: big }),
      blob_sha256: [...at.stream.blobs.keys()][0],
    })
  })

  test('that are missing leave the event without data, a finding, and the chain intact', async () => {
    const at = scene()
    at.log.write(userMessage('r', big))
    at.stream.blobs.clear()
    const { model } = await applied(at)
    using _ = model
    expect(findings(model)).toEqual([{ kind: 'blob_missing', taskseq: 3, sequence: 5 }])
    expect(model.sql.get('select data from events where taskseq = 3')).toEqual({ data: null })
    expect(chainOk(model)).toBe(1)
    expect(answer(model.sql, 'audit', { task_id: 'task-1' })).toMatchObject({
      intact: false,
      tasks_broken: 0,
    })
  })

  test('that hold other content are a finding and are not shown', async () => {
    const at = scene()
    at.log.write(userMessage('r', big))
    for (const name of at.stream.blobs.keys()) at.stream.blobs.set(name, Buffer.from('{"content":"forged"}'))
    const { model } = await applied(at)
    using _ = model
    expect(findings(model)).toEqual([{ kind: 'blob_changed', taskseq: 3, sequence: 5 }])
    expect(model.sql.get('select data from events where taskseq = 3')).toEqual({ data: null })
  })

  test('with a name that is none are a finding, and the store is not asked', async () => {
    const at = scene()
    at.log.put(
      forged(at.log.sealed(userMessage('r', 'x')), '"data":{"content":"x"}', '"dataref":"../../etc/passwd"'),
    )
    using model = openReadModel(':memory:', { readBlob: () => Promise.reject(new Error('asked')) })
    model.begin('S@1')
    await model.apply(at.stream.messages)
    expect(findings(model)).toMatchObject([{ kind: 'chain' }, { kind: 'blob_missing' }])
  })

  test('do not hide that the task ended', async () => {
    const at = scene()
    at.log.write(event('task_completed', result({ final_output: big })))
    at.stream.blobs.clear()
    const { model } = await applied(at)
    using _ = model
    expect(model.sql.get('select status, final_output from tasks')).toEqual({
      status: 'completed',
      final_output: null,
    })
  })

  test('that cannot be reached leave the whole batch unapplied, to be tried again', async () => {
    const at = scene()
    at.log.write(userMessage('r', big))
    let down = true
    const readBlob = (name: string): Promise<Uint8Array> =>
      down ? Promise.reject(new Error('connection lost')) : at.stream.readBlob(name)
    using model = openReadModel(':memory:', { readBlob })
    model.begin('S@1')
    await expect(model.apply(at.stream.messages)).rejects.toThrow('connection lost')
    expect(model.sql.get('select sequence from checkpoint')).toEqual({ sequence: 0 })
    down = false
    expect(await model.apply(at.stream.messages)).toMatchObject({ events: 3, findings: 0 })
  })

  test('are fetched a bounded number at a time, each once', async () => {
    const at = scene()
    for (let n = 0; n < 30; n++) at.log.write(userMessage('r', `${n % 20}${big}`))
    let open = 0
    let most = 0
    let fetched = 0
    using model = openReadModel(':memory:', {
      readBlob: async (name) => {
        most = Math.max(most, ++open)
        fetched++
        await Promise.resolve()
        open--
        return at.stream.readBlob(name)
      },
    })
    model.begin('S@1')
    await model.apply(at.stream.messages)
    expect({ fetched, most }).toEqual({ fetched: 20, most: 8 })
  })
})

test('an empty batch of records is a finding, not a crash', async () => {
  const at = scene()
  at.stream.messages.push({ sequence: 99, log: at.log.log, payload: joinBatch([]) })
  const { model } = await applied(at)
  using _ = model
  expect(findings(model)).toEqual([{ kind: 'message', taskseq: null, sequence: 99 }])
})
