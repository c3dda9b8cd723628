// What every SystemLog must do, for the in-memory twin and the JetStream adapter.
import type { SystemEvent } from '@beaver/core'
import { appendSystemEvent, readSystemEntries, type SystemLog } from '@beaver/core/journal'
import { describe, expect, test } from 'vitest'

const bytes = (text: string): Uint8Array => Buffer.from(text)
const textOf = (payload: Uint8Array): string => Buffer.from(payload).toString()
const redacted = (reason: string): SystemEvent => ({
  type: 'blob_redacted',
  data: { sha256: '0'.repeat(64), reason },
})

/** @param open makes an empty system log for each test */
export function systemLogContract(name: string, open: () => Promise<SystemLog>): void {
  describe(`${name} as a system log`, () => {
    test('has no entries and no last entry at first', async () => {
      const log = await open()
      expect(await log.read('keys')).toEqual([])
      expect(await log.last('keys')).toBeNull()
    })

    test('reads entries back in order, with the revision of the append and with their signatures', async () => {
      const log = await open()
      const first = await log.append({
        name: 'keys',
        expectedRevision: 0,
        payload: bytes('first'),
        signature: 'v1 a b',
      })
      if (first.kind !== 'appended') throw new Error(first.kind)
      const second = await log.append({
        name: 'keys',
        expectedRevision: first.revision,
        payload: bytes('second'),
      })
      if (second.kind !== 'appended') throw new Error(second.kind)
      const entries = await log.read('keys')
      expect(
        entries.map(({ revision, payload, signature }) => [revision, textOf(payload), signature]),
      ).toEqual([
        [first.revision, 'first', 'v1 a b'],
        [second.revision, 'second', undefined],
      ])
      expect(textOf((await log.last('keys'))?.payload ?? bytes(''))).toBe('second')
      expect(second.revision).toBeGreaterThan(first.revision)
    })

    test('refuses an append that expects an older revision, and stores nothing of it', async () => {
      const log = await open()
      await log.append({ name: 'keys', expectedRevision: 0, payload: bytes('first') })
      expect(await log.append({ name: 'keys', expectedRevision: 0, payload: bytes('late') })).toEqual({
        kind: 'fenced',
      })
      expect((await log.read('keys')).map(({ payload }) => textOf(payload))).toEqual(['first'])
    })

    test('accepts exactly one of several appends with the same expectation', async () => {
      const log = await open()
      const outcomes = await Promise.all(
        ['a', 'b', 'c'].map((text) =>
          log.append({ name: 'keys', expectedRevision: 0, payload: bytes(text) }),
        ),
      )
      expect(outcomes.filter(({ kind }) => kind === 'appended')).toHaveLength(1)
    })

    test('keeps its logs apart', async () => {
      const log = await open()
      await log.append({ name: 'keys', expectedRevision: 0, payload: bytes('key') })
      expect(
        (await log.append({ name: 'checkpoints', expectedRevision: 0, payload: bytes('checkpoint') })).kind,
      ).toBe('appended')
      expect((await log.read('keys')).map(({ payload }) => textOf(payload))).toEqual(['key'])
      expect(await log.last('redactions')).toBeNull()
    })

    test('holds a chain of records that several writers append to at once', async () => {
      const log = await open()
      const writer = { source: '/beaver/operator', now: () => 0 }
      await Promise.all(
        ['a', 'b', 'c', 'd'].map((reason) =>
          appendSystemEvent(log, 'redactions', () => redacted(reason), writer),
        ),
      )
      const { events, head } = readSystemEntries('redactions', await log.read('redactions'))
      expect(events.map(({ taskseq }) => taskseq)).toEqual([1, 2, 3, 4])
      expect(head.hash).toBe(events.at(-1)?.hash)
    })
  })
}
