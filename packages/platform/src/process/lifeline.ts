// A child's tie to the process that started it: says when it is ready, and ends when it is told to or when the parent is gone.
// Started by hand, without a parent, it ends on SIGTERM or SIGINT. What it says of itself are lines of its log. What its work is, and
// how that is ended, belongs to the caller; that the process ends belongs here.
// E1. From the signal on the process is gone within `stopMsMax` and a moment, whatever `stop` waits for. One line says what did not
//     end. E2. A thread that cannot be ended does not keep the process: a guard kills what `process.exit` leaves.
// E3. A main thread that is held up cannot hear a signal. A watchdog thread ends the process after `blockedMsMax` of silence.
import { spawn } from 'node:child_process'
import { flushCompileCache } from 'node:module'
import { BeaverError, type LogFields, type Logger, messageOf, processFacts } from '@beaver/core'
import { scheduleAsBatch } from './scheduling.ts'
import { stderrLogger } from './stderr-logger.ts'
import { startWatchdog } from './watchdog.ts'

const stopMsMaxDefault = 10_000
const blockedMsMaxDefault = 30_000
/** How long the process may take to end when all is done. */
const exitMsMax = 300

export interface StartedChild {
  /** For the parent. */
  readonly info: Record<string, unknown>
  /** Rejects when the work cannot go on. */
  readonly failed: Promise<unknown>
  /** Ends the work. Tell `at` what is being ended, for the line that says what did not. */
  stop(at: (what: string) => void): Promise<void>
  /** Milliseconds that `stop` may take. Default: 10,000. */
  readonly stopMsMax?: number
  /** Milliseconds the main thread may be held up. Default: 30,000. */
  readonly blockedMsMax?: number
  /** Default: lines on standard error. */
  readonly logger?: Logger
}

/** Schedules this process as batch, runs `start`, tells the parent, and calls the `stop` it gives once, at the end; then the process exits. */
export async function runAsChild(name: string, start: () => Promise<StartedChild>): Promise<void> {
  let logger = stderrLogger()
  tellUncaught(name, () => logger)
  const { promise: ending, resolve: end } = Promise.withResolvers<number>()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(0))
  process.on('disconnect', () => end(0))
  let child: Pick<StartedChild, 'stop' | 'stopMsMax' | 'blockedMsMax'> = { stop: async () => {} }
  let watchdog: ReturnType<typeof startWatchdog> | null = null
  try {
    await scheduleAsBatch(process.pid) // before `start` makes threads
    const started = await start()
    child = started
    logger = started.logger ?? logger
    watchdog = startWatchdog({ name, blockedMsMax: started.blockedMsMax ?? blockedMsMaxDefault, logger })
    started.failed.catch((error: unknown) => {
      processFacts.failed(logger, { name, error })
      end(1)
    })
    tell({ kind: 'ready', ...started.info })
    processFacts.ready(logger, { name, info: started.info as LogFields })
    // Node.js writes it only at an orderly exit, and what is started again was mostly killed (docs/decisions/0029).
    setImmediate(flushCompileCache)
  } catch (error) {
    tell({ kind: 'failed', code: error instanceof BeaverError ? error.code : 'internal', message: messageOf(error) })
    processFacts.notStarted(logger, { name, error })
    end(error instanceof BeaverError ? 3 : 1)
  }
  const code = await ending
  const stopMsMax = child.stopMsMax ?? stopMsMaxDefault
  let still = ''
  // A stop that hangs must not leave an orphan; nor one that holds up this thread.
  watchdog?.endWithin(stopMsMax + exitMsMax)
  setTimeout(() => {
    processFacts.stoppedLate(logger, { name, stopMsMax, still })
    exitForSure(1)
  }, stopMsMax).unref()
  await child.stop((what) => (still = what)).catch((error: unknown) => processFacts.stopFailed(logger, { name, error }))
  exitForSure(code)
}

/** `process.exit` waits for every thread, also for one that is stuck in a system call and never ends. */
function exitForSure(code: number): never {
  try {
    // The guard's standard input closes with this process: then there is nothing to kill.
    const guard = `( sleep ${exitMsMax / 1000}; kill -KILL "$0" ) >/dev/null 2>&1 & read -r _; kill $! 2>/dev/null`
    spawn('/bin/sh', ['-c', guard, String(process.pid)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true }).on('error', () => undefined)
  } catch {
    // Nothing can be started any more: the watchdog ends us.
  }
  process.exit(code)
}

function tell(message: Record<string, unknown>): void {
  if (process.send !== undefined && process.connected) process.send(message)
}

/** What nobody catches ends the process, as it always does, with one line in place of a page. So does a warning of Node.js. */
function tellUncaught(name: string, logger: () => Logger): void {
  process.on('uncaughtException', (error) => {
    processFacts.crashed(logger(), { name, error })
    exitForSure(1)
  })
  process.removeAllListeners('warning') // Node.js prints them itself
  process.on('warning', (warning) => processFacts.warned(logger(), { name, warning }))
}
