// Starts programs with the open files that `stdio` gives them and no others. Node.js opens its own files so
// that no program gets them (O_CLOEXEC). A file that the parent of this process or a native module opened
// without this flag would reach each program, and through it what the sandbox hides. This process must not
// close such a file, because it may belong to a program that embeds Beaver. So a shell closes it and then
// becomes the program. Without such a file no shell runs. All programs are started here.
import type { ExecFileOptions, SpawnOptions } from 'node:child_process'
import { execFile as nodeExecFile, spawn as nodeSpawn, spawnSync as nodeSpawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** `spawn` of Node.js, with a list of arguments and options. */
export const spawn = ((program: string, args: readonly string[], options: SpawnOptions) =>
  nodeSpawn(...closing(program, args, options), options)) as typeof nodeSpawn

/** `spawnSync` of Node.js, with a list of arguments and options. */
export const spawnSync = ((program: string, args: readonly string[], options: SpawnOptions) =>
  nodeSpawnSync(...closing(program, args, options), options)) as typeof nodeSpawnSync

/** `execFile` of Node.js, with a list of arguments, options and a callback. */
export const execFile = ((
  program: string,
  args: readonly string[],
  options: ExecFileOptions,
  callback: Parameters<typeof nodeExecFile>[3],
) => nodeExecFile(...closing(program, args, options), options, callback)) as typeof nodeExecFile

// A shell such as dash knows only descriptors of one digit. There the script fails, and no program starts.
const shells = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash', '/bin/sh']

/** The command that closes what the program would get besides, and becomes the program. */
function closing(
  program: string,
  args: readonly string[],
  { stdio, cwd, env = process.env }: Pick<SpawnOptions, 'stdio' | 'cwd' | 'env'>,
): [program: string, args: readonly string[]] {
  const given = Array.isArray(stdio) ? Math.max(3, stdio.length) : 3
  const open = inheritable().filter((descriptor) => descriptor >= given)
  const folders = program.includes('/') ? [''] : (env['PATH'] ?? '/usr/bin:/bin').split(':')
  const isThere = folders.some((folder) => existsSync(resolve(String(cwd ?? '.'), folder, program)))
  // Node.js reports a program that is not there.
  if (open.length === 0 || !isThere) return [program, args]
  const shell = shells.find((path) => existsSync(path)) ?? '/bin/sh'
  const script = `exec ${open.map((descriptor) => `${descriptor}>&-`).join(' ')}; exec -- "$@"`
  // Otherwise bash takes files to run and functions from the home and the environment of the program.
  const own = shell.endsWith('/bash') ? ['--norc', '-p'] : []
  return [shell, [...own, '-c', script, 'sh', program, ...args]]
}

/** O_CLOEXEC of Linux. */
const closeOnExec = 0o2000000

/** The descriptors from 3 on that a program gets. On other systems Node.js gives it none. */
function inheritable(): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && isInheritable(descriptor))
}

function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1]
    return (Number.parseInt(flags ?? '0', 8) & closeOnExec) === 0
  } catch {
    return false // It was the descriptor of the list itself, or it was closed meanwhile.
  }
}
