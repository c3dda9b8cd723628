// Models think aloud in `<think>…</think>` before they answer, and servers without a parser for it leave the thoughts in the text.
// B1. Only a block at the beginning of an answer is one. A text that mentions the tags later keeps them.
// B2. Some templates write the opening tag for the model, so that only the closing one is in the answer. A live text then shows the thoughts;
//     the answer does not have them.
const open = '<think>'
const close = '</think>'

/** The text without the thoughts before it. Thoughts without an end are all that there is: the text is empty. */
export function withoutThoughts(text: string): string {
  const begun = text.trimStart()
  if (begun.startsWith(open)) {
    const end = begun.indexOf(close)
    return end === -1 ? '' : begun.slice(end + close.length).trimStart()
  }
  const end = text.indexOf(close)
  return end === -1 || text.includes(open) ? text : text.slice(end + close.length).trimStart()
}

/** Removes the thoughts from a text that comes in pieces. */
export interface ThoughtFilter {
  /** Takes the next piece, and returns what of the text so far can be shown. */
  take(piece: string): string
  /** The whole text without the thoughts. */
  whole(): string
}

export function thoughtFilter(): ThoughtFilter {
  const pieces: string[] = []
  /** What is not shown yet. `null`: the answer has begun, and each piece is shown. */
  let held: string | null = ''
  /** Whether something of the answer was shown. White space after the thoughts is left out. */
  let trims = false
  return {
    take(piece) {
      pieces.push(piece)
      if (held === null) {
        if (!trims) return piece
        const shown = piece.trimStart()
        trims = shown === ''
        return shown
      }
      held += piece
      const begun = held.trimStart()
      if (open.startsWith(begun.slice(0, open.length)) && begun.length < open.length) return ''
      if (!begun.startsWith(open)) return ((all) => ((held = null), all))(held)
      const end = begun.indexOf(close)
      if (end === -1) return ''
      held = null
      const shown = begun.slice(end + close.length).trimStart()
      trims = shown === ''
      return shown
    },
    whole: () => withoutThoughts(pieces.join('')),
  }
}
