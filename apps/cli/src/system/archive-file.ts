// The file of an archive: it is written, synced, read again and checked. A file with its final name is
// complete and on the disk. A file counts only after it was read again and checked.
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { checkJournal, exportLines, type JournalSource, openExport } from '@beaver/check'
import { BeaverError, type LogId, messageOf } from '@beaver/core'
import { count } from '../text/figures.ts'
import { makeFolder } from '@beaver/platform'

/** The last record of a task that has ended. */
export interface Head {
  readonly log: LogId
  readonly taskseq: number
  readonly hash: string
}

/** Writes the file and returns its path. `at` is the ISO time that its name contains. */
export async function writeArchive(source: JournalSource, folder: string, at: string): Promise<string> {
  const file = unusedName(
    join(folder, `beaver-archive-${source.about.namespace}-${at.replaceAll(':', '').replace(/\.\d+/, '')}`),
  )
  const partial = `${file}.partial`
  try {
    makeFolder(folder, 0o777)
    await pipeline(
      async function* lines() {
        for await (const line of exportLines(source, at)) yield `${line}\n`
      },
      createWriteStream(partial, { mode: 0o600, flags: 'wx' }),
    )
    await synced(partial)
    await rename(partial, file)
    await synced(folder)
    return file
  } catch (cause) {
    await rm(partial, { force: true })
    throw new BeaverError('internal', `The archive could not be written to ${file}: ${messageOf(cause)}`, {
      cause,
    })
  }
}

/** A path that does not exist yet: a second file of the same second gets a number. */
function unusedName(name: string): string {
  for (let number = 1; ; number++) {
    const file = `${name}${number === 1 ? '' : `-${number}`}.ndjson`
    if (!existsSync(file)) return file
  }
}

async function synced(path: string): Promise<void> {
  await using handle = await open(path)
  await handle.sync()
}

type Findings = Awaited<ReturnType<typeof checkJournal>>['findings']

/** The written file does not pass the check. */
export class ArchiveFault extends BeaverError {
  readonly findings: Findings
  constructor(message: string, findings: Findings) {
    super('corrupt_journal', message)
    this.findings = findings
  }
}

/**
 * Reads the file again from the disk. The file must pass the independent check, and each log must end with
 * the head that the journal has.
 *
 * @returns the SHA-256 of the file
 * @throws {ArchiveFault} with the findings of the check
 * @throws {BeaverError} `corrupt_journal` if a head is missing
 */
export async function verifiedArchive(file: string, heads: readonly Head[]): Promise<string> {
  const { findings } = await checkJournal(await openExport(file), { now: Date.now() })
  const [first] = findings
  if (first !== undefined)
    throw new ArchiveFault(
      `The archive ${file} does not pass the check: ${first.message}. Nothing was recorded, and the file was removed. See "beaver check".`,
      findings,
    )
  const { sha256, lacking } = await readHeads(createReadStream(file) as AsyncIterable<Buffer>, heads)
  const [absent] = lacking
  if (absent !== undefined)
    throw new BeaverError(
      'corrupt_journal',
      `The archive ${file} lacks the end of the task ${absent.log.task} (${count(lacking.length)} in all). Nothing was recorded, and the file was removed.`,
    )
  return sha256
}

/**
 * Computes the hash of a file, and finds the heads that it lacks. A piece of the file may end anywhere, even
 * within a head or an escaped quotation mark.
 *
 * @param pieces the content of the file
 */
export async function readHeads(
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  heads: readonly Head[],
): Promise<{ sha256: string; lacking: Head[] }> {
  const hash = createHash('sha256')
  const missing = new Map(heads.map((head) => [head.hash, head]))
  let rest = ''
  for await (const bytes of pieces) {
    hash.update(bytes)
    const raw = rest + bytes.toString('latin1')
    const text = raw.replaceAll('\\"', '"')
    for (const [, found = ''] of text.matchAll(/"hash":"(\w{1,100})"/g)) missing.delete(found)
    // A head has less than 100 characters, of which 4 are escaped, so this contains a head that the next
    // piece completes.
    rest = raw.slice(-200)
  }
  return { sha256: hash.digest('hex'), lacking: [...missing.values()] }
}

/** Whether the file is still where it was written, with the same content. */
export async function isStillThere({
  file,
  sha256,
}: {
  readonly file: string
  readonly sha256: string
}): Promise<boolean> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  } catch {
    return false
  }
  return hash.digest('hex') === sha256
}
