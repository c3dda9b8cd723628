// A thread that ends the process if the main thread is blocked, or if the process does not end when told to.
// Silence is counted in the watchdog's own turns, each for at most one second, so a stopped process or a
// sleeping machine is not ended for it; silent-time.ts decides how much of a turn counts. The watchdog uses
// SIGKILL, because everything gentler needs the main thread.
import { Worker } from 'node:worker_threads'
import { type Logger, processFacts } from '@beaver/core'

/** The indexes of the words that the main thread and the watchdog share. */
const [beatsAt, endMsAt, words] = [0, 1, 2] as const
const beatMs = 250

interface WatchdogData {
  readonly name: string
  readonly shared: SharedArrayBuffer
  readonly blockedMsMax: number
}

interface Watchdog {
  /** Gives the process this much time to end, from now on. */
  endWithin(ms: number): void
}

interface WatchdogOptions {
  /** The name of the process in its log. */
  readonly name: string
  readonly blockedMsMax: number
  readonly logger: Logger
}

/** Starts the watchdog and the beats of this thread. Neither keeps the process alive. */
export function startWatchdog({ name, blockedMsMax, logger }: WatchdogOptions): Watchdog {
  const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * words)
  const view = new Int32Array(shared)
  setInterval(() => Atomics.add(view, beatsAt, 1), beatMs).unref()
  const entry = new URL(
    import.meta.url.endsWith('.ts') ? './watchdog-thread.ts' : './watchdog-thread.js',
    import.meta.url,
  )
  const worker = new Worker(entry, {
    workerData: { name, shared, blockedMsMax } satisfies WatchdogData,
    name: 'watchdog',
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  worker.unref()
  // The process also works without a watchdog.
  worker.on('error', (error) => processFacts.watchdogEnded(logger, { name, error }))
  return { endWithin: (ms) => void Atomics.store(view, endMsAt, ms) }
}
