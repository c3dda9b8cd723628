// The log of the nats-server that runs in a home, read a little at a time. A log that was replaced by an
// empty one is read from its beginning. One reading is bounded. The rest comes with the next one.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { readSystemFile } from './system-file.ts'

const bytesMax = 4 * 1024 * 1024

/**
 * Returns a function that reads the whole lines which the server has written since the last call; `''` if no
 * server runs in this home.
 */
export function serverLogOf(home: string): () => string {
  const file = join(home, 'nats', 'nats-server.log')
  let offset = 0
  return () => {
    if (readSystemFile(home)?.embedded !== true) return ''
    try {
      const opened = openSync(file, 'r')
      try {
        const { size } = fstatSync(opened)
        if (size < offset) offset = 0
        const bytes = Buffer.alloc(Math.min(bytesMax, size - offset))
        const read = readSync(opened, bytes, 0, bytes.length, offset)
        const end = bytes.subarray(0, read).lastIndexOf(0x0a) + 1
        offset += end
        return bytes.subarray(0, end).toString()
      } finally {
        closeSync(opened)
      }
    } catch {
      return '' // There is no log, or it cannot be read now.
    }
  }
}
