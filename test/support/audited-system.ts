// A real system with a projector that makes checkpoints, and the command line beside it; and ways to change
// an export of it.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { commandHost, placeIn, type Ran } from './cli.ts'
import { say, use } from './fake-provider.ts'
import { testServer, type TestServer } from './nats.ts'
import { projectorProcess, type ProjectorProcess } from './projector.ts'
import { type TestSystem, testSystem } from './system.ts'

export interface AuditedSystem extends AsyncDisposable {
  readonly server: TestServer
  readonly system: TestSystem
  readonly projector: ProjectorProcess
  /** The folder with the keys of the operator, of the daemon and of the projector. */
  readonly keysFolder: string
  /** Runs the command line in the home of the projector. */
  beaver(...args: string[]): Promise<Ran>
  /** Runs the command line where there is no system: no server, no home. */
  beaverAlone(...args: string[]): Promise<Ran>
  /** Submits tasks and waits until they have ended and a checkpoint counts all of them. */
  work(...tasks: string[]): Promise<void>
  /** Writes lines to a file of the workspace. */
  file(name: string, lines: readonly string[]): Promise<string>
}

export async function auditedSystem(): Promise<AuditedSystem> {
  const stack = new AsyncDisposableStack()
  const host = stack.use(commandHost())
  const server = stack.use(await testServer())
  const system = stack.use(await testSystem(server))
  const checkpoints = { every_ms: 1_000 }
  const keysFolder = join(system.workspace, '.beaver', 'keys')
  const projector = stack.use(
    await projectorProcess({
      url: server.url,
      namespace: system.subjects.namespace,
      config: { checkpoints },
      env: { BEAVER_KEYS: keysFolder },
    }),
  )
  system.provider.answerBy(({ text, results }) =>
    text === 'loop' && results.length === 0 ? use(['echo', { text: 'a' }]) : say(`answer to ${text}`),
  )
  await system.daemon()
  const status = () => system.client.query('status', {})
  return {
    server,
    system,
    projector,
    keysFolder,
    beaver: (...args) =>
      host.run(args, placeIn(server, system, { BEAVER_HOME: projector.home, BEAVER_KEYS: keysFolder })),
    beaverAlone: (...args) => host.run(args, { cwd: system.workspace }),
    async work(...tasks) {
      for (const task of tasks)
        await system.client.submit({ task, task_id: task, session_id: `${task} session` })
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
