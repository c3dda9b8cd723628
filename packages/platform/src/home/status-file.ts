// `<home>/run/status-<process>-<pid>.json`: where a process of this home tells how it is. The process writes it,
// and `beaver health` reads it. A file whose process is dead counts for nothing, and the next process of its
// kind removes it.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isStatusProcess, type StatusProcess } from '../config/status.ts'
import { isAlive, startOf } from './home-lock.ts'
import { makeFolder } from './make-folder.ts'

export interface StatusFile {
  readonly process: StatusProcess
  readonly pid: number
  readonly process_start: string | null
  readonly url: string
}

const folderOf = (home: string): string => join(home, 'run')
const nameForm = /^status-(daemon|projector|gateway)-\d+\.json$/

/** Says where this process listens. @returns takes it back */
export function writeStatusFile(
  home: string,
  { process: name, url }: Pick<StatusFile, 'process' | 'url'>,
): () => void {
  makeFolder(folderOf(home))
  for (const { path, content } of filesOf(home))
    if (content === null || (content.process === name && !isRunning(content))) rmSync(path, { force: true })
  const file = join(folderOf(home), `status-${name}-${process.pid}.json`)
  const content: StatusFile = { process: name, pid: process.pid, process_start: startOf(process.pid), url }
  writeFileSync(`${file}.tmp`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.tmp`, file)
  return () => rmSync(file, { force: true })
}

/** The processes of a home that run and listen. */
export const runningStatus = (home: string): readonly StatusFile[] =>
  filesOf(home).flatMap(({ content }) => (content !== null && isRunning(content) ? [content] : []))

const isRunning = ({ pid, process_start: started }: StatusFile): boolean => isAlive({ pid, started })

function filesOf(home: string): readonly { readonly path: string; readonly content: StatusFile | null }[] {
  const folder = folderOf(home)
  const names = namesIn(folder).filter((name) => nameForm.test(name))
  return names.toSorted().map((name) => ({ path: join(folder, name), content: read(join(folder, name)) }))
}

function read(file: string): StatusFile | null {
  try {
    const {
      process: name,
      pid,
      process_start = null,
      url,
    } = JSON.parse(readFileSync(file, 'utf8')) as Partial<StatusFile>
    if (typeof pid !== 'number' || typeof url !== 'string' || !isStatusProcess(name)) return null
    return { process: name, pid, process_start, url }
  } catch {
    return null // Its process removed it just now, or somebody else wrote it.
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // Nothing ran in this home yet.
  }
}
