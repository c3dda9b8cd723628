// Checks that checkpoints of the journal are kept in a place that the people of this system cannot change. A
// person who has the key of a daemon can sign another record. So a signature is not enough if several people
// use the system.
import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import type { Config } from '@beaver/platform'
import { type Finding, ok, warn } from './check.ts'

type CheckpointsConfig = Pick<Config, 'home' | 'checkpoints' | 'gateway'>

/** Empty for the system of one person that keeps no checkpoints elsewhere. */
export function checkCheckpointsElsewhere({ home, checkpoints, gateway }: CheckpointsConfig): Finding[] {
  const { folder, webhook, bucket } = checkpoints
  const places = [folder, webhook, bucket && `the bucket ${bucket.name} at ${bucket.nats_url}`]
  const named = places.filter((place) => place !== undefined)
  if (named.length > 0) return [ok('checkpoints', `each is kept in ${named.join(' and in ')}, too`)]
  const users = usersOf(home)
  const others = [
    ...(users > 1 ? [`tokens for ${users} people`] : []),
    ...(Object.keys(gateway.channels).length > 0 ? ['channels'] : []),
  ]
  if (others.length === 0) return []
  return [
    warn(
      'checkpoints',
      `this system has ${others.join(' and ')}, and no checkpoint is kept elsewhere: anyone who has a daemon's key could write another record, and nobody could show it`,
      'Add a place that these people cannot change to the configuration, such as "checkpoints": { "folder": "/mnt/other-machine/beaver" }, and start "beaver up" again.',
    ),
  ]
}

/**
 * A token without a user is for one person, as far as anybody can tell. A login without a user is of the
 * person who runs Beaver.
 */
function usersOf(home: string): number {
  try {
    const tokens = new TokenStore(tokensFile(home)).list()
    const known = tokens.filter(({ login, userId }) => login !== true || userId !== undefined)
    return new Set(known.map(({ name, userId }) => userId ?? `the token ${name}`)).size
  } catch {
    return 0 // The check of the tokens reports the file.
  }
}
