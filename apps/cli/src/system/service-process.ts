// Runs one of Beaver's own apps as a child process with a message channel. The child reports when it is
// ready, and ends on SIGTERM; start and stop have deadlines. It has a process group of its own, so that
// Ctrl-C reaches it only through this process and a kill also ends everything that it started. The child
// never outlives this process, because it ends when the channel closes. A spare is a second process of the
// same app that has loaded its modules and waits. If the child dies, the next start uses the spare, which
// saves the time that a new process needs. The spare is started after the child has run for a while, and ends
// with the system.
import type { ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { BeaverError, type ErrorCode, errorCodes } from '@beaver/core'
import type { ChildEnd, RunningChild } from '@beaver/core/supervision'
import { spawn } from '@beaver/platform/programs'
import { lastLine, openLog } from './log-file.ts'

/** The module of each app. Whole names: the build turns them into paths. */
const entries = {
  daemon: () => import.meta.resolve('@beaver/daemon-app'),
  gateway: () => import.meta.resolve('@beaver/gateway-app'),
  projector: () => import.meta.resolve('@beaver/projector-app'),
} as const

/**
 * How the app is started. The times are in milliseconds. A child that does not end within `stopMsMax` is
 * killed.
 */
export interface ServiceOptions {
  /** The name of the app: `daemon` runs the package `@beaver/daemon-app`. */
  readonly name: keyof typeof entries
  readonly env: Readonly<Record<string, string>>
  readonly logFile: string
  readonly startMsMax: number
  readonly stopMsMax: number
  /** How long the child runs before it gets a spare, in milliseconds. Absent: it gets none. */
  readonly spareAfterMs?: number
}

/** Describes the app as a part of the system. Nothing is started yet. */
export function serviceProcess(options: ServiceOptions): ServiceSpec {
  const spare = new Spare(options)
  return {
    name: options.name,
    logFile: options.logFile,
    start: (signal) => startService(options, spare, signal),
    release: () => spare.release(),
  }
}

/** The process that waits to take the place of the child. */
class Spare {
  readonly #options: ServiceOptions
  #process: ChildProcess | null = null
  #timer: NodeJS.Timeout | null = null
  #released = false

  constructor(options: ServiceOptions) {
    this.#options = options
  }

  /** Starts a spare after the child has run for `spareAfterMs`. */
  prepare(): void {
    const { spareAfterMs } = this.#options
    if (spareAfterMs === undefined || this.#timer !== null || this.#process !== null || this.#released) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      const child = spawnService(this.#options, { BEAVER_SPARE: '1' })
      child.once('exit', () => this.#forget(child))
      child.once('error', () => this.#forget(child))
      this.#process = child
    }, spareAfterMs).unref()
  }

  /** Returns the spare, which begins its work now; `null` if there is none. */
  take(): ChildProcess | null {
    this.#wait()
    const child = this.#process
    this.#process = null
    if (child === null || child.exitCode !== null || child.signalCode !== null || !child.connected)
      return null
    child.send({ kind: 'begin' })
    return child
  }

  release(): void {
    this.#released = true
    this.#wait()
    killGroup(this.#process?.pid)
    this.#process = null
  }

  #wait(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #forget(child: ChildProcess): void {
    if (this.#process === child) this.#process = null
  }
}

function spawnService(
  { name, env, logFile }: ServiceOptions,
  more: Readonly<Record<string, string>> = {},
): ChildProcess {
  const log = openLog(logFile)
  const entry = fileURLToPath(entries[name]())
  const child = spawn(process.execPath, [entry], {
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
    env: { ...process.env, ...env, ...more },
  })
  closeSync(log)
  return child
}

type Said =
  | { readonly kind: 'ready'; readonly info: Record<string, unknown> }
  | { readonly kind: 'failed'; readonly error: BeaverError }

async function startService(options: ServiceOptions, spare: Spare, signal: AbortSignal): Promise<Service> {
  const { name, logFile } = options
  const child = spare.take() ?? spawnService(options)
  let ended = false
  const kill = (): void => killGroup(child.pid)
  const gone = new Promise<ChildEnd>((resolve) => {
    child.once('error', (error) => {
      ended = true
      resolve({ reason: error.message })
    })
    child.once('exit', (code, killedBy) => {
      ended = true
      kill() // Ends the processes that the child left in its group.
      resolve({
        reason: killedBy === null ? `exit code ${code}` : `killed by ${killedBy}`,
      })
    })
  })
  const stop = async (): Promise<void> => {
    if (ended) return
    child.kill('SIGTERM')
    const deadline = setTimeout(kill, options.stopMsMax)
    await gone
    clearTimeout(deadline)
  }

  const said = await Promise.race([
    new Promise<Said>((resolve) => child.on('message', (message) => resolve(saying(name, message)))),
    gone.then(async ({ reason }): Promise<Said> => ({
      kind: 'failed',
      error: await earlyEnd(options, reason),
    })),
    sleep(options.startMsMax, undefined, { ref: false }).then((): Said => ({
      kind: 'failed',
      error: new BeaverError(
        'start_failed',
        `The ${name} was not ready within ${options.startMsMax / 1000} s. Its log: ${logFile}`,
      ),
    })),
    aborted(signal).then((): Said => ({
      kind: 'failed',
      error: new BeaverError('start_failed', 'The start was interrupted.'),
    })),
  ])
  if (said.kind === 'failed') {
    await stop()
    throw said.error
  }
  spare.prepare()
  return { pid: child.pid ?? 0, info: said.info, gone, stop, kill }
}

/** Reads a child's report about its start: `{kind: 'ready', …info}` or `{kind: 'failed', code, message}`. */
function saying(name: string, message: unknown): Said {
  const { kind, ...rest } = message as { kind?: unknown } & Record<string, unknown>
  if (kind === 'ready') return { kind, info: rest }
  const code =
    typeof rest['code'] === 'string' && Object.hasOwn(errorCodes, rest['code'])
      ? (rest['code'] as ErrorCode)
      : 'start_failed'
  return {
    kind: 'failed',
    error: new BeaverError(
      code === 'internal' ? 'start_failed' : code,
      code === 'internal' ? `The ${name} did not start: ${String(rest['message'])}` : String(rest['message']),
    ),
  }
}

async function earlyEnd({ name, logFile }: ServiceOptions, reason: string): Promise<BeaverError> {
  const last = await lastLine(logFile)
  return new BeaverError(
    'start_failed',
    `The ${name} ended before it was ready (${reason}${last === null ? '' : `; ${last}`}). Its log: ${logFile}`,
  )
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process group has already ended.
  }
}

// A part of the system that `beaver up` keeps alive: a process with an id, a log, and the report of its
// start. Core's table `supervisors` limits how often a part is started again.

/** A running part. `pid` is its process id. */
export interface Service extends RunningChild {
  readonly pid: number
  /** What the part reported when it was ready. */
  readonly info: Readonly<Record<string, unknown>>
  kill(): void
}

/** A part that can be started, each time as a new process. */
export interface ServiceSpec {
  readonly name: string
  /** The file of the part's log. */
  readonly logFile: string
  start(signal: AbortSignal): Promise<Service>
  /** Ends the spare that is kept for the next start. Absent: the part has no spare. */
  release?(): void
}
