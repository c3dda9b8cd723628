// `<home>/run/system.json`: what runs in this home, and where. The system writes it, and every command reads
// it. It is written as a whole or not at all. A file whose process is dead is ignored. Where the kernel tells
// the start of a process, a file that does not name it is ignored. Only its owner can read it, because the
// URL of the user's own server may contain a password.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, startOf } from './home-lock.ts'
import { makeFolder } from './make-folder.ts'

export interface SystemFile {
  readonly pid: number
  readonly nats_url: string
  /** Whether the server is Beaver's own, which asks for no login. */
  readonly embedded: boolean
  readonly namespace: string
  readonly tenant: string
  readonly started_at: string
  /** The start of the process as the kernel counts it. It shows whether another process has the pid now. */
  readonly process_start: string | null
  readonly children: Readonly<Record<string, number | null>>
}

const fileOf = (home: string): string => join(home, 'run', 'system.json')

export function writeSystemFile(home: string, system: Omit<SystemFile, 'pid' | 'process_start'>): void {
  const file = fileOf(home)
  makeFolder(join(home, 'run'))
  const content: SystemFile = { pid: process.pid, process_start: startOf(process.pid), ...system }
  writeFileSync(`${file}.tmp`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.tmp`, file)
}

/** Removes the file if this process wrote it. */
export function removeSystemFile(home: string): void {
  if (read(fileOf(home))?.pid === process.pid) rmSync(fileOf(home), { force: true })
}

/** The system that runs in this home, or `null` if there is none. */
export function readSystemFile(home: string): SystemFile | null {
  const system = read(fileOf(home))
  if (system === null || (system.process_start === null && startOf(process.pid) !== null)) return null
  return isAlive({ pid: system.pid, started: system.process_start }) ? system : null
}

function read(file: string): SystemFile | null {
  try {
    const system = JSON.parse(readFileSync(file, 'utf8')) as Partial<SystemFile>
    const whole =
      typeof system.pid === 'number' &&
      typeof system.nats_url === 'string' &&
      typeof system.namespace === 'string'
    return whole
      ? ({
          tenant: 'local',
          embedded: true,
          children: {},
          process_start: null,
          started_at: '',
          ...system,
        } as SystemFile)
      : null
  } catch {
    return null
  }
}
