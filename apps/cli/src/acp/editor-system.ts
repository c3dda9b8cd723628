// The running system as the sessions of an editor see it. All that is under way shares one connection,
// because an editor may load many sessions at once. The last one closes it. Each opening looks for the system
// again. If there is another one, or if the connection was lost, it gets a new connection.
import type { EditorSystem } from '@beaver/acp'
import type { Config } from '@beaver/platform'
import { type Connection, connect } from '../connection.ts'
import { followTask } from '../follow/follow-task.ts'
import { findSystem, type FoundSystem, hasEnded } from '../system/find-system.ts'

interface Shared {
  readonly system: FoundSystem
  readonly connection: Promise<Connection>
  users: number
  lost: boolean
}

/** @param options `onBehalf`: whether the editor acts for a user, which is a right of operators */
export function editorSystem(config: Config, { onBehalf }: { readonly onBehalf: boolean }): EditorSystem {
  let newest: Shared | null = null

  /** Counts the caller as a user of it. */
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
