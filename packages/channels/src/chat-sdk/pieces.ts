// A long text as messages of a network that takes only so much. The pieces together are the text. They end at
// the ends of lines or words where there is one. A character that a network writes with an escape counts as
// two. Nothing in the text calls everybody in a chat.

const escaped = /[_*[\]()~`>#+\-=|{}.!\\<&]/
const wordMin = 0.5

/** @param most the weight of a piece */
export function piecesOf(text: string, most: number): readonly string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length;) {
    const end = endOf(text, from, most)
    pieces.push(text.slice(from, end))
    from = end
  }
  return pieces
}

function endOf(text: string, from: number, most: number): number {
  let [weight, end] = [0, from]
  for (; end < text.length; end++) {
    weight += escaped.test(text[end] ?? '') ? 2 : 1
    if (weight > most) break
  }
  if (end >= text.length) return end
  const least = from + Math.max(1, Math.floor((end - from) * wordMin))
  const line = text.lastIndexOf('\n', end - 1) + 1
  if (line > least) return line
  const word = text.lastIndexOf(' ', end - 1) + 1
  if (word > least) return word
  // Both halves of a character outside the basic plane stay together.
  const split = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') && end - 1 > from
  return Math.max(split ? end - 1 : end, from + 1)
}

/** The text, with an invisible space in what would call people. */
export const withoutCalls = (text: string): string =>
  text.replaceAll(/<(?=[!@#])/g, '<\u200B').replaceAll(/@(?=everyone\b|here\b|channel\b|all\b)/gi, '@\u200B')
