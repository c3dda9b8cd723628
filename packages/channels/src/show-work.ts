// Shows a chat that Beaver works on a message, until the work ends. While the work waits for a person,
// nothing is shown, and that time does not count. What is shown is bounded: in time for a message, and in the
// number of chats at a time. Nothing waits for it, and its failures cost nothing. The line is one message,
// whose id follows from the message that is worked on: a process that goes on with the work says it again,
// and the queue knows it.
import type { Clock } from '@beaver/core'
import type { ShownWork } from './channel.ts'

/** How long networks show that somebody writes is five seconds and more. */
const everyMs = 4_000
/** How long the work on one message is shown, in milliseconds. */
const showMsMax = 600_000
const chatsMax = 50

/** What is due after so many milliseconds of work. */
export interface DueWork {
  readonly show: boolean
  readonly line: boolean
  /** Nothing more will be due. */
  readonly over: boolean
}

export function dueWork({
  ms,
  lineAfterMs,
  isTold,
  waits,
}: {
  ms: number
  lineAfterMs: number
  isTold: boolean
  waits: boolean
}): DueWork {
  const line = !waits && !isTold && ms >= lineAfterMs
  return { show: !waits && ms < showMsMax, line, over: ms >= showMsMax }
}

export interface Work {
  readonly chat_id: string
  /** How the channel shows it. Absent: it shows nothing. */
  readonly shown: ShownWork | undefined
  readonly clock: Clock
  /** Whether the work waits for a person now. */
  waits(): boolean
  /** Sends the line. */
  line(): Promise<void>
}

export class WorkShown {
  #chats = 0

  /**
   * @returns ends it, and resolves when a line that is on its way has arrived, so that nothing comes behind
   * the answer
   */
  begin({ chat_id, shown, clock, waits, line }: Work): () => Promise<void> {
    if (shown === undefined || this.#chats >= chatsMax) return async () => {}
    this.#chats++
    const { lineAfterMs } = shown
    let workedMs = 0
    let isPlaced = true
    let timer = { cancel: (): void => {} }
    let telling: Promise<void> | null = null
    let isShowing = false
    // Work that waits leaves its place to others.
    const place = (wanted: boolean): void => {
      if (wanted !== isPlaced) this.#chats += wanted ? 1 : -1
      isPlaced = wanted
    }
    const show = async (): Promise<void> => {
      if (isShowing) return
      isShowing = true
      await shown.show?.(chat_id).catch(() => {})
      isShowing = false
    }
    const step = (): void => {
      const isWaiting = waits()
      const due = dueWork({ ms: workedMs, lineAfterMs, isTold: telling !== null, waits: isWaiting })
      if (!isWaiting) workedMs += everyMs
      place(!isWaiting && !due.over)
      if (due.show) void show()
      if (due.line) telling = line().catch(() => {})
      if (!due.over) timer = clock.after(everyMs, step)
    }
    step()
    return async () => {
      timer.cancel()
      place(false)
      await telling
    }
  }
}
