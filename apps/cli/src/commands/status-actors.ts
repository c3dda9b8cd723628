// `beaver status --actors`: asks each daemon that is there what it holds now, and prints the trees of actors. A
// daemon that does not answer is named as such. Exit code 0 if all daemons answer, 1 if one does not or none is
// there.
import { BeaverError, messageOf } from '@beaver/core'
import { askOneDaemon, presentDaemons } from '@beaver/nats'
import { type Connection, connect } from '../connection.ts'
import type { Screen } from '../screen.ts'
import type { FoundSystem } from '../system/find-system.ts'
import { actorLines, type AskedDaemon } from '../view/actor-tree.ts'

const presenceMs = 400
const answerMsMax = 3_000

/** @throws {BeaverError} `unreachable`, `server_too_old` */
export async function statusActors(
  found: FoundSystem,
  { json, screen }: { readonly json: boolean; readonly screen: Screen },
): Promise<number> {
  await using connection = await connect(found, { daemonMs: 0 })
  const { nc, subjects } = connection
  const present = await presentDaemons(nc, subjects, { waitMs: presenceMs, emptyMs: 3 * presenceMs })
  const daemons = await Promise.all(present.map(({ daemon }) => asked(connection, daemon)))
  const isWhole = daemons.length > 0 && daemons.every(({ kind }) => kind === 'answered')
  if (json)
    screen.json({
      ok: isWhole,
      daemons: daemons.flatMap((each) => (each.kind === 'answered' ? [each.actors] : [])),
      unanswered: daemons.flatMap((each) =>
        each.kind === 'answered' ? [] : [{ daemon: each.daemon, reason: each.reason }],
      ),
    })
  else if (daemons.length === 0) screen.print('No daemon is there. Start the system with "beaver up".')
  else screen.print(...actorLines(daemons, screen))
  return isWhole ? 0 : 1
}

async function asked({ nc, subjects }: Connection, daemon: string): Promise<AskedDaemon> {
  try {
    const at = { nc, subjects, timeoutMs: answerMsMax }
    return { kind: 'answered', actors: await askOneDaemon(at, daemon, 'actors', {}) }
  } catch (error) {
    const isUnserved = error instanceof BeaverError && error.code === 'no_daemon'
    return {
      kind: 'unanswered',
      daemon,
      reason: isUnserved ? 'It has ended, or its version does not know this request.' : messageOf(error),
    }
  }
}
