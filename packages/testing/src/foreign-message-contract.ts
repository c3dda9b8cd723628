// What every Journal and TaskQueue must do about a message that is no record, in memory and on JetStream.
import type { LogId, SessionId, TaskId } from '@beaver/core'
import { describe, expect, test } from 'vitest'
import { bytes, deliveryOf, freshLog, type JournalUnderTest, textOf } from './journal-contract.ts'

const garbage = Buffer.from('garbage of a stranger')

/** @param open opens the parts under test; called once, before the first test */
export function foreignMessageContract(name: string, open: () => Promise<JournalUnderTest>): void {
  describe(`${name} with messages that are no records`, () => {
    let opened: Promise<JournalUnderTest> | null = null
    const parts = (): Promise<JournalUnderTest> => (opened ??= open())
    const accepted = async (log: LogId): Promise<{ acceptedRevision: number; revision: number }> => {
      const { journal } = await parts()
      const outcome = await journal.accept({
        log,
        payloads: [bytes(log.task)],
        tail: await journal.sessionTail(log.tenant, log.session),
      })
      if (outcome.kind !== 'accepted') throw new Error(outcome.kind)
      return outcome
    }

    test('a stranger takes no place in a session: the newest task is the one before, and the next one is the one behind', async () => {
      const { journal, intrude } = await parts()
      const [one, two] = [freshLog('a session'), freshLog('a session')]
      const { acceptedRevision } = await accepted(one)
      await intrude(freshLog('a session'), 'accepted', garbage)
      const tail = await journal.sessionTail(one.tenant, one.session)
      expect(tail.task).toBe(one.task)
      expect(tail.revision).toBeGreaterThan(acceptedRevision)
      await accepted(two)
      expect(await journal.next(one, acceptedRevision)).toBe(two.task)
      expect((await journal.sessionTail(one.tenant, one.session)).task).toBe(two.task)
    })

    test('a session in which only strangers wrote has no newest task, and can be begun', async () => {
      const { journal, intrude } = await parts()
      const log = freshLog()
      await intrude({ ...log, task: 'stranger' as TaskId }, 'accepted', garbage)
      const tail = await journal.sessionTail(log.tenant, log.session)
      expect(tail.task).toBeNull()
      expect(tail.revision).toBeGreaterThan(0)
      await accepted(log)
      expect(await journal.find(log.tenant, log.task)).toEqual(log)
    })

    test('a second message under the subject of the acceptance is no part of the log', async () => {
      const { journal, intrude } = await parts()
      const log = freshLog()
      const { acceptedRevision, revision } = await accepted(log)
      await intrude(log, 'accepted', garbage)
      expect(textOf((await journal.first(log))?.payload ?? bytes(''))).toBe(log.task)
      expect((await journal.last(log))?.revision).toBe(acceptedRevision)
      expect((await journal.read(log)).map((entry) => textOf(entry.payload))).toEqual([log.task])
      expect(
        (await journal.append({ log, expectedRevision: revision, payloads: [bytes('claimed')] })).kind,
      ).toBe('appended')
      expect((await journal.read(log)).map((entry) => textOf(entry.payload))).toEqual([log.task, 'claimed'])
    })

    test('a message behind the entries fences the writer, who can write behind it', async () => {
      const { journal, intrude } = await parts()
      const log = freshLog()
      const { revision } = await accepted(log)
      await intrude(log, 'events', garbage)
      const last = await journal.last(log)
      expect(Buffer.from(last?.payload ?? []).equals(garbage)).toBe(true)
      expect(await journal.append({ log, expectedRevision: revision, payloads: [bytes('claimed')] })).toEqual(
        { kind: 'fenced' },
      )
      expect(
        (await journal.append({ log, expectedRevision: last?.revision ?? 0, payloads: [bytes('given up')] }))
          .kind,
      ).toBe('appended')
      expect(await journal.read(log)).toHaveLength(3)
    })

    test('a message under an own name hides no task of another session that has the id', async () => {
      const { journal, intrude } = await parts()
      const log = freshLog('another session')
      await accepted(log)
      const own = { ...log, session: log.task as string as SessionId }
      await intrude(own, 'accepted', garbage)
      await intrude(own, 'events', garbage)
      expect(await journal.find(log.tenant, log.task)).toEqual(log)
    })

    test('is delivered with its content, and never again after it is refused', async () => {
      const { queue, intrude } = await parts()
      const [strange, good] = [freshLog(), freshLog()]
      await intrude(strange, 'accepted', garbage)
      const tasks = await queue(60_000)
      const delivery = await deliveryOf(tasks, strange)
      expect(Buffer.from(delivery.first?.payload ?? []).equals(garbage)).toBe(true)
      delivery.refuse('It is no record.')
      await accepted(good)
      const next = await deliveryOf(tasks, good)
      expect(next.log).toEqual(good)
      next.acknowledge()
    })
  })
}
