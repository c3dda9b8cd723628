// Shows in a chat that Beaver works on a message, until the work ends. While the work waits for a person,
// nothing is shown, and this time does not count. The time for each message and the number of chats at a time
// are bounded. Nothing waits for the display, and its failures are ignored. The chat also gets one line of
// text. The id of this line is computed from the message, so if another process takes over the work and sends
// the line again, the queue recognises the duplicate.
import type { Clock } from '@beaver/core'
import type { ShownWork } from './channel.ts'

/** The pause between two signs, in milliseconds. Networks show a sign for at least five seconds. */
const everyMs = 4_000
/** For how much work on one message signs are sent, in milliseconds. */
const showMsMax = 600_000
const chatsMax = 50

/** What to do after `ms` milliseconds of work. */
export interface DueWork {
  readonly show: boolean
  readonly line: boolean
  /** No more will be due for this message. */
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
  /** How the channel shows work. `undefined`: it cannot. */
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
   * Starts to show work.
   *
   * @returns a function that stops it. It resolves when no line is being sent any more, so that the line
   * cannot come after the answer
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
    // Work that waits for a person does not count towards `chatsMax`.
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
