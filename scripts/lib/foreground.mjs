// Foreground: runs a program in this script's place. What to run is the caller's.
// F1. The program gets each signal once. The terminal sends Ctrl-C to the whole foreground group, so with a
// terminal it is not passed on; without one the program runs in a group of its own, which only this script
// signals. npm passes signals on as well: copies within a moment count as one. The program's end is this
// script's end: same exit code, same signal.
import { spawn } from 'node:child_process'
import { exitCodeOf } from './run.mjs'

const SAME_SIGNAL_MS = 300

/**
 * @typedef {{ code: number, signal: NodeJS.Signals | null }} Ending code is what a shell would report
 */

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, ownGroup?: boolean }} [options] ownGroup: as F1 says
 * (default true); false leaves a group of tests to die together
 * @returns {Promise<Ending>}
 */
export async function runInForeground(command, args, { cwd, env, ownGroup = true } = {}) {
  const terminal = process.stdin.isTTY === true
  const child = spawn(command, args, { cwd, env, stdio: 'inherit', detached: ownGroup && !terminal })
  const last = new Map()
  const handlers = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'].map((name) => {
    const fromTerminal = terminal && name !== 'SIGTERM'
    const handler = () => {
      const now = Date.now()
      const again = now - (last.get(name) ?? -Infinity) < SAME_SIGNAL_MS
      last.set(name, now)
      if (!fromTerminal && !again) child.kill(/** @type {NodeJS.Signals} */ (name))
    }
    process.on(name, handler)
    return /** @type {const} */ ([name, handler])
  })
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) =>
        resolve({ code: signal === null ? (code ?? 1) : exitCodeOf(signal), signal }),
      )
    })
  } finally {
    for (const [name, handler] of handlers) process.off(name, handler)
  }
}

/**
 * Ends this process the way the program ended.
 * @param {Ending} ending
 */
export function endLike({ code, signal }) {
  if (signal !== null) {
    process.kill(process.pid, signal)
    // A signal that does not end this process at once leaves the exit code to say it.
    setTimeout(() => process.exit(code), 100)
    return
  }
  process.exitCode = code
}
