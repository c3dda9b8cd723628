// Opens what is below a folder that is held, in one step, and then asks where it is. Something that was
// exchanged for a link, or moved, since its name was read is refused: what is opened is at the named place,
// or it is closed again unread.
import { constants, fstatSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import {
  type FolderAccess,
  folderAccesses,
  type HeldFolder,
  joined,
  noFollow,
  placeOnly,
} from './held-folder.ts'
import type { OpenedFolder } from './open-inside.ts'

type From = Pick<OpenedFolder, 'folder'>

const elsewhere = (): Error => Object.assign(new Error('It is at another place.'), { code: 'EXDEV' })

/**
 * Holds the folder at `way`, which is relative to `from` and contains no link. @throws {Error} with a `code`
 * of the system, or `EXDEV`
 */
export function holdBelow(
  { folder }: From,
  way: Buffer,
  access = folderAccesses[0] as FolderAccess,
): Promise<HeldFolder> {
  return access.hold(folder.entry(way), joined(folder.path, way))
}

/** Opens the regular file at `way`. @throws {Error} with a `code` of the system, or `EXDEV` */
export function openBelow(from: From, way: Buffer, access?: FolderAccess): Promise<FileHandle> {
  return opened(from, way, { access, flags: constants.O_RDONLY })
}

/**
 * The size of the regular file at `way`. It needs no right to read the file on Linux. @throws {Error} with a
 * `code` of the system, or `EXDEV`
 */
export async function bytesBelow(from: From, way: Buffer, access?: FolderAccess): Promise<number> {
  await using handle = await opened(from, way, { access, flags: placeOnly })
  return (await handle.stat()).size
}

async function opened(
  { folder }: From,
  way: Buffer,
  {
    access = folderAccesses[0] as FolderAccess,
    flags,
  }: { readonly access: FolderAccess | undefined; readonly flags: number },
): Promise<FileHandle> {
  const handle = await open(folder.entry(way), flags | noFollow)
  const expected = joined(folder.path, way)
  const found = await access.placeOf(handle, expected).catch(() => null)
  if (found?.equals(expected) === true && fstatSync(handle.fd).isFile()) return handle
  await handle.close()
  throw elsewhere()
}
