// What the model is saying, passed on while it says it.
// T1. At most one piece a run every `pauseMs`, but for the rest of an answer, which comes before the answer is recorded, and for
//     what is longer than `pieceCharsMax`: a piece is a message, and a message has a bound.
// T2. A try of a provider call begins at offset 0; what a failed try has not passed on yet is forgotten. T3. The end of a try ends
//     its writer: a provider that goes on talking is not heard.
import type { Clock, LiveDelta } from '@beaver/core'

const pauseMs = 50
/** As JSON up to six bytes each: below the 1 MiB of a message. */
const pieceCharsMax = 100_000

export interface LiveText {
  /** @param call which provider call of the run, from 1 */
  begin(call: number): LiveWriter
}

export interface LiveWriter {
  write(text: string): void
  /** Passes on the rest of a complete answer. */
  finish(): void
  drop(): void
}

export function liveText(clock: Clock, send: (delta: Pick<LiveDelta, 'call' | 'offset' | 'text'>) => void): LiveText {
  let sentAt = Number.NEGATIVE_INFINITY

  return {
    begin(call) {
      let offset = 0
      let pending = ''
      let timer: { cancel(): void } | null = null
      let ended = false

      function flush(): void {
        timer?.cancel()
        timer = null
        if (pending === '') return
        for (let from = 0; from < pending.length; from += pieceCharsMax) {
          send({ call, offset: offset + from, text: pending.slice(from, from + pieceCharsMax) })
        }
        offset += pending.length
        pending = ''
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
          else timer ??= clock.after(waitMs, flush)
        },
        finish() {
          if (!ended) flush()
          end()
        },
        drop: end,
      }
    },
  }
}
