// Writes files that only their owner may read and that are on the disk before the caller continues.
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeFolder } from '@beaver/platform'

/** A file that is written piece by piece. */
export interface GrowingFile {
  add(piece: Uint8Array): Promise<void>
  /** Syncs and closes the file. */
  end(): Promise<{ readonly bytes: number; readonly sha256: string }>
  /** Closes the file without a sync. It may be called after `end`. */
  close(): Promise<void>
}

/**
 * Makes a file, which must not exist yet, and its folder.
 *
 * @throws {Error} of the system
 */
export async function growingFile(file: string): Promise<GrowingFile> {
  makeFolder(dirname(file))
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

/**
 * Writes a whole file, which must not exist yet.
 *
 * @throws {Error} of the system
 */
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

/** Syncs a folder, so that the names of its files are on the disk. */
export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder)
  await handle.sync()
}
