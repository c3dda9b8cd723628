// Run: the set-up's tools as child processes. What they are told is the steps'. Each runs in a process group
// of its own, so that it ends with its children. No child outlives the set-up, except when the set-up itself
// is killed outright; then the lock still names it (see lock.mjs). A child is never asked anything: it has no
// stdin. The user's registry, proxy and certificate settings reach npm and pnpm; what `npm run` adds for its
// own scripts does not.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const OUTPUT_BYTES_MAX = 256 * 1024
const KILL_GRACE_MS = 2000

/**
 * @typedef {{ code: number | null, output: string, missing: boolean, timedOut: boolean }} Result
 */

/**
 * Runs one program to its end; a failing program is a result, not an exception.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {object} options
 * @param {string} options.cwd
 * @param {NodeJS.ProcessEnv} [options.env] default: the set-up's own
 * @param {AbortSignal} options.signal ends the program's process group
 * @param {number} options.timeoutMs
 * @param {(pid: number) => void} [options.onStart]
 * @param {(text: string) => void} [options.onOutput] hears what the program prints
 * @returns {Promise<Result>}
 * @throws the signal's reason, once the program has ended
 */
export async function run(command, args, { cwd, env = process.env, signal, timeoutMs, onStart, onOutput }) {
  signal.throwIfAborted()
  let timedOut = false
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const keep = (chunk) => {
    output = (output + chunk).slice(-OUTPUT_BYTES_MAX)
    onOutput?.(chunk)
  }
  child.stdout.setEncoding('utf8').on('data', keep)
  child.stderr.setEncoding('utf8').on('data', keep)
  const stop = () => endGroup(child)
  const timer = setTimeout(() => {
    timedOut = true
    stop()
  }, timeoutMs)
  signal.addEventListener('abort', stop, { once: true })
  if (child.pid !== undefined) onStart?.(child.pid)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', (error) => {
        if (/** @type {any} */ (error).code === 'ENOENT')
          resolve({ code: null, output, missing: true, timedOut })
        else reject(error)
      })
      child.once('close', (code) => {
        if (signal.aborted) reject(signal.reason)
        else resolve({ code, output, missing: false, timedOut })
      })
    })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/**
 * The environment for npm and pnpm.
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
export function packageManagerEnv(env) {
  const network =
    /^npm_config_(registry|@[^:]+:registry|\/\/.*|_auth.*|proxy|https?_proxy|noproxy|cafile|ca|cert|key|strict_ssl|userconfig|globalconfig|fetch_.*|maxsockets|local_address)$/i
  const kept = Object.entries(env).filter(([name, value]) => {
    if (/^npm_config_/i.test(name)) return network.test(name) && value !== ''
    // NODE_ENV=production would leave out the development packages.
    return !/^(npm_.*|node_env|init_cwd)$/i.test(name)
  })
  return Object.fromEntries(kept)
}

/**
 * The exit code a shell reports for a process ended by this signal.
 * @param {NodeJS.Signals} name
 * @returns {number}
 */
export function exitCodeOf(name) {
  return 128 + (constants.signals[name] ?? 0)
}

function endGroup(child) {
  signalGroup(child, 'SIGTERM')
  const timer = setTimeout(() => {
    signalGroup(child, 'SIGKILL')
    // A grandchild that left the group may hold the pipes open for ever.
    child.stdout.destroy()
    child.stderr.destroy()
  }, KILL_GRACE_MS)
  child.once('close', () => clearTimeout(timer))
}

function signalGroup(child, name) {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, name)
  } catch {
    // It has ended already.
  }
}
