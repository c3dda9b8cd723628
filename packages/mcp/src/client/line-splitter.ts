// Splits bytes into lines with a bound. The chunks of a long line are kept until the line ends, so that it is
// copied only once.

/**
 * Returns a function that takes bytes. After a line grew beyond `lineBytesMax` it returns false and takes
 * nothing more.
 */
export function lineSplitter(
  lineBytesMax: number,
  onLine: (line: string) => void,
): (bytes: Buffer) => boolean {
  let begun: Buffer[] = []
  let begunBytes = 0
  return (bytes) => {
    let rest = bytes
    while (begunBytes <= lineBytesMax) {
      const end = rest.indexOf(10)
      if (begunBytes + (end === -1 ? rest.length : end) > lineBytesMax) {
        begun = []
        begunBytes = Infinity
        return false
      }
      if (end === -1) {
        if (rest.length > 0) begun.push(rest)
        begunBytes += rest.length
        return true
      }
      const line = Buffer.concat([...begun, rest.subarray(0, end)])
      begun = []
      begunBytes = 0
      rest = rest.subarray(end + 1)
      const text = line.toString('utf8').replace(/\r$/, '')
      if (text !== '') onLine(text)
    }
    return false
  }
}
