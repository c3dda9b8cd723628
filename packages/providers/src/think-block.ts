// Models think aloud in `<think>…</think>` before they answer, and servers without a parser for it leave the
// thoughts in the text. Only a block at the beginning of an answer is one. A text that mentions the tags
// later keeps them. Some templates write the opening tag for the model, so that only the closing one is in
// the answer. The first such answer of an endpoint shows its thoughts while it comes. Then the endpoint is
// known for it, and its answers are held back until the thoughts end.
const open = '<think>'
const close = '</think>'

/** The tags of the models: Qwen, DeepSeek and most others; Gemini; Magistral; Seed-OSS; Kimi-VL. */
const tags: readonly (readonly [open: string, close: string])[] = [
  [open, close],
  ['<thought>', '</thought>'],
  ['[THINK]', '[/THINK]'],
  ['<seed:think>', '</seed:think>'],
  ['◁think▷', '◁/think▷'],
]

/**
 * The text without the thoughts before it. Thoughts without an end are all that there is: the text is empty.
 */
export function withoutThoughts(text: string): string {
  const begun = text.trimStart()
  const pair = tags.find(([opening]) => begun.startsWith(opening))
  if (pair !== undefined) {
    const end = begun.indexOf(pair[1])
    return end === -1 ? '' : begun.slice(end + pair[1].length).trimStart()
  }
  return closesOnly(text) ? text.slice(text.indexOf(close) + close.length).trimStart() : text
}

/** Whether a text ends thoughts that it does not begin. */
const closesOnly = (text: string): boolean => text.includes(close) && !text.includes(open)

/** Removes the thoughts from a text that comes in pieces. */
export interface ThoughtFilter {
  /** Takes the next piece, and returns what of the text so far can be shown. */
  take(piece: string): string
  /** The whole text without the thoughts. */
  whole(): string
  /** What of the whole text was not shown, if nothing was. */
  unshown(): string
  /** Whether the text ends thoughts that it does not begin. */
  closesOnly(): boolean
}

/** @param opened whether the thoughts have begun before the text */
export function thoughtFilter(opened: boolean): ThoughtFilter {
  const pieces: string[] = []
  /** What is not shown yet. `null`: the answer has begun, and each piece is shown. */
  let held: string | null = ''
  /** Whether something of the answer was shown. White space after the thoughts is left out. */
  let trims = false

  /** @param closing the tag after which the answer begins */
  function afterThoughts(text: string, closing: string): string {
    const end = text.indexOf(closing)
    if (end === -1) return ''
    held = null
    const shown = text.slice(end + closing.length).trimStart()
    trims = shown === ''
    return shown
  }

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
      const pair = tags.find(([opening]) => begun.startsWith(opening))
      if (pair !== undefined) return afterThoughts(begun, pair[1])
      if (opened) return afterThoughts(begun, close)
      if (tags.some(([opening]) => opening.startsWith(begun))) return ''
      const all = held
      held = null
      return all
    },
    whole: () => withoutThoughts(pieces.join('')),
    unshown: () => (held === null ? '' : withoutThoughts(pieces.join(''))),
    closesOnly: () => closesOnly(pieces.join('')),
  }
}
