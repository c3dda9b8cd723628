// Ties a child to the process that started it: the child reports in its log when it is ready, and ends on
// request or when the parent is gone. A child without a parent ends on SIGTERM or SIGINT. The caller does the
// work and stops it; this file ends the process within `stopMsMax` and a moment after the signal, and logs
// what did not end. A guard kills what `process.exit` leaves, such as a thread that cannot be ended. A
// blocked main thread hears no signal, so a watchdog thread ends the process after `blockedMsMax` of silence.
// A process that is told to end during its start first waits a moment for the start, so that it stops in
// order.
import { flushCompileCache } from 'node:module'
import { BeaverError, type LogFields, type Logger, messageOf, processFacts } from '@beaver/core'
import { spawn } from './programs.ts'
import { scheduleAsBatch } from './scheduling.ts'
import { stderrLogger } from './stderr-logger.ts'
import { collectGarbageOfStart } from './v8-flags.ts'
import { startWatchdog } from './watchdog.ts'

const stopMsMaxDefault = 10_000
const blockedMsMaxDefault = 30_000
/** The time that a start may still take after the signal. */
const startMsMax = 2_000
/**
 * The time that the process may take to end after its work has ended. A process that is killed by this looks
 * like one that crashed.
 */
const exitMsMax = 1_500
/** A daemon that starts again after a crash has its tasks to take first. */
const flushAfterMs = 2_000

export interface StartedChild {
  /** Data for the parent. */
  readonly info: Record<string, unknown>
  /** Rejects if the work cannot go on. */
  readonly failed: Promise<unknown>
  /** Ends the work. It calls `at` with what it is ending, so that one line can say what did not end. */
  stop(at: (part: string) => void): Promise<void>
  /** The time that `stop` may take, in milliseconds. Default: 10,000. */
  readonly stopMsMax?: number
  /** The time for which the main thread may be blocked, in milliseconds. Default: 30,000. */
  readonly blockedMsMax?: number
  /** Default: lines on standard error. */
  readonly logger?: Logger
}

/**
 * Schedules this process as batch, runs `start` and informs the parent. At the end it calls the `stop` of
 * `start` once, and the process exits.
 */
export async function runAsChild(name: string, start: () => Promise<StartedChild>): Promise<void> {
  let logger = stderrLogger()
  tellUncaught(name, () => logger)
  const { promise: ending, resolve: end } = Promise.withResolvers<number>()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(0))
  process.on('disconnect', () => end(0))
  let child: Pick<StartedChild, 'stop' | 'stopMsMax' | 'blockedMsMax'> = { stop: async () => {} }
  let watchdog: ReturnType<typeof startWatchdog> | null = null
  try {
    await scheduleAsBatch(process.pid) // This comes before `start` makes threads.
    const started = await startedUnlessEnded(start, ending, () =>
      processFacts.stoppedLate(logger, { name, stopMsMax: startMsMax, still: 'the start' }),
    )
    child = started
    logger = started.logger ?? logger
    watchdog = startWatchdog({ name, blockedMsMax: started.blockedMsMax ?? blockedMsMaxDefault, logger })
    started.failed.catch((error: unknown) => {
      processFacts.failed(logger, { name, error })
      end(1)
    })
    tell({ kind: 'ready', ...started.info })
    processFacts.ready(logger, { name, info: started.info as LogFields })
    // Node.js writes the cache only at an orderly exit, but a process that is started again was mostly killed
    // (docs/decisions/0029).
    setTimeout(flushCompileCache, flushAfterMs).unref()
    collectGarbageOfStart()
  } catch (error) {
    tell({
      kind: 'failed',
      code: error instanceof BeaverError ? error.code : 'internal',
      message: messageOf(error),
    })
    processFacts.notStarted(logger, { name, error })
    end(error instanceof BeaverError ? 3 : 1)
  }
  const code = await ending
  const stopMsMax = child.stopMsMax ?? stopMsMaxDefault
  let still = ''
  // A stop that hangs or blocks this thread must not leave an orphan.
  watchdog?.endWithin(stopMsMax + exitMsMax)
  setTimeout(() => {
    processFacts.stoppedLate(logger, { name, stopMsMax, still })
    exitForSure(1)
  }, stopMsMax).unref()
  await child
    .stop((part) => (still = part))
    .catch((error: unknown) => processFacts.stopFailed(logger, { name, error }))
  // Node.js would write it while it exits, which has `exitMsMax` only.
  flushCompileCache()
  exitForSure(code)
}

/** The started work. If the start still hangs a moment after the signal to end, the process ends. */
async function startedUnlessEnded(
  start: () => Promise<StartedChild>,
  ending: Promise<number>,
  tellLate: () => void,
): Promise<StartedChild> {
  let isOver = false
  void ending.then(() => {
    if (isOver) return
    setTimeout(() => {
      if (isOver) return
      tellLate()
      exitForSure(1)
    }, startMsMax).unref()
  })
  try {
    return await start()
  } finally {
    isOver = true
  }
}

/**
 * `process.exit` waits for every thread, even for one that is stuck in a system call and never ends. So a
 * guard kills the process.
 */
function exitForSure(code: number): never {
  try {
    // When this process ends, the guard's standard input closes, and the guard kills nothing.
    const guard = `( sleep ${exitMsMax / 1000}; kill -KILL "$0" ) >/dev/null 2>&1 & read -r _; kill $! 2>/dev/null`
    spawn('/bin/sh', ['-c', guard, String(process.pid)], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    }).on('error', () => undefined)
  } catch {
    // No process can be started any more. The watchdog ends this process.
  }
  process.exit(code)
}

function tell(message: Record<string, unknown>): void {
  if (process.send !== undefined && process.connected) process.send(message)
}

/**
 * An uncaught exception ends the process as usual, but with one line in place of a page. A warning of Node.js
 * becomes one line too.
 */
function tellUncaught(name: string, logger: () => Logger): void {
  process.on('uncaughtException', (error) => {
    processFacts.crashed(logger(), { name, error })
    exitForSure(1)
  })
  process.removeAllListeners('warning') // This listener of Node.js prints warnings itself.
  process.on('warning', (warning) => processFacts.warned(logger(), { name, warning }))
}
