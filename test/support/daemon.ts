// The daemon as it is: a child process of its own, with real worker threads.
import { spawn } from 'node:child_process'
import { until } from '@beaver/testing'
import { compileCache } from './compile-cache.ts'

export interface DaemonProcess {
  readonly pid: number
  /** As it names itself in the journal. */
  readonly id: string
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** What it wrote to stderr. */
  readonly stderr: string
  /** What it wrote to stdout: V8's reports, where its arguments ask for some. */
  readonly stdout: string
  kill(signal: NodeJS.Signals): void
}

const main = new URL('../../apps/daemon/src/main.ts', import.meta.url).pathname

const saidCharsMax = 3_000
/** The daemons that live, and those that ended since the words were last taken. `ended` is how. */
const heard = new Map<DaemonProcess, { ended: string | null }>()

/**
 * What the daemons said last that live, or that ended since this was asked before. A test that fails says it,
 * because neither a hang nor a daemon that ends leaves another trace.
 */
export function takeLastWordsOfDaemons(): string {
  const words = [...heard].map(
    ([{ id, pid, stderr }, { ended }]) =>
      `Daemon ${id} (${pid}) ${ended ?? 'lives'}:\n${stderr.slice(-saidCharsMax)}`,
  )
  for (const [daemon, { ended }] of heard) if (ended !== null) heard.delete(daemon)
  return words.join('\n')
}

/** Starts a daemon and waits until it is ready. It ends with this process, if nobody ends it before. */
export async function daemonProcess(options: {
  cwd: string
  env: Record<string, string>
  nodeArgs?: readonly string[]
  /** Told the process's id before it is ready. */
  onSpawn?: (pid: number) => void
}): Promise<DaemonProcess> {
  const child = spawn(process.execPath, [...(options.nodeArgs ?? []), main], {
    cwd: options.cwd,
    // The configuration in the folder is the test's.
    env: { PATH: process.env['PATH'] ?? '', BEAVER_TRUST: '1', ...compileCache, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  options.onSpawn?.(child.pid ?? 0)
  let stderr = ''
  let stdout = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  let gone = false
  void exited.then(() => (gone = true))
  let id = ''
  child.on('message', (message: { kind?: string; daemon?: string }) => {
    if (message.kind === 'ready') id = message.daemon ?? ''
  })
  await until('the daemon is ready', () => id !== '' || gone, { withinMs: 60_000, everyMs: 10 })
  if (gone) throw new Error(`The daemon ended before it was ready:\n${stderr}`)
  const daemon: DaemonProcess = {
    pid: child.pid as number,
    id,
    exited,
    get stderr() {
      return stderr
    },
    get stdout() {
      return stdout
    },
    kill(signal) {
      if (!gone) child.kill(signal)
    },
  }
  const hearing: { ended: string | null } = { ended: null }
  heard.set(daemon, hearing)
  void exited.then(({ code, signal }) => (hearing.ended = `ended with ${signal ?? `code ${code}`}`))
  return daemon
}
