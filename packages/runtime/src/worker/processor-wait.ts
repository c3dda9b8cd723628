// How long a thread of this process has waited for a processor, as Linux counts it. Other systems do not
// report it.
import { readFileSync, readlinkSync } from 'node:fs'

/** The kernel's id of the calling thread. 0: not known. */
export function ownThreadId(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1)) || 0
  } catch {
    return 0
  }
}

/** Since the thread began, in milliseconds. 0: not known. */
export function processorWaitMs(thread: number): number {
  if (thread === 0) return 0
  try {
    return Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ')[1]) / 1_000_000 || 0
  } catch {
    return 0
  }
}
