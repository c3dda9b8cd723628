// The processes that tests start, as the kernel lists them: what a process started, and what works in a
// folder. Where there is no /proc, both are empty.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { sep } from 'node:path'

export interface FoundProcess {
  readonly pid: number
  /** Its program and arguments. */
  readonly command: string
}

/**
 * All processes that `pid` started, and those that they started, without those that `except` names and what
 * they started.
 */
export function startedBy(pid: number, except: (pid: number) => boolean = () => false): FoundProcess[] {
  return names(`/proc/${pid}/task`)
    .flatMap((thread) =>
      (read(`/proc/${pid}/task/${thread}/children`) ?? '').split(' ').filter((each) => each !== ''),
    )
    .map(Number)
    .filter((child) => !except(child))
    .flatMap((child) => [found(child), ...startedBy(child, except)])
    .filter((each) => each !== null)
}

/** The processes whose working directory is the folder or below it, and which this process may look at. */
export function workingIn(folder: string): FoundProcess[] {
  return names('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => `${linkOf(`/proc/${pid}/cwd`)}${sep}`.startsWith(`${folder}${sep}`))
    .map((pid) => found(Number(pid)))
    .filter((each) => each !== null)
}

/** `null`: it has ended, though its parent may not know it yet. */
function found(pid: number): FoundProcess | null {
  const command = read(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ').trim() || starting(pid)
  return command === null ? null : { pid, command }
}

/** The name of a process that has no arguments yet, because it is becoming its program just now. */
function starting(pid: number): string | null {
  const [, name, state = 'Z'] = /^\d+ \((.*)\) (\w)/s.exec(read(`/proc/${pid}/stat`) ?? '') ?? []
  return name === undefined || 'ZX'.includes(state) ? null : name
}

function names(folder: string): string[] {
  return orNothing(() => readdirSync(folder)) ?? []
}

const read = (file: string): string | null => orNothing(() => readFileSync(file, 'utf8'))
const linkOf = (file: string): string => orNothing(() => readlinkSync(file)) ?? ''

/** A process may end while it is looked at. */
function orNothing<Value>(look: () => Value): Value | null {
  try {
    return look()
  } catch {
    return null
  }
}
