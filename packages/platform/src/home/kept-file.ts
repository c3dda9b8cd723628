// A small text that outlives the process, in a file of the home. A reader sees the old text or the new one,
// whole, also after a loss of power. Only the owner of the home can read it. A write that fails leaves
// nothing behind. Writes follow one another, and block nothing else.
import { promises, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeFolder } from './make-folder.ts'

export interface KeptFile {
  /** `null`: there is none. */
  read(): string | null
  write(text: string): Promise<void>
}

export function keptFile(file: string): KeptFile {
  let writing: Promise<unknown> = Promise.resolve()
  const beside = `${file}.${process.pid}.new`
  async function write(text: string): Promise<void> {
    makeFolder(dirname(file))
    try {
      const opened = await promises.open(beside, 'w', 0o600)
      try {
        await opened.writeFile(text)
        await opened.datasync()
      } finally {
        await opened.close()
      }
      await promises.rename(beside, file)
    } catch (error) {
      await promises.rm(beside, { force: true })
      throw error
    }
  }
  return {
    read() {
      try {
        return readFileSync(file, 'utf8')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
        throw error
      }
    },
    write(text) {
      const written = writing.then(() => write(text))
      writing = written.catch(() => {})
      return written
    },
  }
}

/** What a process keeps about a journal, beside what people accepted about it. */
export function journalFiles(
  home: string,
  stream: string,
  role: 'daemon' | 'projector',
): { readonly mark: KeptFile; readonly acceptances: KeptFile } {
  return {
    mark: keptFile(join(home, 'marks', `${stream}.${role}.json`)),
    acceptances: acceptancesFile(home, stream),
  }
}

export const acceptancesFile = (home: string, stream: string): KeptFile =>
  keptFile(join(home, 'marks', `${stream}.accepted.ndjson`))
