// What every Journal, TaskQueue and BlobStore must do, for the in-memory twins and the JetStream adapters.
import type { BlobStore, LogId } from '@beaver/core'
import type { Delivery, Journal, TaskQueue } from '@beaver/core/journal'
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'

export interface JournalUnderTest {
  readonly journal: Journal
  readonly blobs: BlobStore
  /** A queue with this lease, over the same journal. */
  queue(leaseMs: number): Promise<TaskQueue>
  /** Stores an unfenced message as a log's first entry (`accepted`) or as a later one (`events`). */
  intrude(log: LogId, place: 'accepted' | 'events', payload: Uint8Array): Promise<void>
}

let logs = 0
/** An unused log, in a new session unless one is named. */
export const freshLog = (session?: string): LogId => {
  logs++
  return {
    tenant: 'local',
    session: session ?? `会话 web:${logs}.*>`,
    task: `task ${logs} \u{1F9AB}`,
  } as LogId
}
const wireRecord = {
  specversion: '1.0',
  id: 'i',
  source: 's',
  subject: 't',
  type: 'test',
  time: '',
  taskseq: 1,
  epoch: 0,
  prevhash: '',
  hash: '',
}
export const bytes = (text: string): Uint8Array =>
  Buffer.from(JSON.stringify([{ ...wireRecord, data: text }]))
export const textOf = (payload: Uint8Array): string =>
  (JSON.parse(Buffer.from(payload).toString()) as { data: string }[])[0]?.data ?? ''

/** @param open opens the parts under test; called once, before the first test */
export function journalContract(name: string, open: () => Promise<JournalUnderTest>): void {
  describe(`${name} as a journal`, () => {
    let opened: Promise<JournalUnderTest> | null = null
    const parts = (): Promise<JournalUnderTest> => (opened ??= open())
    const started = async (
      journal: Journal,
      log = freshLog(),
    ): Promise<{ log: LogId; revision: number; acceptedRevision: number }> => {
      const outcome = await journal.accept({
        log,
        payloads: [bytes('first')],
        tail: await journal.sessionTail(log.tenant, log.session),
      })
      if (outcome.kind !== 'accepted') throw new Error(outcome.kind)
      return { log, revision: outcome.revision, acceptedRevision: outcome.acceptedRevision }
    }

    test('has no first or last entry, no entries and no tail for an empty log', async () => {
      const { journal } = await parts()
      const log = freshLog()
      expect(await journal.first(log)).toBeNull()
      expect(await journal.last(log)).toBeNull()
      expect(await journal.read(log)).toEqual([])
      expect(await journal.sessionTail(log.tenant, log.session)).toEqual({ task: null, revision: 0 })
    })

    test('reads entries back in the order of their appends, each with the revision that its append returned', async () => {
      const { journal } = await parts()
      const { log, revision, acceptedRevision } = await started(journal)
      const revisions = [revision]
      for (const text of ['second', 'third']) {
        const outcome = await journal.append({
          log,
          expectedRevision: revisions.at(-1) as number,
          payloads: [bytes(text)],
        })
        expect(outcome.kind).toBe('appended')
        if (outcome.kind === 'appended') revisions.push(outcome.revision)
      }
      const entries = await journal.read(log)
      expect(entries.map((entry) => [entry.revision, textOf(entry.payload)])).toEqual([
        [acceptedRevision, 'first'],
        [revisions[1], 'second'],
        [revisions[2], 'third'],
      ])
      expect((await journal.last(log))?.revision).toBe(revisions[2])
      expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))
    })

    test('keeps the first entry first, whatever is written after it and in other logs', async () => {
      const { journal } = await parts()
      const { log, revision, acceptedRevision } = await started(journal)
      const first = await journal.first(log)
      expect([first?.revision, textOf(first?.payload ?? bytes(''))]).toEqual([acceptedRevision, 'first'])
      const other = await started(journal, freshLog(log.session))
      await journal.append({ log, expectedRevision: revision, payloads: ['second', 'third'].map(bytes) })
      expect(await journal.first(log)).toEqual(first)
      expect((await journal.first(other.log))?.revision).toBe(other.acceptedRevision)
    })

    test('refuses an append that expects an older revision, and stores nothing of it', async () => {
      const { journal } = await parts()
      const { log, revision } = await started(journal)
      await journal.append({ log, expectedRevision: revision, payloads: [bytes('by the new owner')] })
      expect(
        await journal.append({ log, expectedRevision: revision, payloads: [bytes('by the old owner')] }),
      ).toEqual({ kind: 'fenced' })
      expect((await journal.read(log)).map((entry) => textOf(entry.payload))).toEqual([
        'first',
        'by the new owner',
      ])
    })

    test('stores an append of several entries as a whole and in order, with the revision of the last one, and accepts the next append after it', async () => {
      const { journal } = await parts()
      const { log, revision } = await started(journal)
      const payloads = ['second', 'third', 'fourth'].map(bytes)
      const outcome = await journal.append({ log, expectedRevision: revision, payloads })
      const last = await journal.last(log)
      expect(outcome).toEqual({ kind: 'appended', revision: last?.revision })
      expect(
        (await journal.append({ log, expectedRevision: last?.revision ?? 0, payloads: [bytes('fifth')] }))
          .kind,
      ).toBe('appended')
      expect((await journal.read(log)).map((entry) => textOf(entry.payload))).toEqual([
        'first',
        'second',
        'third',
        'fourth',
        'fifth',
      ])
    })

    test('refuses an append of several entries that expects an older revision, and stores none of them', async () => {
      const { journal } = await parts()
      const { log, revision } = await started(journal)
      await journal.append({ log, expectedRevision: revision, payloads: [bytes('by the new owner')] })
      expect(
        await journal.append({
          log,
          expectedRevision: revision,
          payloads: ['by', 'the', 'old', 'owner'].map(bytes),
        }),
      ).toEqual({ kind: 'fenced' })
      expect(await journal.read(log)).toHaveLength(2)
    })

    test('accepts exactly one of two appends with the same expectation', async () => {
      const { journal } = await parts()
      const { log, revision } = await started(journal)
      const outcomes = await Promise.all(
        ['a', 'b', 'c'].map((text) =>
          journal.append({ log, expectedRevision: revision, payloads: [bytes(text)] }),
        ),
      )
      expect(outcomes.filter((outcome) => outcome.kind === 'appended')).toHaveLength(1)
      expect(await journal.read(log)).toHaveLength(2)
    })

    test('keeps logs apart that are written at once, and a fenced log fences no other', async () => {
      const { journal } = await parts()
      const all = await Promise.all(Array.from({ length: 40 }, () => started(journal)))
      const outcomes = await Promise.all(
        all.map(({ log, revision }, i) =>
          journal.append({
            log,
            expectedRevision: i === 7 ? 99_999 : revision,
            payloads: [bytes(`second of ${i}`)],
          }),
        ),
      )
      expect(outcomes.map((outcome) => outcome.kind)).toEqual(
        all.map((_, i) => (i === 7 ? 'fenced' : 'appended')),
      )
      expect(textOf((await journal.last((all[39] as { log: LogId }).log))?.payload ?? bytes(''))).toBe(
        'second of 39',
      )
    })

    test('gives an id once in a tenant, whatever the session, and tells a later acceptance which log has it', async () => {
      const { journal } = await parts()
      const { log } = await started(journal)
      const tail = await journal.sessionTail(log.tenant, log.session)
      expect(await journal.accept({ log, payloads: [bytes('other')], tail })).toEqual({
        kind: 'id_taken',
        by: log,
      })
      expect(await journal.sessionTail(log.tenant, log.session)).toEqual(tail)
      const elsewhere = freshLog('another session')
      for (const session of [elsewhere.session, log.task as string as LogId['session']]) {
        const again = { ...log, session }
        expect(
          await journal.accept({
            log: again,
            payloads: [bytes('other')],
            tail: await journal.sessionTail(log.tenant, session),
          }),
        ).toEqual({
          kind: 'id_taken',
          by: log,
        })
        expect(await journal.read(again)).toEqual([])
      }
      expect(await journal.find(log.tenant, log.task)).toEqual(log)
      expect(await journal.find('another tenant', log.task)).toBeNull()
    })

    test('gives an id to exactly one of several sessions that take it at the same moment', async () => {
      const { journal } = await parts()
      for (let round = 0; round < 10; round++) {
        const { tenant, task } = freshLog()
        const sessions = [
          task as string,
          `one ${round}`,
          `two ${round}`,
          `three ${round}`,
        ] as LogId['session'][]
        const outcomes = await Promise.all(
          sessions.map((session) =>
            journal.accept({
              log: { tenant, session, task },
              payloads: [bytes(session)],
              tail: { task: null, revision: 0 },
            }),
          ),
        )
        expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual([
          'accepted',
          'id_taken',
          'id_taken',
          'id_taken',
        ])
        const there = await Promise.all(
          sessions.map(async (session) => (await journal.read({ tenant, session, task })).length),
        )
        expect(there.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 1])
        expect((await journal.find(tenant, task))?.session).toBe(sessions[there.indexOf(1)])
      }
    })

    test('accepts a task in a session that has the name of an earlier task, but only at the tail of that session', async () => {
      const { journal } = await parts()
      const { tenant, task } = freshLog()
      const own: LogId = { tenant, session: task as string as LogId['session'], task }
      const first = await journal.accept({
        log: own,
        payloads: [bytes('own')],
        tail: { task: null, revision: 0 },
      })
      expect(first.kind).toBe('accepted')
      const follower: LogId = { ...own, task: freshLog().task }
      expect(
        (
          await journal.accept({
            log: follower,
            payloads: [bytes('next')],
            tail: { task: null, revision: 0 },
          })
        ).kind,
      ).toBe('tail_moved')
      expect(
        (
          await journal.accept({
            log: follower,
            payloads: [bytes('next')],
            tail: await journal.sessionTail(tenant, own.session),
          })
        ).kind,
      ).toBe('accepted')
      expect(await journal.next(own, (await journal.first(own))?.revision ?? 0)).toBe(follower.task)
      expect(await journal.next(follower, (await journal.first(follower))?.revision ?? 0)).toBeNull()
    })

    test('refuses an acceptance that saw an old tail of its session, and stores nothing of it', async () => {
      const { journal } = await parts()
      const first = await started(journal)
      const { tenant, session, task } = first.log
      const late = freshLog(session)
      expect(
        await journal.accept({ log: late, payloads: [bytes('late')], tail: { task: null, revision: 0 } }),
      ).toEqual({ kind: 'tail_moved' })
      expect(await journal.read(late)).toEqual([])
      expect(await journal.find(tenant, late.task)).toBeNull()
      expect((await journal.sessionTail(tenant, session)).task).toBe(task)
    })

    test('accepts tasks of one session together, in order', async () => {
      const { journal } = await parts()
      const first = await started(journal)
      const { tenant, session } = first.log
      const logs = Array.from({ length: 5 }, () => freshLog(session))
      const [log, ...followers] = logs as [LogId, ...LogId[]]
      const tail = await journal.sessionTail(tenant, session)
      const of = {
        log,
        payloads: [bytes('first of all')],
        tail,
        followers: followers.map((each) => ({ log: each, payload: bytes(each.task) })),
      }
      const outcome = await journal.accept(of)
      const entries = await Promise.all(logs.map((each) => journal.first(each)))
      expect(outcome).toMatchObject({
        kind: 'accepted',
        acceptedRevision: entries[0]?.revision,
        revision: 0,
        lastRevision: entries[4]?.revision,
      })
      expect(entries.map((entry) => textOf(entry?.payload ?? bytes('')))).toEqual([
        'first of all',
        ...followers.map(({ task }) => task),
      ])
      expect(await journal.sessionTail(tenant, session)).toEqual({
        task: logs[4]?.task,
        revision: entries[4]?.revision,
      })
      expect(await journal.next(log, entries[0]?.revision ?? 0)).toBe(logs[1]?.task)
      for (const each of logs) expect(await journal.find(tenant, each.task)).toEqual(each)
      expect(await journal.accept({ ...of, payloads: [bytes('other')] })).toEqual({
        kind: 'id_taken',
        by: log,
      })
    })

    test('accepts none of several tasks if one of them has an id that is taken, or if the session went on', async () => {
      const { journal } = await parts()
      const { log: there } = await started(journal)
      const tail = await journal.sessionTail(there.tenant, there.session)
      const [log, other, late] = [freshLog(there.session), freshLog(there.session), freshLog(there.session)]
      const line = (...followers: LogId[]) => ({
        log,
        payloads: [bytes('x')],
        tail,
        followers: followers.map((each) => ({ log: each, payload: bytes('y') })),
      })
      expect(await journal.accept(line(other, there))).toEqual({ kind: 'tail_moved' })
      expect((await journal.accept({ log: late, payloads: [bytes('late')], tail })).kind).toBe('accepted')
      expect(await journal.accept(line(other))).toEqual({ kind: 'tail_moved' })
      for (const each of [log, other])
        expect([await journal.read(each), await journal.find(each.tenant, each.task)]).toEqual([[], null])
      expect((await journal.sessionTail(there.tenant, there.session)).task).toBe(late.task)
    })

    test('stores an acceptance of several entries as a whole, and accepts the next append after the last one', async () => {
      const { journal } = await parts()
      const log = freshLog()
      const outcome = await journal.accept({
        log,
        payloads: ['first', 'second'].map(bytes),
        tail: { task: null, revision: 0 },
      })
      expect(outcome.kind).toBe('accepted')
      const revision = outcome.kind === 'accepted' ? outcome.revision : -1
      expect(
        (await journal.append({ log, expectedRevision: revision, payloads: [bytes('third')] })).kind,
      ).toBe('appended')
      expect((await journal.read(log)).map((entry) => textOf(entry.payload))).toEqual([
        'first',
        'second',
        'third',
      ])
    })

    test('tells the time, and when each entry was stored, by the same clock', async () => {
      const { journal } = await parts()
      const before = journal.now()
      const { log } = await started(journal)
      const { timeMs } = (await journal.last(log)) ?? { timeMs: 0 }
      expect(timeMs).toBeGreaterThanOrEqual(before - 50)
      expect(timeMs).toBeLessThanOrEqual(journal.now() + 50)
    })

    test('delivers an accepted task once, and not again after it is acknowledged', async () => {
      const { journal, queue } = await parts()
      const { log } = await started(journal)
      const tasks = await queue(60_000)
      const delivery = await deliveryOf(tasks, log)
      expect(delivery).toMatchObject({ log, deliveries: 1, cause: 'accepted' })
      expect(textOf(delivery.first?.payload ?? bytes(''))).toBe('first')
      delivery.acknowledge()
      const next = await started(journal)
      const later = await deliveryOf(tasks, next.log)
      later.acknowledge()
      expect(later.log).toEqual(next.log)
    })

    test('delivers a task again that was given back', async () => {
      const { journal, queue } = await parts()
      const { log } = await started(journal)
      const tasks = await queue(60_000)
      const delivery = await deliveryOf(tasks, log)
      delivery.giveBack(0)
      const again = await deliveryOf(tasks, log)
      expect(again.deliveries).toBe(2)
      again.acknowledge()
    })

    test('lets another daemon continue a delivery', async () => {
      const { journal, queue } = await parts()
      const { log } = await started(journal)
      const [tasks, others] = [await queue(60_000), await queue(60_000)]
      const { deliveries, lease, cause } = await deliveryOf(tasks, log)
      const adopted = others.adopt({ log, deliveries, lease, cause })
      adopted.extend()
      adopted.giveBack(0)
      const again = await deliveryOf(tasks, log)
      expect(again).toMatchObject({ log, deliveries: 2 })
      others.adopt(again).acknowledge()
      const next = await started(journal)
      const later = await deliveryOf(tasks, next.log)
      later.acknowledge()
      expect(later.log).toEqual(next.log)
      expect(() => others.adopt({ log, deliveries: 1, lease: 'no lease', cause: 'accepted' })).toThrow(
        /no lease/,
      )
    })

    test('delivers a task that was woken, even while an older delivery of it is under way', async () => {
      const { journal, queue } = await parts()
      const { log } = await started(journal)
      const tasks = await queue(60_000)
      const accepted = await deliveryOf(tasks, log)
      await tasks.wake(log)
      const first = await deliveryOf(tasks, log, 'woken')
      expect(first).toMatchObject({ log, cause: 'woken', deliveries: 1, first: null })
      await tasks.wake(log)
      const second = await deliveryOf(tasks, log, 'woken')
      first.acknowledge()
      second.acknowledge()
      accepted.acknowledge()
    })

    test('joins several wakes that no daemon has taken, and wakes with the same name', async () => {
      const { queue } = await parts()
      const [log, other, last] = [freshLog(), freshLog(), freshLog()]
      const tasks = await queue(60_000)
      for (let i = 0; i < 5; i++) await tasks.wake(log)
      await tasks.wake(other, { name: `look at ${other.task}` })
      await deliveryOf(tasks, log, 'woken').then((delivery) => delivery.giveBack(0))
      await deliveryOf(tasks, other, 'woken').then((delivery) => delivery.acknowledge())
      await tasks.wake(other, { name: `look at ${other.task}` })
      await tasks.wake(last)
      const seen: string[] = []
      while (!seen.includes(last.task)) {
        for await (const delivery of tasks.pull({
          of: 'woken',
          deliveriesMax: 1,
          waitMs: 1_000,
          signal: AbortSignal.timeout(10_000),
        })) {
          seen.push(delivery.log.task)
          delivery.acknowledge()
        }
      }
      expect(seen).not.toContain(other.task)
      expect(seen.filter((task) => task === log.task).length).toBeLessThanOrEqual(1)
    })

    test('lets an alarm go off once, at its time, and replaces an older alarm by a newer one', async () => {
      const { queue } = await parts()
      const log = freshLog()
      const tasks = await queue(60_000)
      await tasks.wakeIn(log, 60_000)
      const begun = performance.now()
      await tasks.wakeIn(log, 300)
      const alarm = await deliveryOf(tasks, log, 'woken')
      expect(alarm.cause).toBe('alarm')
      expect(performance.now() - begun).toBeGreaterThan(250)
      alarm.acknowledge()
    })

    test('returns the bytes of a blob, accepts the same blob twice, and names a missing blob in its error', async () => {
      const { blobs } = await parts()
      const content = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251)
      const sha256 = hash('sha256', content)
      await blobs.put(sha256, content)
      await blobs.put(sha256, content)
      expect(Buffer.from(await blobs.get(sha256)).equals(content)).toBe(true)
      await expect(blobs.get('nowhere')).rejects.toMatchObject({
        code: 'blob_missing',
        message: expect.stringContaining('nowhere') as string,
      })
    })
  })
}

export async function deliveryOf(
  queue: TaskQueue,
  log: LogId,
  of: 'accepted' | 'woken' = 'accepted',
): Promise<Delivery> {
  const stop = AbortSignal.timeout(10_000)
  while (!stop.aborted) {
    for await (const delivery of queue.pull({ of, deliveriesMax: 1, waitMs: 1_000, signal: stop })) {
      if (delivery.log.task === log.task) return delivery
      delivery.acknowledge() // left by an earlier test
    }
  }
  throw new Error(`the task ${log.task} was not delivered`)
}
