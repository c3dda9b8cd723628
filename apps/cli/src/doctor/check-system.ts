// The running system, if there is one: the server, a daemon, the projector and how far it is behind.
import type { Config } from '@beaver/config'
import { messageOf } from '@beaver/core'
import { shownUrl, streamIdentity } from '@beaver/nats'
import type { StatusAnswer } from '../answers.ts'
import { type Connection, connect } from '../connection.ts'
import { type FoundSystem, lookForSystem } from '../system/find-system.ts'
import { counted } from '../text/figures.ts'
import { fail, type Finding, ok, warn } from './check.ts'

const lagMax = 1_000

export async function checkSystem(config: Config): Promise<Finding[]> {
  const found = lookForSystem(config)
  if (found === null) return [ok('system', 'none runs here now; "beaver up" starts one')]
  let connection: Connection
  try {
    connection = await connect(found)
  } catch (error) {
    return [
      fail(
        'system',
        firstSentence(messageOf(error)),
        found.pid === null
          ? 'Start that server, correct NATS_URL, or unset it to use the embedded one.'
          : `Look at process ${found.pid}, which runs "beaver up" here.`,
      ),
    ]
  }
  await using _closing = connection
  return [...checkServer(found, connection), await checkDaemon(connection), await checkProjector(connection)]
}

function checkServer(found: FoundSystem, { nc }: Connection): Finding[] {
  const server = `${shownUrl(found.url)}, nats-server ${nc.info?.version ?? 'of unknown version'}`
  if (found.pid !== null) return [ok('system', `runs here (process ${found.pid}): ${server}`)]
  return [
    ok('system', `uses ${server} with JetStream`),
    warn(
      'sync policy',
      'a server does not tell clients how it syncs',
      'Make sure its jetstream block says "sync_interval: always"; otherwise a power loss can lose the last seconds of the journal.',
    ),
  ]
}

async function checkDaemon(connection: Connection): Promise<Finding> {
  try {
    const { daemon, model, provider, tasks, skills } = await connection.daemonStatus()
    return ok(
      'daemon',
      `${daemon} answers: ${provider === 'simulated' ? `simulated model (${model})` : model}, ${counted(tasks, 'task')} at work, ${counted(skills.length, 'skill')}`,
    )
  } catch (error) {
    return fail('daemon', firstSentence(messageOf(error)), 'Start one with "beaver up"; tasks wait in the journal until then.')
  }
}

async function checkProjector({ client, nc, subjects }: Connection): Promise<Finding> {
  try {
    const status = (await client.query('status')) as StatusAnswer
    const { lastSequence } = await streamIdentity(nc, subjects)
    const lag = Math.max(0, lastSequence - status.sequence)
    const says = `answers: ${counted(status.tasks, 'task')}, ${counted(status.events, 'event')}, ${lag <= 1 ? 'up to date' : `${lag} messages behind`}`
    if (status.tasks_broken > 0)
      return fail(
        'projector',
        `${says}; ${counted(status.tasks_broken, 'task')} with a broken record`,
        'Look at them with "beaver show <task>": somebody changed the journal.',
      )
    return lag > lagMax ? warn('projector', says, 'It is catching up; look again in a moment.') : ok('projector', says)
  } catch (error) {
    return fail('projector', firstSentence(messageOf(error)), 'Start it with "beaver up"; "tasks", "show" and "timeline" need it.')
  }
}

const firstSentence = (text: string): string => text.split(/(?<=\.) /)[0] ?? text
