// Tracks what was passed on of each member's open answer: live pieces as they come, then the missing rest
// from the journaled answer. The pieces of one answer, each at its offset, give the text of the answer. A
// piece that does not follow the earlier pieces is not passed on. The journaled answer contains its text.
import type { LiveDelta } from '@beaver/core'

export interface Piece {
  readonly text: string
  /** The offset in the answer, in UTF-16 units. 0 starts the answer again. */
  readonly offset: number
}

export interface SaidText {
  /** What to pass on of a live piece. `null`: nothing. */
  piece(delta: LiveDelta): Piece | null
  /** What to pass on of the journaled answer. `null`: all of it was passed on. */
  answer(runId: string, text: string): Piece | null
}

export function saidText(): SaidText {
  const said = new Map<string, { readonly call: number; text: string }>()
  return {
    piece({ run_id, call, offset, text }) {
      if (offset === 0) said.set(run_id, { call, text: '' })
      const known = said.get(run_id)
      if (known === undefined || known.call !== call || known.text.length !== offset) return null
      known.text += text
      return { text, offset }
    },
    answer(runId, text) {
      const known = said.get(runId)?.text ?? ''
      said.delete(runId)
      if (!text.startsWith(known)) return { text, offset: 0 }
      return text.length === known.length ? null : { text: text.slice(known.length), offset: known.length }
    },
  }
}
