// Sets up V8 for a daemon: for the main thread, and for the worker threads, which start later. The flags are
// set before anything else is loaded, so this file imports nothing of Beaver's. The entry file decides
// whether to set them.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export function setV8Flags(): void {
  // Nearly everything that a task leaves behind is garbage, and V8 must not guess otherwise. If objects from
  // one place in the code survive, as they do during the warm-up, V8 makes all later objects from this place
  // old at once, and old garbage keeps young garbage alive (docs/decisions/0022).
  setFlagsFromString('--no-allocation-site-pretenuring')
  // V8 would collect a small old space every second.
  setFlagsFromString('--initial-old-space-size=128')
}

const startMs = 30_000

/**
 * Collects this thread's garbage once, half a minute from now. What a start leaves behind would stay in memory
 * for hours, because V8 collects only when more is allocated. It is 20 to 50 MB for each thread. The
 * collection stops the thread for 25 to 100 ms. Nothing waits for it: a process may end before.
 */
export function collectGarbageOfStart(): void {
  setTimeout(() => {
    // The flag belongs to the whole process. A thread that took it back could take it from another thread.
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
    collect({ type: 'major', flavor: 'last-resort' })
  }, startMs).unref()
}
