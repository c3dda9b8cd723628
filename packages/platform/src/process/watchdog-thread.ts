// The watchdog's thread: it sleeps, looks at the beats, and in the end kills the process. See watchdog.ts.
import { readdirSync, readFileSync, writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import { silentTime, type ThreadSeen, threadSeen, type ThreadsSeen } from './silent-time.ts'

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
let seen: ThreadsSeen | null = null

// This loop does not end, so everything below is a function, which exists before it.
for (;;) {
  Atomics.wait(never, 0, 0, turnMs)
  const now = performance.now()
  const turn = Math.min(now - last, turnMsMax)
  last = now
  const beaten = Atomics.load(view, beatsAt)
  const isSilent = beaten === beats
  beats = beaten
  const before = seen
  seen = isSilent ? threadsNow() : null
  // In the first turn of a silence the main thread was still heard.
  const ms = !isSilent ? turn : before === null && seen !== null ? 0 : silentTime(turn, before, seen)
  silentMs = isSilent ? silentMs + ms : 0
  const endMs = Atomics.load(view, endMsAt)
  if (endMs > 0) endingMs += ms
  if (endMs > 0 && endingMs >= endMs) end('it did not end in time')
  if (silentMs >= blockedMsMax) end(`its main thread did not respond for ${(silentMs / 1000).toFixed(1)} s`)
}

/** `null`: this system does not tell. On Linux, the main thread has the id of the process. */
function threadsNow(): ThreadsSeen | null {
  try {
    const main = String(process.pid)
    const { user, system } = process.cpuUsage()
    const { isHeldUp: mainIsHeldUp, ms: mainMs } = threadNow(main)
    const others = mainIsHeldUp
      ? []
      : readdirSync('/proc/self/task').filter((thread) => thread !== main && isHeldUp(thread))
    // This thread has a processor while it looks.
    return { mainIsHeldUp, anotherIsHeldUp: others.length > 1, mainMs, processMs: (user + system) / 1_000 }
  } catch {
    return null
  }
}

/** A thread may end between the list of threads and the look at it. */
function isHeldUp(thread: string): boolean {
  try {
    return threadNow(thread).isHeldUp
  } catch {
    return false
  }
}

function threadNow(thread: string): ThreadSeen {
  return threadSeen(readFileSync(`/proc/self/task/${thread}/stat`, 'utf8'))
}

function end(why: string): void {
  try {
    // This is a line of the log, written without the logger: this thread has to work even if nothing else
    // does.
    const line = {
      time: new Date().toISOString(),
      level: 'error',
      event: 'process_killed',
      message: `The ${name} is killed: ${why}.`,
      process: name,
    }
    writeSync(2, `${JSON.stringify(line)}\n`)
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}
