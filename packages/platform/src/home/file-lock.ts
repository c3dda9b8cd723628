// A lock between processes: a file that only one of them can make. A lock that is older than `staleMs` is
// taken over, because its owner is gone. An owner whose lock was taken over does not end the lock of the next
// owner: each lock says whose it is.
import { randomUUID } from 'node:crypto'
import { promises } from 'node:fs'
import { dirname } from 'node:path'
import { BeaverError, type Clock, pause, systemClock } from '@beaver/core'
import { makeFolder } from './make-folder.ts'

export interface LockOptions {
  /** Default: the clock of the system. */
  readonly clock?: Clock
  /** How long to wait for another owner. Default: 2,000 more than `staleMs`, so that a dead owner is outlived. */
  readonly waitMsMax?: number
  /** Default: 10,000. */
  readonly staleMs?: number
}

const lookMs = 20
const never = new AbortController().signal

/**
 * Runs `act` while no other process runs something under the lock of the same file. The lock is the file
 * `<file>.lock`, and its folder is made if there is none.
 *
 * @throws {BeaverError} `conflict` if another process holds the lock for too long; what `act` throws; an
 * error of the file system
 */
export async function whileLocked<Value>(
  file: string,
  act: () => Promise<Value>,
  options: LockOptions = {},
): Promise<Value> {
  const lock = `${file}.lock`
  makeFolder(dirname(file))
  const owner = randomUUID()
  await take(lock, owner, options)
  try {
    return await act()
  } finally {
    const now = await promises.readFile(lock, 'utf8').catch(() => null)
    if (now === owner) await promises.rm(lock, { force: true })
  }
}

async function take(
  lock: string,
  owner: string,
  { clock = systemClock, staleMs = 10_000, waitMsMax = staleMs + 2_000 }: LockOptions,
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += lookMs) {
    try {
      return await promises.writeFile(lock, owner, { flag: 'wx', mode: 0o600 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const held = await promises.stat(lock).catch(() => null)
      if (held !== null && clock.now() - held.mtimeMs > staleMs) await promises.rm(lock, { force: true })
      else if (waitedMs >= waitMsMax)
        throw new BeaverError(
          'conflict',
          `Another process holds ${lock}. Try again, or delete this file if there is no such process.`,
          { cause: error },
        )
    }
    await pause(clock, lookMs, never)
  }
}
