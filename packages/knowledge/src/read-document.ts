// Reads a document that was found: its text, or why it has none. What is read is a regular file without a
// second name, and no larger than it may be, whatever it was when it was found. Bytes that are not UTF-8 are
// U+FFFD. A file with a byte order mark of UTF-16 is read as such.
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { htmlLines } from './html-lines.ts'
import type { FoundDocument, LeftOutReason } from './survey-folder.ts'

/** The text of a document. */
export type ReadDocument =
  | { readonly kind: 'text'; readonly sha256: string; readonly text: string }
  | { readonly kind: 'left_out'; readonly reason: LeftOutReason }

/** A NUL byte within this many bytes from the start makes a file binary. Git uses the same rule. */
const sniffedBytes = 8_000

/** Never throws because of the file. */
export async function readDocument(found: FoundDocument, fileBytesMax: number): Promise<ReadDocument> {
  let bytes: Buffer | LeftOutReason
  try {
    await using handle = await found.open()
    bytes = await bytesOf(handle, fileBytesMax)
  } catch {
    return { kind: 'left_out', reason: 'unreadable' }
  }
  if (typeof bytes === 'string') return { kind: 'left_out', reason: bytes }
  const encoding = encodingOf(bytes)
  if (encoding === null) return { kind: 'left_out', reason: 'binary' }
  const text = new TextDecoder(encoding).decode(bytes)
  return {
    kind: 'text',
    sha256: createHash('sha256').update(bytes).digest('hex'),
    text: found.format === 'html' ? htmlLines(text) : text,
  }
}

async function bytesOf(handle: FileHandle, fileBytesMax: number): Promise<Buffer | LeftOutReason> {
  const { size, nlink } = await handle.stat()
  if (nlink > 1) return 'link'
  if (size > fileBytesMax) return 'too_large'
  // A file that grows is read as far as it was.
  const buffer = Buffer.alloc(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await handle.read(buffer, filled, size - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

function encodingOf(bytes: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return bytes.subarray(0, sniffedBytes).includes(0) ? null : 'utf-8'
}
