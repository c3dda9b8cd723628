// A thread that ends the process when its main thread is held up, or when the process has been told to end and does not.
// G1. Silence is counted in the thread's own turns, none longer than a second: a process that was stopped, or a machine that was
//     asleep, is not ended for it. G2. It ends the process by SIGKILL, because everything gentler needs the main thread.
import { Worker } from 'node:worker_threads'
import { type Logger, processFacts } from '@beaver/core'

/** What the main thread and the watchdog share, by index. */
const [beatsAt, endMsAt, words] = [0, 1, 2] as const
const beatMs = 250

interface WatchdogData {
  readonly name: string
  readonly shared: SharedArrayBuffer
  readonly blockedMsMax: number
}

interface Watchdog {
  /** From now on the process has this long to end. */
  endWithin(ms: number): void
}

interface WatchdogOptions {
  /** Of the process, as its log names it. */
  readonly name: string
  readonly blockedMsMax: number
  readonly logger: Logger
}

/** Starts the watchdog and the beats of this thread. It does not keep the process. */
export function startWatchdog({ name, blockedMsMax, logger }: WatchdogOptions): Watchdog {
  const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * words)
  const view = new Int32Array(shared)
  setInterval(() => Atomics.add(view, beatsAt, 1), beatMs).unref()
  const entry = new URL(import.meta.url.endsWith('.ts') ? './watchdog-thread.ts' : './watchdog-thread.js', import.meta.url)
  const worker = new Worker(entry, {
    workerData: { name, shared, blockedMsMax } satisfies WatchdogData,
    name: 'watchdog',
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  })
  worker.unref()
  // Without a watchdog the process works as well.
  worker.on('error', (error) => processFacts.watchdogEnded(logger, { name, error }))
  return { endWithin: (ms) => void Atomics.store(view, endMsAt, ms) }
}
