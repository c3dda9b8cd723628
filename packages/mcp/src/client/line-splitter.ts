// Bytes into lines, each bounded. Long lines cost one copy: their chunks are kept until the line ends.

/** @returns takes bytes; false once a line grew beyond `lineBytesMax`: nothing more is taken */
export function lineSplitter(lineBytesMax: number, onLine: (line: string) => void): (bytes: Buffer) => boolean {
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
