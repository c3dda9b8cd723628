// Accepted tasks that wait for room in this daemon, in the order of their acceptance. The line is a bounded
// hint: each task is in the queue too. After the line was full, newer tasks come through the queue until the
// queue was read to its end, so that no task overtakes an earlier one.
import { logKey, type LogId } from '@beaver/core'
import type { Entry } from '@beaver/core/journal'

export interface WaitingLine {
  readonly size: number
  /** Whether only the queue may have tasks that were accepted earlier. */
  readonly behind: boolean
  push(log: LogId, entry: Entry): void
  shift(): { readonly log: LogId; readonly entry: Entry | null } | null
  /**
   * Removes a task that the queue delivered. @returns its first entry; `null` if it is not in the line, or
   * was too large to keep
   */
  remove(key: string): Entry | null
  /** Call it when the queue has been read to its end. */
  caughtUp(): void
  clear(): void
}

const tasksMax = 10_000
/** A larger entry is not kept but read again. */
const keptBytesMax = 4 * 1024

export function waitingLine(): WaitingLine {
  const line = new Map<string, { readonly log: LogId; readonly entry: Entry | null }>()
  let behind = false
  return {
    get size() {
      return line.size
    },
    get behind() {
      return behind
    },
    push(log, entry) {
      if (line.size >= tasksMax) behind = true
      if (behind) return
      line.set(logKey(log), { log, entry: entry.payload.byteLength > keptBytesMax ? null : entry })
    },
    shift() {
      const [first] = line
      if (first === undefined) return null
      line.delete(first[0])
      return first[1]
    },
    remove(key) {
      const entry = line.get(key)?.entry ?? null
      line.delete(key)
      return entry
    },
    caughtUp() {
      if (line.size === 0) behind = false
    },
    clear: () => line.clear(),
  }
}
