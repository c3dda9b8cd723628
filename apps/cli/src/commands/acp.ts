// `beaver acp`: an agent for editors that speak ACP, on stdin and stdout. A daemon runs the tasks. stdout
// carries only the protocol, and messages go to stderr. The command ends on a signal, or when the editor is
// gone. Its tasks continue.
import { readFileSync } from 'node:fs'
import { type EditorSystem, serveAcp } from '@beaver/acp'
import type { Config } from '@beaver/platform'
import { connect, type Connection } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { followTask } from '../follow/follow-task.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { findSystem, type FoundSystem, hasEnded } from '../system/find-system.ts'
import { oneLine } from '../text/plain-text.ts'

export interface AcpOptions {
  readonly profile?: string
  readonly user?: string
}

export async function acp({ profile, user }: AcpOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  using interrupts = listenForInterrupts()
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const serving = serveAcp(editorSystem(config, { onBehalf: user !== undefined }), {
    input: process.stdin,
    output: process.stdout,
    version,
    settings: { profile, userId: user, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone },
    log: (line) => screen.warn(oneLine(line)),
  })
  const { promise: interrupted, resolve: interrupt } = Promise.withResolvers<void>()
  interrupts.asked.addEventListener('abort', () => interrupt(), { once: true })
  interrupts.forced.addEventListener('abort', () => process.exit(interrupts.exitCode))
  await Promise.race([serving.closed, interrupted])
  await serving.close()
  return 0
}

// Gives the sessions of an editor their connections to the running system. All sessions share one connection,
// because an editor may load many at once, and the last one closes it. Each opening looks for the system
// again, and makes a new connection if it finds another system or if the connection was lost.

interface Shared {
  readonly system: FoundSystem
  readonly connection: Promise<Connection>
  users: number
  lost: boolean
}

/** @param options `onBehalf`: whether the editor acts for a user, which only an operator may do */
function editorSystem(config: Config, { onBehalf }: { readonly onBehalf: boolean }): EditorSystem {
  let newest: Shared | null = null

  /** The shared connection; the caller is counted as one of its users. */
  function share(): Shared {
    const system = findSystem(config, onBehalf ? 'operator' : 'client')
    const fits =
      newest !== null && !newest.lost && newest.system.url === system.url && newest.system.pid === system.pid
    const shared = fits && newest !== null ? newest : begin(system)
    newest = shared
    shared.users++
    return shared
  }

  async function leave(shared: Shared): Promise<void> {
    if (--shared.users > 0) return
    if (newest === shared) newest = null
    await (await shared.connection)[Symbol.asyncDispose]()
  }

  return {
    async open() {
      const shared = share()
      const connection = await shared.connection
      return {
        client: connection.client,
        async follow(taskId, heard) {
          await followTask(connection, taskId, {
            ...heard,
            systemGone: () => hasEnded(shared.system, config),
          })
        },
        [Symbol.asyncDispose]: () => leave(shared),
      }
    },
  }
}

function begin(system: FoundSystem): Shared {
  const shared: Shared = { system, connection: connect(system), users: 0, lost: false }
  const lose = (): void => void (shared.lost = true)
  shared.connection.then(({ nc }) => nc.closed()).then(lose, lose)
  return shared
}
