// Archived tasks in the read model: the rows and the tree are the same whatever was deleted when they were
// built.
import type { LogId, SystemDataOf } from '@beaver/core'
import {
  archiveEvents,
  ArchivedMessages,
  emptySystemLog,
  KeyRing,
  type RecordedSystemEvent,
  splitBatch,
} from '@beaver/core/journal'
import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { newStream, singleTask, teamTask } from '../../test/journal-fixture.ts'
import { answer } from '../../test/checked-answer.ts'
import { openReadModel, type ReadModel } from '../read-model.ts'
import { countFaults, verifyTasks } from '../verify.ts'
import type { JournalMessage } from './intake.ts'

const subjectOf = (log: LogId): string => `of.${log.task}`
const of = { file: '/archive/a.ndjson', file_sha256: 'a'.repeat(64), by: 'ada' }
type Data = SystemDataOf<'messages_archived'>

/** Three tasks, and the archive of the first two. Every number of the stream is a message. */
function scene() {
  const stream = newStream()
  singleTask(stream.log('one'))
  teamTask(stream.log('two'))
  singleTask(stream.log('open'))
  for (const [i, message] of stream.messages.entries()) (message as { sequence: number }).sequence = i + 1
  const ofTask = (task: string): JournalMessage[] => stream.messages.filter(({ log }) => log?.task === task)
  const headOf = ({ payload }: JournalMessage) => {
    const { taskseq, epoch, hash: head } = splitBatch(payload).at(-1)!
    return { taskseq, epoch, hash: head }
  }
  const named = ['one', 'two'].map((task) => {
    const all = ofTask(task)
    const messages = all.slice(1, -1).map((message) => ({
      sequence: message.sequence,
      payloadSha256: Buffer.from(hash('sha256', message.payload), 'hex').toString('base64url'),
      head: headOf(message),
    }))
    return { log: all[0]!.log!, after: headOf(all[0]!), messages }
  })
  const [data] = archiveEvents(of, named)
  const gone = new Set(named.flatMap(({ messages }) => messages.map(({ sequence }) => sequence)))
  return { stream, data: data!, gone, ofTask }
}

function archivesOf(...events: readonly Data[]) {
  const recorded = events.map((data): RecordedSystemEvent => ({
    ...{
      type: 'messages_archived',
      data,
      taskseq: 1,
      epoch: 0,
      source: '',
      time: '2026-01-01T00:00:00.000Z',
      hash: '',
      revision: 1e6,
      signature: '',
    },
  }))
  const archived = new ArchivedMessages('local', recorded)
  return { archived: () => archived, subjectOf }
}

const signatures = { namespace: 'S', ring: new KeyRing('', emptySystemLog) }

type Scene = ReturnType<typeof scene>

/** A read model of what is left, built in batches of this size. */
async function built(
  { stream }: Scene,
  archives: ReturnType<typeof archivesOf>,
  left: (message: JournalMessage) => boolean,
  batch = 1_000,
): Promise<ReadModel> {
  const model = openReadModel(':memory:', { readBlob: stream.readBlob, archives, ...signatures })
  model.begin('S@1')
  const messages = stream.messages.filter(left)
  for (let from = 0; from < messages.length; from += batch) {
    const part = messages.slice(from, from + batch)
    await model.apply(part, {
      stored: part.map((message) => ({ ...message, subject: subjectOf(message.log!) })),
    })
  }
  return model
}
const rootOf = (model: ReadModel): string => answer(model.sql, 'proof', {}).root

describe('archived tasks', () => {
  it('have the same rows and leave the same tree, whatever was deleted before they were read, in batches of any size', async () => {
    const at = scene()
    const archives = archivesOf(at.data)
    const whole = await built(at, archivesOf(), () => true)
    const none = await built(at, archives, () => true)
    const all = await built(at, archives, ({ sequence }) => !at.gone.has(sequence))
    const half = await built(at, archives, ({ sequence }) => !at.gone.has(sequence) || sequence % 2 === 0, 3)
    expect([...all.dump()]).toEqual([...none.dump()])
    expect([...half.dump()]).toEqual([...none.dump()])
    expect(rootOf(all)).toBe(rootOf(whole))
  })

  it('keep their request, their end and an intact chain, and the other tasks keep everything', async () => {
    const at = scene()
    const [whole, archived] = [
      await built(at, archivesOf(), () => true),
      await built(at, archivesOf(at.data), ({ sequence }) => !at.gone.has(sequence)),
    ]
    for (const task_id of ['one', 'two']) {
      const [before, after] = [whole, archived].map((model) => answer(model.sql, 'task', { task_id }))
      expect(after).toMatchObject({
        chain_ok: true,
        findings: [],
        final_output: before!.final_output,
        outputs: before!.outputs,
      })
      expect(after!.task).toMatchObject({
        status: before!.task.status,
        text: before!.task.text,
        head_hash: before!.task.head_hash,
        last_taskseq: before!.task.last_taskseq,
      })
    }
    expect(answer(archived.sql, 'task', { task_id: 'open' })).toEqual(
      answer(whole.sql, 'task', { task_id: 'open' }),
    )
    expect(countFaults(archived.sql)).toEqual([])
  })

  it('are noticed by a read model that has more of them, and only by that', async () => {
    const at = scene()
    const nothing = archivesOf()
    let archives = nothing
    const model = await built(at, { archived: () => archives.archived(), subjectOf }, () => true)
    expect(model.remembersRemoved()).toBe(false)
    archives = archivesOf(at.data)
    expect(model.remembersRemoved()).toBe(true)
    expect((await built(at, archives, () => true)).remembersRemoved()).toBe(false)
  })

  it('verify against the journal, with or without the deletion; a lost message of another task does not', async () => {
    const at = scene()
    const archives = archivesOf(at.data)
    const model = await built(at, archives, ({ sequence }) => !at.gone.has(sequence))
    const verdicts = async (left: (message: JournalMessage) => boolean) =>
      (
        await verifyTasks(model.sql, [1, 2, 3], {
          readBlob: at.stream.readBlob,
          replacedData: () => null,
          archives,
          readLog: async (log) => at.ofTask(log.task).filter(left),
          signatures,
        })
      ).map(({ kind }) => kind)
    expect(await verdicts(({ sequence }) => !at.gone.has(sequence))).toEqual(['same', 'same', 'same'])
    expect(await verdicts(() => true)).toEqual(['same', 'same', 'same'])
    const lost = at.ofTask('open')[1]!.sequence
    expect(await verdicts(({ sequence }) => !at.gone.has(sequence) && sequence !== lost)).toEqual([
      'same',
      'same',
      'differs',
    ])
  })

  it('that lose their last entry, or another one than the named ones, have a finding', async () => {
    const at = scene()
    const short = {
      ...at.data,
      logs: at.data.logs.map((part) => ({
        ...part,
        sequences: part.sequences.slice(1),
        payloads: part.payloads.slice(1),
      })),
    }
    const model = await built(at, archivesOf(short), ({ sequence }) => !at.gone.has(sequence))
    // A message that lies between the named ones, and that the event leaves out, stays. It is not forgotten
    // again and again.
    expect((await built(at, archivesOf(short), () => true)).remembersRemoved()).toBe(false)
    // The event names fewer messages than it says that the chain passes over: the numbers of the stream show
    // what is missing.
    expect(rootOf(model)).not.toBe(rootOf(await built(at, archivesOf(), () => true)))
    const named = archivesOf(at.data)
    const first = at.ofTask('one')[1]!.sequence
    const other = {
      ...at.data,
      logs: at.data.logs.map((part) => ({ ...part, after: { ...part.after, hash: 'b'.repeat(64) } })),
    }
    const broken = await built(at, archivesOf(other), ({ sequence }) => !at.gone.has(sequence))
    expect(answer(broken.sql, 'task', { task_id: 'one' })).toMatchObject({
      chain_ok: false,
      findings: [{ kind: 'chain' }],
    })
    expect(named.archived().has(first)).toBe(true)
  })

  it('with a replaced message at the place of an archived one are broken, and the read model does not forget them again and again', async () => {
    const at = scene()
    const archives = archivesOf(at.data)
    const place = at.ofTask('one')[1]!
    const model = openReadModel(':memory:', { readBlob: at.stream.readBlob, archives })
    model.begin('S@1')
    await model.apply(
      at.stream.messages.map((message) =>
        message === place ? { ...message, payload: at.ofTask('one')[2]!.payload } : message,
      ),
    )
    expect(answer(model.sql, 'task', { task_id: 'one' })).toMatchObject({ chain_ok: false })
    expect(model.remembersRemoved()).toBe(false)
  })

  it('of which an event says a false hash, and that are still there, are broken, and the read model does not forget them again and again', async () => {
    const at = scene()
    const wrong = archivesOf({
      ...at.data,
      logs: at.data.logs.map((part) => ({ ...part, payloads: ['A'.repeat(43), ...part.payloads.slice(1)] })),
    })
    const model = await built(at, wrong, () => true)
    for (const task_id of ['one', 'two'])
      expect(answer(model.sql, 'task', { task_id })).toMatchObject({
        chain_ok: false,
        findings: [{ message: expect.stringContaining('not the one that was archived') }],
      })
    expect(model.remembersRemoved()).toBe(false)
  })

  it('of which an event says a false hash leave another tree', async () => {
    const at = scene()
    const wrong = {
      ...at.data,
      logs: at.data.logs.map((part) => ({ ...part, payloads: part.payloads.map(() => 'A'.repeat(43)) })),
    }
    const model = await built(at, archivesOf(wrong), ({ sequence }) => !at.gone.has(sequence))
    expect(rootOf(model)).not.toBe(rootOf(await built(at, archivesOf(), () => true)))
  })
})
