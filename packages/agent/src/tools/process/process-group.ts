// Runs a child process and everything that it starts as one group, which is killed when the child ends. A
// guard in the group waits on a pipe that only this thread holds open, so the group dies with this thread or
// process. Standard input is empty. A process that leaves the group (`setsid`) is not caught.
import type { ChildProcess } from 'node:child_process'
import { spawn } from '@beaver/platform/programs'

export interface ProcessGroup {
  readonly child: ChildProcess
  /** Resolves when the child has ended, its output is complete and its group is gone. Never rejects. */
  readonly ended: Promise<GroupEnd>
  kill(signal: 'SIGTERM' | 'SIGKILL'): void
}

export interface GroupEnd {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** Why the child could not be started. */
  readonly error: Error | null
}

export interface GroupOptions {
  readonly cwd: string
  readonly env: Record<string, string>
  /** Whether there is a channel for messages. */
  readonly ipc?: boolean
  /** The limit of each process by itself. */
  readonly cpuSecondsMax?: number
  readonly fileBytesMax?: number
}

/** A process that left the group may hold the output open. The wait for it ends after this time. */
const outputMsMax = 1_000

// The guard ignores the signals that end the other processes politely, and holds neither output nor channel.
// 0 is its own group.
const guard = `( trap "" TERM INT HUP; read -r _ <&3; kill -KILL 0 ) 4>&- >/dev/null 2>&1 &`

// Some shells take a name that begins with a dash for an option of `exec`, which starts another program.
const become = `case $1 in -*) echo "$1: not found" >&2; exit 127; esac
exec "$@" 3<&-`

/** Whether the system has process groups. */
export const groupsSupported = process.platform !== 'win32'

export function startGroup(program: string, args: readonly string[], options: GroupOptions): ProcessGroup {
  const limits = [
    'ulimit -c 0',
    ...limit('t', options.cpuSecondsMax),
    ...limit('f', options.fileBytesMax && Math.ceil(options.fileBytesMax / 512)),
  ]
  const script = [guard, ...limits.map((each) => `${each} 2>/dev/null`), become].join('\n')
  const child = spawn('/bin/sh', ['-c', script, 'sh', program, ...args], {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...(options.ipc === true ? (['ipc'] as const) : [])],
  })
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // The group is gone.
    }
  }
  const ended = new Promise<GroupEnd>((resolve) => {
    child.once(
      'error',
      (error) => child.pid === undefined && resolve({ exitCode: null, signal: null, error }),
    )
    child.once('exit', (exitCode, signal) => {
      // The guard is still alive, so the number still belongs to this group.
      kill('SIGKILL')
      const end = (): void => {
        clearTimeout(timer)
        for (const pipe of child.stdio) pipe?.destroy()
        resolve({ exitCode, signal, error: null })
      }
      const timer = setTimeout(end, outputMsMax)
      child.once('close', end)
    })
  })
  // The guard's end of the pipe closes with the group.
  child.stdio[3]?.on('error', () => undefined)
  return { child, ended, kill }
}

const limit = (flag: string, value: number | undefined): string[] =>
  value === undefined ? [] : [`ulimit -${flag} ${value}`]
