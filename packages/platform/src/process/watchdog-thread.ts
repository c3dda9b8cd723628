// The watchdog's thread: it sleeps, looks at the beats, and in the end kills the process. See watchdog.ts.
import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

interface Data {
  readonly name: string
  readonly shared: SharedArrayBuffer
  readonly blockedMsMax: number
}

// These are the indexes of watchdog.ts. They are repeated so that this thread need not load that file.
const [beatsAt, endMsAt] = [0, 1] as const
const turnMs = 200
const turnMsMax = 1_000

const { name, shared, blockedMsMax } = workerData as Data
const view = new Int32Array(shared)
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
let [beats, silentMs, endingMs, last] = [0, 0, 0, performance.now()]

for (;;) {
  Atomics.wait(never, 0, 0, turnMs)
  const now = performance.now()
  const ms = Math.min(now - last, turnMsMax)
  last = now
  const beaten = Atomics.load(view, beatsAt)
  silentMs = beaten === beats ? silentMs + ms : 0
  beats = beaten
  const endMs = Atomics.load(view, endMsAt)
  if (endMs > 0) endingMs += ms
  if (endMs > 0 && endingMs >= endMs) end('it did not end in time')
  if (silentMs >= blockedMsMax) end(`its main thread did not respond for ${(silentMs / 1000).toFixed(1)} s`)
}

function end(why: string): void {
  try {
    // This is a line of the log, written without the logger: this thread has to work even if nothing else does.
    const line = { time: new Date().toISOString(), level: 'error', event: 'process_killed', message: `The ${name} is killed: ${why}.`, process: name }
    writeSync(2, `${JSON.stringify(line)}\n`)
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}
