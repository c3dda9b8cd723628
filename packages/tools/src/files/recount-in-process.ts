// Recounts if the system has no `find` and `wc`: it reads the folder depth first, and splits the decoded text
// with regular expressions. By design it shares neither the walk nor the counting with file_stats.
import { type FileHandle, opendir } from 'node:fs/promises'
import { holdBelow, openBelow, type OpenedFolder } from '@beaver/agent/tool-kit'
import { type Figures, noFigures } from './figures.ts'

/**
 * A piece is cut at its last line break. Only a line longer than this is cut elsewhere, and then a word may
 * count twice.
 */
const pieceBytesMax = 8 * 1024 * 1024
const problemsMax = 5
const ignored = /^(?:\.git|node_modules|\.beaver)$/
const word = /[^\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u202f\u205f\u2060\u3000]+/gu
const nothing = /[\p{Cc}\p{Cn}\p{Cs}\u2028\u2029\ufffd]/gu
const blank = /[\t\n\v\f\r]/

export async function recountInProcess(
  from: OpenedFolder,
  signal: AbortSignal,
): Promise<{ totals: Figures; problems: string[] }> {
  const totals = noFigures()
  const problems: string[] = []
  const complain = (error: unknown): void => {
    signal.throwIfAborted()
    if (problems.length < problemsMax) problems.push((error as Error).message)
  }
  /** Relative to the folder. `null`: the folder itself. */
  const folders: (Buffer | null)[] = [null]
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    signal.throwIfAborted()
    try {
      await using held = at === null ? null : await holdBelow(from, at)
      // The names are read as bytes, which the types of opendir do not declare.
      for await (const entry of await opendir((held ?? from.folder).here.toString(), {
        encoding: 'buffer' as BufferEncoding,
      })) {
        const name = entry.name as unknown as Buffer
        const path = at === null ? name : Buffer.concat([at, Buffer.from('/'), name])
        if (entry.isDirectory() && !ignored.test(name.toString())) folders.push(path)
        if (!entry.isFile()) continue
        totals.files++
        await openBelow(from, path)
          .then((handle) => recountFile(handle, totals, signal))
          .catch(complain)
      }
    } catch (error) {
      complain(error)
    }
  }
  return { totals, problems }
}

/** Closes the file. */
async function recountFile(handle: FileHandle, totals: Figures, signal: AbortSignal): Promise<void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of handle.createReadStream({
    signal,
    highWaterMark: 1024 * 1024,
  }) as AsyncIterable<Buffer>) {
    totals.bytes += chunk.length
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const cut = all.lastIndexOf(0x0a) + 1 || (all.length > pieceBytesMax ? all.length : 0)
    recountPiece(all.subarray(0, cut), totals)
    rest = all.subarray(cut)
  }
  recountPiece(rest, totals)
}

function recountPiece(piece: Buffer, totals: Figures): void {
  // A U+FFFD in the file is printable, so it is replaced first. After this, a U+FFFD in the decoded text
  // means invalid bytes.
  const text = piece.toString('latin1').includes('\xef\xbf\xbd')
    ? Buffer.from(piece.toString('latin1').replaceAll('\xef\xbf\xbd', 'x'), 'latin1').toString()
    : piece.toString()
  totals.lines += text.split('\n').length - 1
  const plain = text.replace(nothing, (character) => (blank.test(character) ? character : ''))
  totals.words += plain.match(word)?.length ?? 0
}
