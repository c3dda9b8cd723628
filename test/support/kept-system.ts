// The system that many files of test/system share: one daemon for each worker, which no test ends. Its
// projector and the process of the commands start when a file first asks for them. Files use it one after the
// other. A file asks for what it needs before it makes anything of its own, has tasks, sessions and users of
// its own, says nothing of all tasks, ends the tasks it starts, and leaves the journal sound.
import { join } from 'node:path'
import { commandHost, type CommandHost, placeIn, type Ran } from './cli.ts'
import type { DaemonProcess } from './daemon.ts'
import { say } from './fake-provider.ts'
import { keep } from './leftovers.ts'
import { testServer, type TestServer } from './nats.ts'
import { projectorProcess, type ProjectorProcess } from './projector.ts'
import { type SlowFind, slowFind } from './slow-find.ts'
import { type TestSystem, testSystem } from './system.ts'

export interface KeptSystem {
  readonly server: TestServer
  readonly system: TestSystem
  readonly daemon: DaemonProcess
  /** The `find` of the daemon, whose gate stays shut. */
  readonly find: SlowFind
  /** Runs a command in the workspace. */
  beaver(...args: readonly string[]): Promise<Ran>
  /** Starts the projector if it is not there. */
  projector(): Promise<ProjectorProcess>
}

/** The kept system with its projector, as its operator has it. */
export interface OperatedSystem extends Omit<KeptSystem, 'projector'> {
  readonly projector: ProjectorProcess
  /**
   * The environment of the operator, who works in the workspace with the home of the projector and the keys
   * of the journal.
   */
  readonly env: Readonly<Record<string, string>>
}

/**
 * A call of `echo` with a careful text asks a person, and one with a forbidden text is denied. Everything
 * else is as by default.
 */
const permissions = {
  rules: [
    { tool: 'echo', pattern: '*forbidden*', decision: 'deny' },
    { tool: 'echo', pattern: '*careful*', decision: 'ask' },
  ],
}

/** The system, whose provider has forgotten everything and answers "ok". */
export async function keptSystem(): Promise<KeptSystem> {
  const kept = await keep('system', makeSystem)
  kept.system.provider.forget()
  kept.system.provider.answerBy(() => say('ok'))
  return kept
}

export async function operatedSystem(): Promise<OperatedSystem> {
  const kept = await keptSystem()
  const { server, system } = kept
  const projector = await kept.projector()
  const { cwd, env = {} } = placeIn(server, system, {
    BEAVER_HOME: projector.home,
    BEAVER_KEYS: join(system.workspace, '.beaver', 'keys'),
  })
  return {
    ...kept,
    projector,
    env,
    beaver: async (...args) => (await keptCommands()).run(args, { cwd, env }),
  }
}

/**
 * The process that runs the commands of the worker. It starts with its first command, which makes it one that
 * is kept.
 */
export const keptCommands = (): Promise<CommandHost> =>
  keep('command host', async () => {
    const host = commandHost()
    await host.run(['--version'], { cwd: process.cwd() })
    return host
  })

async function makeSystem(): Promise<KeptSystem> {
  const server = await testServer()
  const system = await testSystem(server, { permissions })
  const find = await slowFind(system.workspace)
  const daemon = await system.daemon(find.env)
  return {
    server,
    system,
    daemon,
    find,
    beaver: async (...args) =>
      (await keptCommands()).run(args, placeIn(server, system, { BEAVER_CALLER: 'ben' })),
    projector: () =>
      keep('projector', () => projectorProcess({ url: server.url, namespace: system.subjects.namespace })),
  }
}
