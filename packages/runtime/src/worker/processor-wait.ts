// How long a thread of this process has waited for a processor, as the kernel counts it. Linux tells this;
// elsewhere nobody does.
import { readFileSync, readlinkSync } from 'node:fs'

/** The id under which the kernel knows the thread that calls. 0: it is not known. */
export function ownThreadId(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1)) || 0
  } catch {
    return 0
  }
}

/** Since the thread began, in milliseconds. 0: it is not known. */
export function processorWaitMs(thread: number): number {
  if (thread === 0) return 0
  try {
    return Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ')[1]) / 1_000_000 || 0
  } catch {
    return 0
  }
}
