// Tells the client of a call what happens while the call is open: by progress, if the client wants it, and by
// log messages for what a person has to do. The progress grows with each notification, as the protocol
// demands, and stays below the next node that ends. When all have ended, and the task has not, it names no
// total. Not every client wants or shows progress. The log of the protocol, which both eras have, names what
// waits for a person too.
import { systemClock } from '@beaver/core'
import type { ServerContext } from '@modelcontextprotocol/server'
import type { WorkflowProgress } from './workflow-caller.ts'

export interface ClientTeller {
  /**
   * Reports progress in order, one notification at a time. Of the progress that comes meanwhile, only the
   * last is reported.
   */
  progress(progress: WorkflowProgress): void
  /** Says what a person has to do. */
  waits(message: string): void
  /** Repeats the last progress until `waiting` settles. */
  during<T>(waiting: Promise<T>): Promise<T>
}

const repeatEveryMs = 3_000
/** The part of what is left until the next node ends. */
const partOfRest = 10_000

export function tellClient({ mcpReq }: ServerContext): ClientTeller {
  const progressToken = mcpReq._meta?.progressToken
  let newest: WorkflowProgress | null = null
  let untold = false
  let telling = false
  let last = -1

  async function tell(): Promise<void> {
    telling = true
    while (newest !== null && untold && !mcpReq.signal.aborted) {
      const { done, total, message } = newest
      untold = false
      last = Math.max(done, last + (Math.floor(last) + 1 - last) / partOfRest)
      const params = {
        progressToken,
        progress: last,
        message,
        ...(total === null || last > total ? {} : { total }),
      }
      await mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
    }
    telling = false
  }

  function progress(told: WorkflowProgress): void {
    newest = told
    untold = true
    if (progressToken !== undefined && !telling) void tell()
  }

  return {
    progress,
    waits: (message) => void mcpReq.log('warning', message, 'beaver').catch(() => {}),
    async during(waiting) {
      let repeating = systemClock.after(repeatEveryMs, repeat)
      function repeat(): void {
        if (newest !== null) progress(newest)
        repeating = systemClock.after(repeatEveryMs, repeat)
      }
      try {
        return await waiting
      } finally {
        repeating.cancel()
      }
    },
  }
}
