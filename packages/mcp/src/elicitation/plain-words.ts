// The words of a server as a person sees them within a question: one line, without what could hide or turn a
// text, and without the quotation mark that ends them.

/** @param charsMax the most characters that are kept; a longer text says that it was cut */
export function plainWords(text: string, charsMax: number): string {
  const plain = text
    .slice(0, 2 * charsMax)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll('"', "'")
    .trim()
  return plain.length <= charsMax && text.length <= 2 * charsMax ? plain : `${plain.slice(0, charsMax)} [cut]`
}
