// Finds what this machine can confine programs with, and confines them by the setting of the operator. A
// backend counts only after it ran a program: many machines have the program and forbid what it needs.
// `required` refuses to run without a backend. `auto` runs without one, and `beaver doctor` says so. The
// search runs once in a thread.
import { accessSync, constants, realpathSync } from 'node:fs'
import { basename, delimiter, isAbsolute, join } from 'node:path'
import { execFile } from '@beaver/platform/programs'
import { ToolFailure } from '../tool-failure.ts'
import { confinedCommand, type Confinement, type SandboxPrograms } from './confinement.ts'
import { callFilter } from './system-calls.ts'

/**
 * - `auto`: confine programs if the machine can. - `required`: refuse to run them otherwise. - `off`: do not
 * confine them.
 */
export type SandboxMode = 'auto' | 'required' | 'off'

/** The operator's settings. Plain data. */
export interface SandboxOptions {
  readonly mode: SandboxMode
  /** What no confined program sees: the home of Beaver. */
  readonly hidden: readonly string[]
  /** What every confined program may read besides. */
  readonly readable: readonly string[]
}

export const noSandbox: SandboxOptions = { mode: 'off', hidden: [], readable: [] }

/** How to get a backend, in one sentence. */
export const sandboxAdvice =
  process.platform === 'linux'
    ? 'Install bubblewrap ("apt-get install bubblewrap", "dnf install bubblewrap"), and allow user namespaces to this user.'
    : 'Beaver can confine programs on Linux only. Run the daemon in a container or a virtual machine.'

const probeMsMax = 5_000
let found: Promise<SandboxPrograms | null> | null = null

/** What confines programs here; `null` if nothing does. */
export function findSandbox(): Promise<SandboxPrograms | null> {
  return (found ??= probe(wholeEnvironment()['PATH'] ?? ''))
}

/** @param path the folders in which the programs are looked up, as in `PATH` */
export async function probe(path: string): Promise<SandboxPrograms | null> {
  if (process.platform !== 'linux') return null
  const at = (name: string): string | null => {
    const file = path
      .split(delimiter)
      .map((folder) => join(folder, name))
      .find(isProgram)
    if (file === undefined) return null
    const real = realpathSync(file) // A link may lie where the sandbox shows nothing. A link to a program of another name needs its own name.
    return basename(real) === name ? real : file
  }
  const [bwrap, unshare, prlimit, perl] = [at('bwrap'), at('unshare'), at('prlimit'), at('perl')]
  const backends = [
    ...(bwrap === null ? [] : [{ backend: 'bubblewrap' as const, bwrap }]),
    ...(unshare === null || at('setpriv') === null ? [] : [{ backend: 'unshare' as const, unshare }]),
  ]
  for (const backend of backends)
    for (const each of perl === null || callFilter(process.arch) === null ? [null] : [perl, null]) {
      const programs = { ...backend, prlimit, perl: each }
      if (await works(programs)) return programs
    }
  return null
}

/**
 * The command that runs a program by the operator's settings: confined, or as it is.
 *
 * @throws {ToolFailure} `sandbox_missing` if a sandbox is required and this machine has none
 */
export async function confined(
  { mode, hidden, readable }: SandboxOptions,
  confinement: Confinement,
  command: readonly [string, ...string[]],
): Promise<{
  readonly program: string
  readonly args: readonly string[]
  readonly backend: SandboxPrograms['backend'] | 'none'
}> {
  const programs = mode === 'off' ? null : await findSandbox()
  if (programs === null && mode === 'required')
    throw new ToolFailure(
      'sandbox_missing',
      `"sandbox" is "required" in the configuration, and this machine has no sandbox. ${sandboxAdvice}`,
    )
  if (programs === null) return { program: command[0], args: command.slice(1), backend: 'none' }
  const whole = {
    ...confinement,
    hidden: [...hidden.flatMap(alsoReal), ...(confinement.hidden ?? [])],
    readable: [...readable, ...(confinement.readable ?? [])],
  }
  return { ...confinedCommand(programs, whole, command), backend: programs.backend }
}

function works(programs: SandboxPrograms): Promise<boolean> {
  const { program, args } = confinedCommand(programs, { cwd: '/', writable: [], network: false }, [
    '/bin/sh',
    '-c',
    'exit 7',
  ])
  return new Promise((resolve) =>
    execFile(
      program,
      args,
      { timeout: probeMsMax, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } },
      (error) => resolve(error?.code === 7),
    ),
  )
}

/** A path, and where it leads if it is a link: the workspace may contain either. */
function alsoReal(path: string): string[] {
  try {
    return [...new Set([path, realpathSync(path)])]
  } catch {
    return []
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return isAbsolute(file)
  } catch {
    return false
  }
}

// The part of the daemon's environment that a tool's child process gets: where programs and the home are, and
// the language settings. It contains no keys and no tokens.

const inherited = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']

export function childEnvironment(
  from: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  return Object.fromEntries(
    inherited.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])),
  )
}

/**
 * The whole environment of this process, for a tool that runs in a child process although it did not ask for
 * one.
 */
export function wholeEnvironment(
  from: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(from).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
