/**
 * The length to which the longest of texts are cut, so that all together have at most `charsMax` characters.
 * `Infinity`: nothing has to be cut.
 */
export function fairShare(lengths: readonly number[], charsMax: number): number {
  let left = charsMax
  let open = lengths.length
  for (const length of lengths.toSorted((a, b) => a - b)) {
    const share = Math.max(0, Math.floor(left / open))
    if (length > share) return share
    left -= length
    open--
  }
  return Infinity
}
