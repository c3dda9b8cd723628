// Keeps the beginning and the end of an output of unknown length: what a program was about, and how it ended.
// Memory is bounded by `bytesMax` and one chunk. What is left out is counted, and the count is shown where
// the text is missing.

export interface HeadTail {
  add(chunk: Buffer): void
  /** Invalid UTF-8 becomes U+FFFD. */
  text(): string
  readonly bytesLeftOut: number
}

export function headTail(bytesMax: number): HeadTail {
  const headMax = Math.ceil(bytesMax / 2)
  const tailMax = bytesMax - headMax
  let head = Buffer.alloc(0)
  let tail = Buffer.alloc(0)
  let bytes = 0
  const leftOut = (): number => bytes - head.length - tail.length
  return {
    add(chunk) {
      bytes += chunk.length
      const room = headMax - head.length
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)])
      if (chunk.length <= room) return
      const rest = chunk.subarray(Math.max(room, chunk.length - tailMax))
      tail = Buffer.concat([tail.subarray(Math.max(0, tail.length + rest.length - tailMax)), rest])
    },
    text() {
      if (leftOut() === 0) return new TextDecoder().decode(Buffer.concat([head, tail]))
      // A character that is cut at either side of the gap is left out with it.
      const before = new TextDecoder().decode(head, { stream: true })
      const after = new TextDecoder().decode(tail).replace(/^\uFFFD{1,3}/, '')
      return `${before}\n[… ${leftOut()} bytes left out …]\n${after}`
    },
    get bytesLeftOut() {
      return leftOut()
    },
  }
}
