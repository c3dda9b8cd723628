// What was removed from a journal: when it is read again, and whose word counts.
import { memorySystemLog } from '@beaver/testing'
import { expect, it } from 'vitest'
import { KeyRing } from './key-ring.ts'
import { RemovalLog } from './removals.ts'
import { appendSystemEvent, emptySystemLog } from './system-record.ts'

const ring = new KeyRing('default', emptySystemLog)

function given() {
  const stored = memorySystemLog()
  const asked: string[] = []
  const log = {
    read: (...of: Parameters<typeof stored.read>) => (asked.push('read'), stored.read(...of)),
    last: (...of: Parameters<typeof stored.last>) => (asked.push('last'), stored.last(...of)),
  }
  const remove = (sha256: string) =>
    appendSystemEvent(
      stored,
      'redactions',
      () => ({ type: 'blob_redacted', data: { sha256, reason: 'A number.', replacement: null, by: 'ada' } }),
      {
        source: '/beaver/operator',
        now: () => 0,
      },
    )
  return { removals: new RemovalLog('local', log, async () => ring), remove, asked }
}

it('a journal from which nothing was removed costs one small request', async () => {
  const { removals, asked } = given()
  expect(await removals.now()).toMatchObject({ version: 0, redactions: new Map(), archived: { size: 0 } })
  expect(asked).toEqual(['last'])
})

it('the log is read again only if it has grown', async () => {
  const { removals, remove, asked } = given()
  await remove('a'.repeat(64))
  const one = await removals.now()
  expect(await removals.now()).toBe(one)
  expect(asked).toEqual(['last', 'read', 'last'])
  await remove('b'.repeat(64))
  const two = await removals.now()
  expect([...two.redactions.keys()]).toEqual(['a'.repeat(64), 'b'.repeat(64)])
  expect([one.version, two.version]).toEqual([1, 2])
})

it('who asks while others ask shares a later question: an answer is never older than the question', async () => {
  const { removals, remove, asked } = given()
  const early = removals.now()
  await Promise.resolve()
  await remove('a'.repeat(64))
  const late = await Promise.all(Array.from({ length: 50 }, () => removals.now()))
  expect(new Set(late.map(({ redactions }) => redactions.size))).toEqual(new Set([1]))
  await early
  expect(asked.filter((what) => what === 'last').length).toBeLessThanOrEqual(2)
})

it('a question that fails does not fail the next one', async () => {
  let fails = true
  const log = { read: async () => [], last: async () => (fails ? Promise.reject(new Error('away')) : null) }
  const removals = new RemovalLog('local', log, async () => ring)
  const [first, second] = [removals.now(), removals.now()]
  await expect(first).rejects.toThrow('away')
  await expect(second).rejects.toThrow('away')
  fails = false
  expect(await removals.now()).toMatchObject({ version: 0 })
})
