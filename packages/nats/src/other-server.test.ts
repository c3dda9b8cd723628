import type { ClusterInfo } from '@nats-io/jetstream'
import { expect, test } from 'vitest'
import { hearsMost } from './other-server.ts'

const second = 1_000_000_000
const heard = { name: 'n1', current: true, active: second }
const silent = { name: 'n2', current: true, active: 5 * second }
const clusterOf = (...replicas: readonly object[]) =>
  ({ name: 'beaver', leader: 'n0', replicas }) as unknown as ClusterInfo

test.each([
  ['a server that is alone', undefined, true],
  ['a leader without followers', clusterOf(), true],
  ['a leader that hears one of two', clusterOf(heard, silent), true],
  ['a leader that hears none of two', clusterOf(silent, silent), false],
  [
    'a leader that knows both to be away',
    clusterOf({ ...heard, offline: true }, { ...heard, offline: true }),
    false,
  ],
  ['a leader that hears two of four', clusterOf(heard, heard, silent, silent), true],
  ['a leader that hears one of four', clusterOf(heard, silent, silent, silent), false],
  [
    'a leader that heard a follower just now, for which the server leaves the time out',
    clusterOf({ name: 'n1' }, silent),
    true,
  ],
])('%s', (_, cluster, stores) => {
  expect(hearsMost(cluster)).toBe(stores)
})
