import { describe, expect, it, test } from 'vitest'
import { healingOf, type JournalLook, startFault, writeFailureIn } from './heal-journal.ts'

const stuck: JournalLook = {
  silentMs: 10_000,
  writeFailure: 'no space left on device',
  roomBytes: 1e9,
  sinceHealedMs: Infinity,
}

describe('the nats-server', () => {
  it.each<[string, Partial<JournalLook>, string]>([
    ['is started again when a write failed, nothing is written, and there is room', {}, 'restart'],
    ['is left alone while its journal answers', { silentMs: 9_999 }, 'none'],
    ['is left alone when no write failed: its disk may be slow', { writeFailure: null }, 'none'],
    ['is left alone while there is no room', { roomBytes: 1_000_000 }, 'needs_room'],
    ['needs room although its log has no room to say so', { roomBytes: 0, writeFailure: null }, 'needs_room'],
    ['is not started again twice in a minute', { sinceHealedMs: 59_999 }, 'none'],
  ])('%s', (_, changes, healing) => expect(healingOf({ ...stuck, ...changes })).toBe(healing))
})

describe('the log of the nats-server', () => {
  const start = '[7] 2026/11/27 20:04:33 [INF] Starting nats-server\n'
  const failed = (why: string): string =>
    `[7] 2026/11/27 20:05:54 [ERR] JetStream failed to store a msg on stream '$G > B': write /x/1.blk: ${why}\n`

  it('says why a write failed since the last start', () => {
    expect(writeFailureIn(start + failed('file too large') + failed('no space left on device'))).toBe(
      'no space left on device',
    )
    // The end of a long log does not contain the start of the server.
    expect(writeFailureIn(failed('file too large'))).toBe('file too large')
  })

  it('says nothing of what was before the last start, and of other lines', () => {
    expect(writeFailureIn(failed('no space left on device') + start)).toBeNull()
    expect(
      writeFailureIn(`${start}[7] 2026/11/27 20:05:54 [INF] a client named "no space left on device"\n`),
    ).toBeNull()
    expect(writeFailureIn('')).toBeNull()
    // A restart would not help against these faults, and the free space on the disk says nothing about them.
    for (const why of ['disk quota exceeded', 'input/output error', 'read-only file system'])
      expect(writeFailureIn(start + failed(why))).toBeNull()
  })
})

test('a start that fails on a full disk names the folder and the room, whichever part failed', () => {
  const error = new Error('disk I/O error')
  expect(startFault(error, '/h', 16 * 1024 * 1024)).toBe(error)
  expect(startFault(error, '/h', 4_100)).toMatchObject({
    code: 'start_failed',
    message:
      'The disk of /h has 4.1 kB of room, and Beaver needs at least 16 MiB to start. Make room there, or choose another folder with --home. The start ended with: disk I/O error',
  })
})
