// A real system with a projector that makes checkpoints, and the command line beside it; and ways to change an export of it.
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '@beaver/testing'
import { compileCache } from './compile-cache.ts'
import { say, use } from './fake-provider.ts'
import { testServer, type TestServer } from './nats.ts'
import { projectorProcess, type ProjectorProcess } from './projector.ts'
import { type TestSystem, testSystem } from './system.ts'

export interface Ran {
  readonly exit: number | null
  readonly out: string
  readonly err: string
}

export interface AuditedSystem extends AsyncDisposable {
  readonly server: TestServer
  readonly system: TestSystem
  readonly projector: ProjectorProcess
  /** The folder with the keys of the operator, of the daemon and of the projector. */
  readonly keysFolder: string
  /** Runs the command line in the home of the projector. */
  beaver(...args: string[]): Promise<Ran>
  /** Submits tasks and waits until they have ended and a checkpoint counts all of them. */
  work(...tasks: string[]): Promise<void>
  /** Writes lines to a file of the workspace. */
  file(name: string, lines: readonly string[]): Promise<string>
}

const entry = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url))

export async function auditedSystem(): Promise<AuditedSystem> {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await testServer())
  const system = stack.use(await testSystem(server))
  const checkpoints = { every_ms: 1_000 }
  const keysFolder = join(system.workspace, '.beaver', 'keys')
  const projector = stack.use(
    await projectorProcess({ url: server.url, namespace: system.subjects.namespace, config: { checkpoints }, env: { BEAVER_KEYS: keysFolder } }),
  )
  system.provider.answerBy(({ text, results }) => (text === 'loop' && results.length === 0 ? use(['echo', { text: 'a' }]) : say(`answer to ${text}`)))
  await system.daemon()
  const status = () => system.client.query('status', {})
  return {
    server,
    system,
    projector,
    keysFolder,
    beaver: (...args) =>
      runBeaver(args, system.workspace, {
        NATS_URL: server.url,
        BEAVER_NAMESPACE: system.subjects.namespace,
        BEAVER_HOME: projector.home,
        BEAVER_KEYS: keysFolder,
      }),
    async work(...tasks) {
      for (const task of tasks) await system.client.submit({ task, task_id: task, session_id: `${task} session` })
      for (const task of tasks) await system.ended(task)
      await until('a checkpoint counts all', async () => {
        const { behind, sequence, checkpoints: made } = await status()
        return behind === 0 && made.last !== null && made.last.size >= sequence - 1
      })
    },
    async file(name, lines) {
      const path = join(system.workspace, name)
      await writeFile(path, lines.map((line) => `${line}\n`).join(''))
      return path
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export function runBeaver(args: readonly string[], cwd: string, env: Record<string, string>): Promise<Ran> {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...compileCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written.err += text))
  return new Promise((resolve) => child.once('close', (exit) => resolve({ exit, ...written })))
}

/** Runs the command line where there is no system: no server, no home. */
export const beaverAlone = (cwd: string, ...args: string[]): Promise<Ran> => runBeaver(args, cwd, {})
