// Passes on what a call tells of its progress: on every `pauseMs` at most the newest update, and that one
// again every `againMs`, for people who come later. Updates after the end of the call are dropped. It imports
// nothing that a cell would have to load.
import type { Clock } from '@beaver/core'
import type { ToolProgress } from './tool.ts'

const pauseMs = 250
const againMs = 5_000

export interface CallProgress {
  /** Never throws. */
  readonly tell: (update: ToolProgress) => void
  readonly end: () => void
}

export function newestProgress(clock: Clock, send: (update: ToolProgress) => void): CallProgress {
  let sentAt = Number.NEGATIVE_INFINITY
  let newest: ToolProgress | null = null
  let timer: { cancel(): void } | null = null
  let isSent = true
  let ended = false

  function flush(): void {
    timer?.cancel()
    if (ended || newest === null) return
    sentAt = clock.now()
    isSent = true
    timer = clock.after(againMs, flush)
    send(newest)
  }

  return {
    tell(update) {
      // A tool is code of others, so nothing is sure about what it tells.
      if (ended || !Number.isFinite((update as ToolProgress | undefined)?.progress)) return
      newest = update
      const waitMs = sentAt + pauseMs - clock.now()
      if (waitMs <= 0) return flush()
      if (!isSent) return
      isSent = false
      timer?.cancel()
      timer = clock.after(waitMs, flush)
    },
    end() {
      ended = true
      timer?.cancel()
    },
  }
}
