// Limits how many cells run at the same time, and keeps the queue for them. At most `cellsMax` slots are
// taken. At most `waitingMax` callers wait, first come first served. A caller that stops waiting leaves the
// queue.
import { ToolFailure } from '../tool-failure.ts'

export interface CellSlots {
  /**
   * Resolves to the function that frees the slot.
   *
   * @throws {ToolFailure} `cells_busy`; the reason of `signal`
   */
  take(signal: AbortSignal): Promise<() => void>
}

export function cellSlots(cellsMax: number, waitingMax: number): CellSlots {
  let taken = 0
  const waiting = new Set<() => void>()
  const free = (): void => {
    const [next] = waiting
    if (next === undefined) taken--
    else next()
  }
  return {
    async take(signal) {
      signal.throwIfAborted()
      if (taken < cellsMax) {
        taken++
        return free
      }
      if (waiting.size >= waitingMax)
        throw new ToolFailure(
          'cells_busy',
          `${cellsMax} tools already run in cells, and ${waitingMax} wait. Call it again later.`,
        )
      return await new Promise((resolve, reject) => {
        const begin = (): void => {
          waiting.delete(begin)
          signal.removeEventListener('abort', leave)
          resolve(free)
        }
        const leave = (): void => {
          waiting.delete(begin)
          reject(signal.reason as Error)
        }
        waiting.add(begin)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
  }
}
