// A child process with whatever it starts in turn, as one group that ends as one.
// G1. When the child has ended, or is killed, nothing of its group is left: what it started and left behind is killed.
// G2. When this thread or process dies, the group dies: a guard in it waits on a pipe that only we hold open.
// G3. The child's standard input is empty, its environment what the caller gives. G4. What leaves the group (`setsid`) is not caught.
import { type ChildProcess, spawn } from 'node:child_process'

export interface ProcessGroup {
  readonly child: ChildProcess
  /** When the child has ended, its output is complete and its group is gone. Never rejects. */
  readonly ended: Promise<GroupEnd>
  kill(signal: 'SIGTERM' | 'SIGKILL'): void
}

export interface GroupEnd {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** It could not be started. */
  readonly error: Error | null
}

export interface GroupOptions {
  readonly cwd: string
  readonly env: Record<string, string>
  /** With a channel for messages. */
  readonly ipc?: boolean
  /** Of each process by itself. */
  readonly cpuSecondsMax?: number
  readonly fileBytesMax?: number
}

/** Whoever left the group may hold the output open: it is not waited for longer. */
const outputMsMax = 1_000

// The guard ignores what ends the others politely, and holds neither output nor channel. 0 is its own group.
const guard = `( trap "" TERM INT HUP; read -r _ <&3; kill -KILL 0 ) 4>&- >/dev/null 2>&1 &`

/** Whether process groups are here at all. */
export const groupsSupported = process.platform !== 'win32'

export function startGroup(program: string, args: readonly string[], options: GroupOptions): ProcessGroup {
  const limits = ['ulimit -c 0', ...limit('t', options.cpuSecondsMax), ...limit('f', options.fileBytesMax && Math.ceil(options.fileBytesMax / 512))]
  const script = [guard, ...limits.map((each) => `${each} 2>/dev/null`), 'exec "$@" 3<&-'].join('\n')
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
    child.once('error', (error) => child.pid === undefined && resolve({ exitCode: null, signal: null, error }))
    child.once('exit', (exitCode, signal) => {
      // The guard is still there, so that the number is still that of our group.
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

const limit = (flag: string, value: number | undefined): string[] => (value === undefined ? [] : [`ulimit -${flag} ${value}`])
