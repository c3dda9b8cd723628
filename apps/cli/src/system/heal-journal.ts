// Starts the embedded nats-server again when it can write but does not. After a failed write its stream
// refuses every further one until the server is started again, also when the disk that was full has room
// again. A server that merely does not answer is left alone: its disk may be slow, and a start would read the
// whole stream. Its log must say that a write failed. Without room it is left alone: it could not start.
// Beaver tells a person once to make room. Its log may be on the same disk, and then says nothing. One such
// start a minute is the most, so that it never exceeds the intensity of the supervisor of the services.
import { open, statfs } from 'node:fs/promises'
import { BeaverError, messageOf } from '@beaver/core'
import { bytes } from '../text/figures.ts'

/** What is known of the journal at one moment. */
export interface JournalLook {
  /** For how long the journal has not answered the daemon, in milliseconds. */
  readonly silentMs: number
  /** Why a write failed since the server started. `null`: none did. */
  readonly writeFailure: string | null
  readonly roomBytes: number
  /** The time since the server was started again for this reason. */
  readonly sinceHealedMs: number
}

export type Healing = 'none' | 'needs_room' | 'restart'

const silentMsMax = 10_000
const healEveryMsMin = 60_000
/** The server needs some for its start, and more to be of use. */
const roomBytesMin = 16 * 1024 * 1024
const roomMin = '16 MiB'

export function healingOf({ silentMs, writeFailure, roomBytes, sinceHealedMs }: JournalLook): Healing {
  if (silentMs < silentMsMax) return 'none'
  if (roomBytes < roomBytesMin) return 'needs_room'
  return writeFailure === null || sinceHealedMs < healEveryMsMin ? 'none' : 'restart'
}

/**
 * What a start failed with, which may be any part, on a disk that is full: each part says so in its own
 * words, or not at all.
 *
 * @param roomBytes the free room of the folder's disk
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

export const roomOf = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

export interface HealOptions {
  /** The folder with the data of the server. */
  readonly dataDir: string
  readonly logFile: string
  /** For how long the journal has not answered the daemon, in milliseconds. */
  silentMs(): Promise<number>
  /** Ends the server. Its supervisor starts it again. */
  restart(): Promise<void>
  /** Receives what happens, in sentences, for a person. */
  tell(text: string): void
}

const lookEveryMs = 2_000

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
 * Why the server failed to write since it started, as the end of its log says. `null`: it does not say so.
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
