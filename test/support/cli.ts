// The command `beaver` as a person has it: a process with pipes for its input and its output.
// C1. The process has PATH and the environment that the test gives it, and nothing else of the test's.
// `commandHost` runs many commands in one process. It is for tests of what commands print; a process for each
// command takes most of the time of such a test. What is about the process (its input, its signals, how it
// ends) is tested with `startBeaver` and `runBeaver`.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { compileCache } from './compile-cache.ts'
import type { TestServer } from './nats.ts'
import type { TestSystem } from './system.ts'

/** How a command ended, and what it printed. */
export interface Ran {
  /** `null`: a signal ended it. */
  readonly exit: number | null
  readonly out: string
  readonly err: string
}

/** Where a command runs. */
export interface CliPlace {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** Its standard input. Default: none. */
  readonly input?: string
  /** The script in place of the command line's: another app of Beaver's. */
  readonly script?: string
}

/**
 * A command that runs. When it is disposed of, it is stopped as a person stops it, so that what it started
 * has ended, too: a killed process leaves children that write for a moment. It is killed if it does not end.
 */
export interface CliProcess extends AsyncDisposable {
  /** What it printed on standard output so far. */
  readonly out: string
  /** What it printed on standard error so far. */
  readonly err: string
  readonly ended: Promise<Ran>
  kill(signal: NodeJS.Signals): void
}

export const cliEntry = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url))
const hostEntry = fileURLToPath(new URL('../../apps/cli/test/command-host.ts', import.meta.url))

/** The setting of a system whose test is not about the gateway, which `beaver up` starts otherwise. */
export const noGateway = { gateway: { enabled: false } } as const

/** The whole environment of a process that is given `env`. */
export const cliEnvironment = (env: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  ...compileCache,
  ...env,
})

export function startBeaver(
  args: readonly string[],
  { cwd, env, input, script = cliEntry }: CliPlace,
): CliProcess {
  const child = spawn(process.execPath, [script, ...args], {
    cwd,
    env: cliEnvironment(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text))
  // A command that reads no input may end before it has all of it.
  child.stdin.on('error', () => {})
  child.stdin.end(input ?? '')
  const ended = new Promise<Ran>((resolve) => child.once('close', (exit) => resolve({ exit, ...said })))
  return {
    get out() {
      return said.out
    },
    get err() {
      return said.err
    },
    ended,
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGINT')
      const late = setTimeout(() => child.kill('SIGKILL'), stopMsMax)
      await ended
      clearTimeout(late)
    },
  }
}

const stopMsMax = 30_000

export const runBeaver = (args: readonly string[], place: CliPlace): Promise<Ran> =>
  startBeaver(args, place).ended

/** The place of a person who works in the workspace of a test's system. */
export const placeIn = (
  server: TestServer,
  system: TestSystem,
  env: Readonly<Record<string, string>> = {},
): CliPlace => ({
  cwd: system.workspace,
  env: { NATS_URL: server.url, BEAVER_NAMESPACE: system.subjects.namespace, ...env },
})

/** One process that runs many commands. */
export interface CommandHost extends AsyncDisposable {
  /** Runs a command after those that were asked for before. */
  run(args: readonly string[], place: Omit<CliPlace, 'input' | 'script'>): Promise<Ran>
}

/** Its process starts with the first command. */
export function commandHost(): CommandHost {
  let host: ChildProcess | null = null
  let last: Promise<unknown> = Promise.resolve()
  async function run(
    args: readonly string[],
    { cwd, env }: Omit<CliPlace, 'input' | 'script'>,
  ): Promise<Ran> {
    host ??= fork(hostEntry, { env: cliEnvironment(), execArgv: [] })
    const over = new AbortController()
    const answered = once(host, 'message', over).then(([ran]) => ran as Ran)
    const lost = once(host, 'exit', over).then(() => null)
    host.send({ args, cwd, env: cliEnvironment(env) })
    const ran = await Promise.race([answered, lost])
    over.abort()
    if (ran === null) throw new Error(`The process of the commands ended in: beaver ${args.join(' ')}`)
    return ran
  }
  return {
    run(args, place) {
      const ran = last.then(() => run(args, place))
      last = ran.catch(() => {})
      return ran
    },
    async [Symbol.asyncDispose]() {
      if (host === null || host.exitCode !== null || host.signalCode !== null) return
      const gone = once(host, 'exit')
      host.kill('SIGKILL')
      await gone
    },
  }
}
