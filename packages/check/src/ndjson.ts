// Reads the lines of a large file, one at a time, each with its offset. One line and one chunk are in memory.
import { createReadStream } from 'node:fs'

export interface FileLine {
  readonly offset: number
  readonly bytes: Buffer
}

/** The lines of a file. A last line without a line end is included; empty lines are not. */
export async function* linesOf(file: string): AsyncGenerator<FileLine> {
  let offset = 0
  let parts: Buffer[] = []
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(10, from); end !== -1; end = chunk.indexOf(10, from)) {
      const bytes = Buffer.concat([...parts, chunk.subarray(from, end)])
      if (bytes.length > 0) yield { offset, bytes }
      offset += bytes.length + 1
      parts = []
      from = end + 1
    }
    if (from < chunk.length) parts.push(chunk.subarray(from))
  }
  const rest = Buffer.concat(parts)
  if (rest.length > 0) yield { offset, bytes: rest }
}
