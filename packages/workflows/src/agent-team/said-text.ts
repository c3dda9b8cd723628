// What has been told of each member's answer under way: pieces as they come, then the journaled answer for what is missing.
// P1. The pieces told of one answer, each at its offset, give the answer's text. P2. A piece that does not follow the ones
//     before it is not told: the journaled answer makes up for it.
import type { LiveDelta } from '@beaver/core'

export interface Piece {
  readonly text: string
  /** Where in the answer it stands, in UTF-16 units; 0 begins the answer anew. */
  readonly offset: number
}

export interface SaidText {
  /** What to tell of a live piece; `null`: nothing. */
  piece(delta: LiveDelta): Piece | null
  /** What to tell of the answer as it is journaled; `null`: all of it has been told. */
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
