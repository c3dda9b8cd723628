// Reads a part of one text file, in the form in which tools and skills show it.
import type { FileHandle } from 'node:fs/promises'
import type { OpenedFile } from './open-inside.ts'

/** A NUL byte within this many bytes from the start makes a file binary. Git uses the same rule. */
const sniffedBytes = 8000

export interface FilePart {
  readonly path: string
  /** The size of the whole file. */
  readonly bytes: number
  readonly encoding: 'utf-8' | 'not utf-8' | 'binary'
  readonly offset: number
  readonly bytes_read: number
  /** The offset of the next part. `null` at the end of the file. */
  readonly next_offset: number | null
  /**
   * `null` for a binary file. Of an image that is shown it says so. Bytes that are not UTF-8 are shown as
   * U+FFFD.
   */
  readonly text: string | null
}

/** Reads from an open file. The caller closes it. */
export async function readFilePart(
  { handle, shown }: OpenedFile,
  { offset, bytesMax }: { offset: number; bytesMax: number },
): Promise<FilePart> {
  const { size } = await handle.stat()
  const start = await readPart(handle, 0, sniffedBytes)
  if (start.includes(0))
    return {
      path: shown,
      bytes: size,
      encoding: 'binary',
      offset,
      bytes_read: 0,
      next_offset: null,
      text: null,
    }
  const part = wholeCharacters(await readPart(handle, offset, bytesMax))
  const end = offset + part.length
  const isUtf8 = utf8(part)
  return {
    path: shown,
    bytes: size,
    encoding: isUtf8 ? 'utf-8' : 'not utf-8',
    offset,
    bytes_read: part.length,
    next_offset: part.length > 0 && end < size ? end : null,
    text: new TextDecoder().decode(part),
  }
}

export async function readPart(handle: FileHandle, offset: number, bytesMax: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytesMax)
  let filled = 0
  while (filled < bytesMax) {
    const { bytesRead } = await handle.read(buffer, filled, bytesMax - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

/** Drops a last character that the limit cut in two, unless nothing would remain. */
function wholeCharacters(part: Buffer): Buffer {
  for (let back = 1; back <= 3 && back < part.length; back++) {
    const byte = part[part.length - back] as number
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? part.subarray(0, part.length - back) : part
  }
  return part
}

function utf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}
