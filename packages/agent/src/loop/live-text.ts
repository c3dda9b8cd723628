// Passes on the model's text while the model produces it: at most one piece every `pauseMs`, except the rest
// of an answer and text longer than `pieceCharsMax`. Each try begins at offset 0, and unsent text of a failed
// try is dropped. No piece contains a secret, even if the provider split it: what may become one is held
// back. Text after the end of a try is ignored.
import type { Clock, LiveDelta } from '@beaver/core'
import { maskedStream } from '@beaver/core/secrets'

const pauseMs = 50
/** In JSON a character takes up to six bytes, so a piece is smaller than the 1 MiB of a message. */
const pieceCharsMax = 100_000

export interface LiveText {
  /** @param call the number of the provider call in the run, from 1 */
  begin(call: number): LiveWriter
}

export interface LiveWriter {
  write(text: string): void
  /** Passes on the rest of a complete answer. */
  finish(): void
  drop(): void
}

export function liveText(
  clock: Clock,
  send: (delta: Pick<LiveDelta, 'call' | 'offset' | 'text'>) => void,
): LiveText {
  let sentAt = Number.NEGATIVE_INFINITY

  return {
    begin(call) {
      let offset = 0
      const masked = maskedStream()
      let pending = ''
      let timer: { cancel(): void } | null = null
      let ended = false

      function flush(rest: () => string = () => ''): void {
        timer?.cancel()
        timer = null
        const text = masked.push(pending) + rest()
        pending = ''
        if (text === '') return
        for (let from = 0; from < text.length; from += pieceCharsMax) {
          send({ call, offset: offset + from, text: text.slice(from, from + pieceCharsMax) })
        }
        offset += text.length
        sentAt = clock.now()
      }
      function end(): void {
        ended = true
        timer?.cancel()
        timer = null
      }

      return {
        write(text) {
          if (ended || text === '') return
          pending += text
          const waitMs = sentAt + pauseMs - clock.now()
          if (waitMs <= 0) flush()
          else timer ??= clock.after(waitMs, () => flush())
        },
        finish() {
          if (!ended) flush(masked.end)
          end()
        },
        drop: end,
      }
    },
  }
}
