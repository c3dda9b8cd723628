// Restarts the embedded nats-server if it refuses writes that it could do. After a failed write, its stream
// refuses all further writes until the server is restarted, even when the full disk has room again. The
// restart needs a log that says that a write failed: a server that only does not answer may have a slow disk,
// and a restart would read its whole stream. Without room the server could not start, so Beaver only tells a
// person, once, to make room; a log on the same full disk may then say nothing. The server is restarted at
// most once a minute, so that the supervisor's intensity is never exceeded.
import { open, statfs } from 'node:fs/promises'
import { BeaverError, messageOf } from '@beaver/core'
import { bytes } from '../text/figures.ts'

/** What is known about the journal at one moment. */
export interface JournalLook {
  /** How long the journal has not answered the daemon, in milliseconds. */
  readonly silentMs: number
  /** The reason of the last failed write since the server started. `null`: no write failed. */
  readonly writeFailure: string | null
  readonly roomBytes: number
  /** How long ago the server was last restarted for this reason, in milliseconds; `Infinity` if never. */
  readonly sinceHealedMs: number
}

/** What to do: nothing, ask a person for room, or restart the server. */
export type Healing = 'none' | 'needs_room' | 'restart'

const silentMsMax = 10_000
const healEveryMsMin = 60_000
/** The server needs some room for its start, and more for its work. */
const roomBytesMin = 16 * 1024 * 1024
const roomMin = '16 MiB'

export function healingOf({ silentMs, writeFailure, roomBytes, sinceHealedMs }: JournalLook): Healing {
  if (silentMs < silentMsMax) return 'none'
  if (roomBytes < roomBytesMin) return 'needs_room'
  return writeFailure === null || sinceHealedMs < healEveryMsMin ? 'none' : 'restart'
}

/**
 * The error to report for a failed start. On a full disk any part may fail, with its own message or with
 * none, so this adds the reason to the error. With enough room, the error is returned unchanged.
 *
 * @param roomBytes the free space on the folder's disk
 */
export function startFault(error: unknown, folder: string, roomBytes: number): unknown {
  if (roomBytes >= roomBytesMin) return error
  const room = `The disk of ${folder} has ${bytes(roomBytes)} of room, and Beaver needs at least ${roomMin} to start.`
  return new BeaverError(
    'start_failed',
    `${room} Make room there, or choose another folder with --home. The start ended with: ${messageOf(error)}`,
    {
      cause: error,
    },
  )
}

/** The free space on the disk of a folder, in bytes. */
export const roomOf = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

export interface HealOptions {
  /** The folder with the data of the server. */
  readonly dataDir: string
  readonly logFile: string
  /** Returns how long the journal has not answered the daemon, in milliseconds. */
  silentMs(): Promise<number>
  /** Stops the server. Its supervisor starts it again. */
  restart(): Promise<void>
  /** Receives sentences for a person. */
  tell(text: string): void
}

const lookEveryMs = 2_000

/** Looks at the journal every `lookEveryMs`, and restarts the server if necessary, until `stop` is called. */
export function healJournal({ dataDir, logFile, silentMs, restart, tell }: HealOptions): { stop(): void } {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let healedAt = -Infinity
  let toldNoRoom = false

  async function look(): Promise<void> {
    const silent = await silentMs()
    if (silent < silentMsMax) {
      toldNoRoom = false
      return
    }
    const writeFailure = writeFailureIn(await endOf(logFile))
    const healing = healingOf({
      silentMs: silent,
      writeFailure,
      roomBytes: await roomOf(dataDir),
      sinceHealedMs: performance.now() - healedAt,
    })
    if (stopped || healing === 'none') return
    if (healing === 'restart') {
      healedAt = performance.now()
      tell(
        `The nats-server refuses every write since one failed (${writeFailure}), and there is room again. Beaver starts it again.`,
      )
      return restart()
    }
    if (!toldNoRoom)
      tell(
        `The nats-server cannot write, because the disk of ${dataDir} is full. Make room there, at least ${roomMin}: Beaver then goes on by itself.`,
      )
    toldNoRoom = true
  }

  const again = (): void => {
    if (stopped) return
    timer = setTimeout(() => void look().then(again, again), lookEveryMs)
    timer.unref()
  }
  again()
  return {
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

const failedWrite = /\[(?:ERR|WRN|FTL)\] .*?(no space left on device|file too large)/i

/**
 * The reason of the last failed write since the server started, from the end of its log; `null` if the log
 * has none.
 */
export function writeFailureIn(log: string): string | null {
  const lines = log.split('\n')
  const since = lines.slice(lines.findLastIndex((line) => line.includes('Starting nats-server')) + 1)
  return since.flatMap((line) => failedWrite.exec(line)?.[1] ?? []).at(-1) ?? null
}

const endBytes = 64 * 1024

async function endOf(file: string): Promise<string> {
  try {
    await using handle = await open(file)
    const { size } = await handle.stat()
    const length = Math.min(size, endBytes)
    return (await handle.read(Buffer.alloc(length), 0, length, size - length)).buffer.toString('utf8')
  } catch (error) {
    return `The log cannot be read: ${messageOf(error)}`
  }
}
