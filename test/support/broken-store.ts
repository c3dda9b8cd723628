// What may happen to the files of a nats-server's store: bytes flip, files end early, older copies come back.
import { cp, open, readdir, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'

/** The files of a stream's messages. */
const messagesOf = (dataDir: string, stream: string): string =>
  join(dataDir, 'jetstream', 'jetstream', '$G', 'streams', stream, 'msgs')

async function lastBlock(dataDir: string, stream: string): Promise<string> {
  const names = (await readdir(messagesOf(dataDir, stream))).filter((name) => name.endsWith('.blk'))
  const [last] = names.toSorted((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10))
  return join(messagesOf(dataDir, stream), last ?? '1.blk')
}

/** Flips a byte of the last block file. */
export async function flipByte(dataDir: string, stream: string, at: (size: number) => number): Promise<void> {
  const file = await lastBlock(dataDir, stream)
  const place = at((await stat(file)).size)
  const opened = await open(file, 'r+')
  const byte = Buffer.alloc(1)
  await opened.read(byte, 0, 1, place)
  byte[0] = (byte[0] ?? 0) ^ 0xff
  await opened.write(byte, 0, 1, place)
  await opened.close()
}

/** Cuts bytes off the end of the last block file. */
export async function truncateStore(dataDir: string, stream: string, bytes: number): Promise<void> {
  const file = await lastBlock(dataDir, stream)
  await truncate(file, (await stat(file)).size - bytes)
}

/** Removes the last block file. */
export async function removeBlock(dataDir: string, stream: string): Promise<void> {
  await rm(await lastBlock(dataDir, stream))
}

/** Copies everything that the server has, and returns a function that puts it back. */
export async function backUp(dataDir: string, name = 'copy'): Promise<() => Promise<void>> {
  const [own, copy] = [join(dataDir, 'jetstream'), join(dataDir, name)]
  await cp(own, copy, { recursive: true })
  return async () => {
    await rm(own, { recursive: true })
    await cp(copy, own, { recursive: true })
  }
}

/**
 * Puts the messages of a stream that another server stored under the same name in the place of the own ones.
 */
export async function replaceMessages(dataDir: string, other: string, stream: string): Promise<void> {
  await rm(messagesOf(dataDir, stream), { recursive: true })
  await cp(messagesOf(other, stream), messagesOf(dataDir, stream), { recursive: true })
}
