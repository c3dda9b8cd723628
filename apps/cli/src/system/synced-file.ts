// Files that are on the disk when the caller goes on, for their owner alone.
import { createHash } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** A file that is being written, piece by piece. */
export interface GrowingFile {
  add(piece: Uint8Array): Promise<void>
  /** Ends the file. It is on the disk then. */
  end(): Promise<{ readonly bytes: number; readonly sha256: string }>
  /** Closes the file as it is. It may be called after `end`. */
  close(): Promise<void>
}

/** Begins a file, which must not exist. @throws {Error} of the system */
export async function growingFile(file: string): Promise<GrowingFile> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const handle = await open(file, 'wx', 0o600)
  const hash = createHash('sha256')
  let bytes = 0
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await handle.close()
  }
  return {
    async add(piece) {
      await handle.writeFile(piece)
      hash.update(piece)
      bytes += piece.length
    },
    async end() {
      await handle.sync()
      await close()
      return { bytes, sha256: hash.digest('hex') }
    },
    close,
  }
}

/** Writes a whole file. @throws {Error} of the system */
export async function writeSynced(
  file: string,
  content: Uint8Array,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const growing = await growingFile(file)
  try {
    await growing.add(content)
    return await growing.end()
  } finally {
    await growing.close()
  }
}

/** The names in a folder are on the disk afterwards. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder)
  await handle.sync()
}
