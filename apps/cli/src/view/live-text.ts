// What the agents of a task are saying now: the end of each open answer, from pieces that may come late or be lost.
// L1. It is bounded: `charsMax` characters of an answer, `runsMax` answers.
// L2. It is only a hint: the journaled answer replaces it, and later pieces of the same answer are ignored.
import type { LiveDelta, RecordedEvent } from '@beaver/core'

export interface LiveText {
  piece(delta: LiveDelta): void
  /** Takes an event of the journal, which may end what was being said. */
  event(event: RecordedEvent): void
  /** What the run is saying. `null`: nothing. The text is not yet safe for a terminal. */
  of(runId: string): string | null
}

const charsMax = 4_000
const runsMax = 1_024

interface Saying {
  readonly call: number
  text: string
  /** The characters of the answer so far, shown or not. */
  length: number
}

export function liveText(): LiveText {
  const saying = new Map<string, Saying>()
  /** The last provider call of each run whose answer is in the journal. */
  const answered = new Map<string, number>()
  return {
    piece({ run_id: run, call, offset, text }) {
      if (call <= (answered.get(run) ?? 0)) return
      let known = saying.get(run)
      if (known !== undefined && call < known.call) return
      if (known === undefined || call > known.call || offset === 0) {
        if (known === undefined && saying.size >= runsMax) return
        saying.set(run, (known = { call, text: '', length: 0 }))
      }
      if (offset < known.length) return
      const gap = offset > known.length ? ' … ' : ''
      known.text = (known.text + gap + text).slice(-charsMax)
      known.length = offset + text.length
    },
    event(event) {
      if (event.runId === undefined) return
      if (event.type === 'assistant_message_added') {
        answered.set(event.runId, Math.max((answered.get(event.runId) ?? 0) + 1, saying.get(event.runId)?.call ?? 0))
        saying.delete(event.runId)
      } else if (event.type === 'provider_call_failed' || event.type === 'run_completed' || event.type === 'run_failed' || event.type === 'run_cancelled') {
        saying.delete(event.runId)
      }
    },
    of: (runId) => saying.get(runId)?.text ?? null,
  }
}
