// The tree over the journal in the read model: the same whatever the batches were, proofs from it, and
// checkpoints that fit it or do not.
import {
  appendSystemEvent,
  checkpointText,
  type Entry,
  type JournalLeaf,
  journalLeaf,
  readCheckpoint,
  type SystemLog,
  type TreeHead,
} from '@beaver/core/journal'
import type { QueryOutput } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import { newStream, singleTask } from '../../test/journal-fixture.ts'
import { answer } from '../queries/queries.ts'
import { openReadModel, type ReadModel } from '../read-model.ts'
import { nextCheckpoint } from './fold-checkpoint.ts'
import type { SystemMessage } from './fold-system.ts'

const identity = 'BEAVER_main@2026-01-01T00:00:00Z'
const notes = { key: 'a key', sign: (text: string) => `${text}\n— signed\n` }

/** A stream of tasks and system logs, with every message as a leaf. */
function scene() {
  const stream = newStream()
  const stored: JournalLeaf[] = []
  const system: SystemMessage[] = []
  let read = 0
  const sequence = (): number => stream.messages.length + system.length + 1
  const put = (task: string): void => {
    singleTask(stream.log(task))
    for (const message of stream.messages.slice(read)) {
      ;(message as { sequence: number }).sequence = stored.length + 1
      stored.push({ sequence: message.sequence, subject: `of.${task}`, payload: message.payload })
    }
    read = stream.messages.length
  }
  const entries: Entry[] = []
  const log: SystemLog = {
    async append({ name, payload }) {
      const message = { sequence: sequence(), name, payload }
      system.push(message)
      stored.push({ ...message, subject: name })
      entries.push({ revision: message.sequence, payload, timeMs: 0, signature: undefined })
      return { kind: 'appended', revision: message.sequence }
    },
    read: async () => entries,
    last: async () => entries.at(-1) ?? null,
  }
  const checkpoint = (note: string) =>
    appendSystemEvent(log, 'checkpoints', () => ({ type: 'checkpoint_made', data: { note } }), {
      source: '/beaver/projector',
      now: () => 0,
    })
  const applyTo = async (model: ReadModel, batch = stored.length): Promise<ReadModel> => {
    model.begin(identity)
    for (let from = 0; from < stored.length; from += batch) {
      const part = stored.slice(from, from + batch)
      const within = <T extends { sequence: number }>(all: readonly T[]): T[] =>
        all.filter((each) => part.some((of) => of.sequence === each.sequence))
      await model.apply(within(stream.messages), {
        system: within(system),
        stored: part,
        to: part.at(-1)?.sequence ?? 0,
      })
    }
    return model
  }
  return {
    stream,
    stored,
    put,
    checkpoint,
    applyTo,
    open: () => openReadModel(':memory:', { readBlob: stream.readBlob }),
  }
}

const noteOf = (head: TreeHead): string => notes.sign(checkpointText(head))
const proofOf = (model: ReadModel, input: object) =>
  answer(model.sql, 'proof', input, { notes }) as QueryOutput<'proof'>
const faultsOf = (model: ReadModel) =>
  (answer(model.sql, 'status', {}) as { checkpoints: { faults: { message: string }[] } }).checkpoints.faults

describe('the tree', () => {
  it('is the same whatever the batches were, after a rebuild too', async () => {
    const { put, applyTo, open, stored } = scene()
    for (const task of ['a', 'b', 'c', 'd']) put(task)
    using whole = await applyTo(open())
    using single = await applyTo(open(), 1)
    expect(nextCheckpoint(single.sql)).toEqual(nextCheckpoint(whole.sql))
    expect(single.digest()).toBe(whole.digest())
    expect(nextCheckpoint(whole.sql)).toMatchObject({ origin: identity, size: stored.length, isNews: true })
  })

  it('takes a message once, and knows numbers that no message has', async () => {
    const { put, open, stored } = scene()
    put('a')
    const shifted = stored.map((leaf, i) => ({ ...leaf, sequence: leaf.sequence + (i === 0 ? 0 : 3) }))
    using model = open()
    model.begin(identity)
    for (let times = 0; times < 2; times++)
      await model.apply([], { stored: shifted, to: shifted.at(-1)?.sequence ?? 0 })
    const { size, inclusion } = proofOf(model, { sequences: [1, 2, 4, 5, 999] })
    expect(size).toBe(stored.length)
    expect(inclusion.map(({ index }) => index)).toEqual([0, null, null, 1, null])
  })
})

describe('a checkpoint in the journal', () => {
  it('fits if it is what the tree was, and then there is no news', async () => {
    const { put, checkpoint, applyTo, open } = scene()
    put('a')
    using before = await applyTo(open())
    await checkpoint(noteOf(nextCheckpoint(before.sql)))
    using after = await applyTo(open())
    expect(faultsOf(after)).toEqual([])
    expect(nextCheckpoint(after.sql).isNews).toBe(false)
    put('b')
    using later = await applyTo(open())
    expect(nextCheckpoint(later.sql).isNews).toBe(true)
  })

  it.each<[string, (head: TreeHead) => string, RegExp]>([
    [
      'of changed messages',
      (head) => noteOf({ ...head, root: Buffer.alloc(32) }),
      /are not those that it counts/,
    ],
    [
      'of more messages than there were',
      (head) => noteOf({ ...head, size: head.size + 1 }),
      /The end of the journal was lost or replaced/,
    ],
    [
      'of another journal',
      (head) => noteOf({ ...head, origin: 'BEAVER_main@2020-01-01T00:00:00Z' }),
      /belongs to another journal/,
    ],
    ['that is none', () => 'nothing', /not a checkpoint/],
  ])('%s is a finding', async (_, noteFrom, message) => {
    const { put, checkpoint, applyTo, open } = scene()
    put('a')
    using before = await applyTo(open())
    await checkpoint(noteFrom(nextCheckpoint(before.sql)))
    using after = await applyTo(open())
    expect(faultsOf(after)).toEqual([
      {
        from: expect.stringContaining('of the journal') as string,
        message: expect.stringMatching(message) as string,
      },
    ])
    expect(nextCheckpoint(after.sql).isNews).toBe(true)
  })
})

describe('a proof', () => {
  it('has the checkpoint, the ends of logs, inclusion and consistency of one moment', async () => {
    const { put, applyTo, open, stored, stream } = scene()
    for (const task of ['a', 'b', 'c']) put(task)
    using model = await applyTo(open())
    const { size, root, key, checkpoint, heads, inclusion, consistency } = proofOf(model, {
      sequences: [1],
      older: [1, 2, 999],
      task_ids: ['b'],
    })
    expect([size, key]).toEqual([stored.length, 'a key'])
    expect(readCheckpoint(String(checkpoint))).toEqual({
      origin: identity,
      size,
      root: Buffer.from(root, 'base64'),
    })
    const lines = String(heads).split('\n')
    expect(lines.slice(0, 3)).toEqual([`${identity}/heads`, String(size), root])
    const last = stream.messages.findLast(({ log }) => log?.task === 'b')
    expect(JSON.parse(lines[3] ?? '')).toMatchObject({
      tenant: 'local',
      session: 'web:test',
      task: 'b',
      sequence: last?.sequence,
    })
    expect(inclusion).toMatchObject([{ sequence: 1, index: 0 }])
    expect(consistency?.map((each) => each.root)).toEqual([
      Buffer.from(journalLeaf(stored[0]!)).toString('base64'),
      expect.any(String),
      null,
    ])
    expect(() => proofOf(model, { size: 999 })).toThrow('The journal has')
    expect(() => proofOf(model, { size: 1, task_ids: ['b'] })).toThrow('only be proved for the present tree')
  })
})
