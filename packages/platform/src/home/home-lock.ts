// The lock of a home: a home has at most one system. The lock is a file that names its holder. The lock is
// taken by exclusive creation of the file. A lock whose holder is dead is taken over. If another process has
// the holder's pid now, its start time differs. This works only if the operating system gives start times.
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BeaverError } from '@beaver/core'
import { makeFolder } from './make-folder.ts'

export interface Holder {
  readonly pid: number
  /** The start of that process as the kernel counts it, or `null` if the kernel does not give it. */
  readonly started: string | null
}

/** Thrown if another system holds the home. */
export class HomeInUse extends BeaverError {}

const triesMax = 5
/** If a lock has no content and is younger than this, it is still being written. */
const writingMsMax = 5_000

/** Takes the lock of a home. The returned function releases it. @throws {HomeInUse} if another system runs */
export function lockHome(home: string): () => void {
  const run = join(home, 'run')
  const file = join(run, 'lock')
  makeFolder(run)
  const mine: Holder = { pid: process.pid, started: startOf(process.pid) }
  for (let tries = 0; tries < triesMax; tries++) {
    try {
      writeFileSync(file, JSON.stringify(mine), { flag: 'wx', mode: 0o600 })
      return () => {
        if (readHolder(file)?.pid === process.pid) rmSync(file, { force: true })
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
        throw new BeaverError(
          'start_failed',
          `The folder ${run} cannot be written: ${(error as Error).message}. Choose another with --home.`,
          { cause: error },
        )
    }
    const holder = readHolder(file)
    if (holder === null ? beingWritten(file) : isAlive(holder)) {
      throw new HomeInUse(
        'start_failed',
        `Beaver is already running here${holder === null ? '' : ` (process ${holder.pid})`}, with its data in ${home}. Use it, stop it first, or choose another home (--home).`,
      )
    }
    try {
      const aside = `${file}.${process.pid}`
      renameSync(file, aside)
      rmSync(aside, { force: true })
    } catch {
      // Another process removed it first. The next turn tries again.
    }
  }
  throw new BeaverError(
    'start_failed',
    `The lock ${file} could not be taken. If no "beaver up" runs with this home, delete it.`,
  )
}

/** The process that holds the lock of a home; `null`: none that runs. */
export function lockHolder(home: string): Holder | null {
  const holder = readHolder(join(home, 'run', 'lock'))
  return holder !== null && isAlive(holder) ? holder : null
}

function readHolder(file: string): Holder | null {
  try {
    const { pid, started } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Holder>
    return typeof pid === 'number' ? { pid, started: started ?? null } : null
  } catch {
    return null
  }
}

function beingWritten(file: string): boolean {
  const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs
  return made !== undefined && Date.now() - made < writingMsMax
}

/**
 * Whether the process that a file names still runs, and is not another process with the same pid. One that
 * only waits for its parent has ended.
 */
export function isAlive({ pid, started }: Holder): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const [state = ''] = statOf(pid) ?? []
  if (state === 'Z' || state === 'X') return false
  const now = startOf(pid)
  return started === null || now === null || now === started
}

/** Field 22 of /proc/<pid>/stat with the id of the boot, or `null` if there is no /proc. */
export function startOf(pid: number): string | null {
  const stat = statOf(pid)
  if (stat === null) return null
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${stat[19] ?? ''}`
  } catch {
    return null
  }
}

/**
 * The fields of /proc/<pid>/stat from the third one on, which is the state. `null`: there is no /proc, or no
 * such process.
 */
function statOf(pid: number): readonly string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}
