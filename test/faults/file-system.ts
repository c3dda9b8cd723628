// A small file system of its own below nats-server, so that its disk can be full: an ext4 image on a loop
// device. Needs root. It is unmounted and its image removed when it is disposed of, full or not.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, statfs, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const sizeMb = 400

export interface SmallDisk extends AsyncDisposable {
  readonly folder: string
  /** Takes all the space that is left. */
  fill(): Promise<void>
  clear(): Promise<void>
}

/** `null` where the system does not let us mount one. */
export async function smallDisk(): Promise<SmallDisk | null> {
  const folder = await mkdtemp(join(tmpdir(), 'beaver-disk-'))
  const image = `${folder}.img`
  const filler = join(folder, 'filler')
  try {
    await writeFile(image, '')
    await truncate(image, sizeMb * 1024 * 1024)
    await run('mkfs.ext4', ['-q', '-m', '0', image])
    await run('mount', ['-o', 'loop', image, folder])
  } catch {
    await rm(folder, { recursive: true, force: true })
    await rm(image, { force: true })
    return null
  }
  return {
    folder,
    async fill() {
      const { bavail, bsize } = await statfs(folder)
      await run('fallocate', ['-l', String(Math.max(bsize, bavail * bsize)), filler]).catch(() => {})
    },
    clear: () => rm(filler, { force: true }),
    async [Symbol.asyncDispose]() {
      await run('umount', ['-l', folder]).catch(() => {})
      await rm(folder, { recursive: true, force: true }).catch(() => {})
      await rm(image, { force: true })
    },
  }
}
