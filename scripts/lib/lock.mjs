// Lock: one set-up at a time in a checkout. What is done under it is the set-up's. The lock is a folder that
// appears with its owner's name in it (a rename), so nobody sees one without an owner. It is stale when its
// owner and all programs the owner started have ended. Start times tell a process from a later one with the
// same number. Only who holds the `.steal` folder may remove a stale lock, after a second look.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SetupError } from './failure.mjs'

const POLL_MS = 200
const WAIT_MS_MAX = 30 * 60_000
const STEAL_MS_MAX = 10_000

/**
 * @typedef {object} Lock
 * @property {(pid: number) => void} addChild remembers a program this set-up started
 * @property {() => void} release
 */

/**
 * Waits for the lock and takes it.
 * @param {string} dir
 * @param {{ signal: AbortSignal, onWait: (pid: number) => void }} options
 * @returns {Promise<Lock>}
 * @throws {SetupError} after waiting for 30 minutes
 */
export async function takeLock(dir, { signal, onWait }) {
  const waitedUntil = Date.now() + WAIT_MS_MAX
  let told = false
  while (!tryTake(dir)) {
    const holder = holderOf(dir)
    if (holder === null) {
      // Gone since, or stale: try again.
      removeStale(dir)
    } else if (!told) {
      told = true
      onWait(holder)
    }
    if (Date.now() > waitedUntil) {
      throw new SetupError(
        `another set-up (process ${holder}) has not finished for 30 minutes; end it and try again.`,
      )
    }
    await sleep(holder === null ? 20 : POLL_MS, undefined, { signal })
  }
  removeLeftovers(dir)
  return {
    addChild: (pid) => {
      try {
        writeFileSync(join(dir, `child-${pid}`), identityOf(pid) ?? '')
      } catch {
        // A full disk: the program itself will say so better.
      }
    },
    release: () => removeWhole(dir),
  }
}

// What set-ups that were killed outright left beside the lock.
function removeLeftovers(dir) {
  for (const name of namesIn(dirname(dir))) {
    const pid = name.startsWith(`${basename(dir)}.`) ? /\.(?:old-)?(\d+)$/.exec(name)?.[1] : undefined
    if (pid !== undefined && identityOf(Number(pid)) === null)
      rmSync(join(dirname(dir), name), { recursive: true, force: true })
  }
}

/** The pid that keeps this lock from being taken, or null. */
function holderOf(dir) {
  for (const name of namesIn(dir)) {
    const pid = Number(name.replace(/^(owner|child)-/, ''))
    const identity = readOrEmpty(join(dir, name))
    if (identity !== '' && identityOf(pid) === identity) return pid
  }
  return null
}

function tryTake(dir) {
  const mine = `${dir}.${process.pid}`
  rmSync(mine, { recursive: true, force: true })
  mkdirSync(mine, { recursive: true })
  writeFileSync(join(mine, `owner-${process.pid}`), identityOf(process.pid) ?? '')
  try {
    renameSync(mine, dir)
    return true
  } catch (error) {
    rmSync(mine, { recursive: true, force: true })
    if (['ENOTEMPTY', 'EEXIST'].includes(/** @type {any} */ (error).code)) return false
    throw error
  }
}

function removeStale(dir) {
  const steal = `${dir}.steal`
  try {
    mkdirSync(steal)
  } catch {
    // Somebody else is at it, or died at it.
    if (ageMs(steal) > STEAL_MS_MAX) rmSync(steal, { recursive: true, force: true })
    return
  }
  if (holderOf(dir) === null) removeWhole(dir)
  rmSync(steal, { recursive: true, force: true })
}

// Emptied in place, the folder could be taken over by another set-up's rename
// while it is being deleted, and that set-up's name with it.
function removeWhole(dir) {
  const aside = `${dir}.old-${process.pid}`
  try {
    renameSync(dir, aside)
  } catch {
    return
  }
  rmSync(aside, { recursive: true, force: true })
}

/** When a process started, which it shares with no other of the same number; null when it has ended. */
function identityOf(pid) {
  if (process.platform === 'linux') {
    const stat = readOrEmpty(`/proc/${pid}/stat`)
    // The name in parentheses may hold spaces; state is the first field after it, the start time the 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return stat === '' || fields[0] === 'Z' ? null : fields[19]
  }
  try {
    return (
      execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim() || null
    )
  } catch {
    return null
  }
}

function namesIn(dir) {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

function readOrEmpty(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function ageMs(path) {
  try {
    return Date.now() - statSync(path).mtimeMs
  } catch {
    return 0
  }
}
