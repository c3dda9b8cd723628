// How daemons see each other over a real nats-server.
import { silentLogger } from '@beaver/core'
import { connectNats, natsPeers, presentDaemons, subjectsOf } from '@beaver/nats'
import { expect, it } from 'vitest'
import { testServer } from './support/nats.ts'

it('a daemon that dies with a ping in its hands is gone, not silent', async () => {
  await using server = await testServer()
  const subjects = subjectsOf('default')
  const nc = await connectNats({ url: server.url, name: 'asking' })
  const dying = await connectNats({ url: server.url, name: 'dying' })
  dying.subscribe(subjects.daemon('daemon_b'), { callback: () => void dying.close() })
  await dying.flush()
  expect(await natsPeers(nc, subjects, silentLogger).state('daemon_b')).toBe('gone')
  await nc.close()
})

it('a daemon that lives and does not answer is silent', async () => {
  await using server = await testServer()
  const subjects = subjectsOf('default')
  const nc = await connectNats({ url: server.url, name: 'asking' })
  const busy = await connectNats({ url: server.url, name: 'busy' })
  busy.subscribe(subjects.daemon('daemon_b'), { callback: () => {} })
  await busy.flush()
  expect(await natsPeers(nc, subjects, silentLogger).state('daemon_b')).toBe('silent')
  await busy.close()
  await nc.close()
})

it('a connection that is closed is not asked again', async () => {
  await using server = await testServer()
  const nc = await connectNats({ url: server.url, name: 'asking' })
  const peers = natsPeers(nc, subjectsOf('default'), silentLogger)
  await nc.close()
  const took: number[] = []
  for (let i = 0; i < 5; i++) {
    const began = performance.now()
    expect(await peers.state('daemon_b')).toBe('silent')
    took.push(performance.now() - began)
  }
  // A second question would come after 200 ms, each time.
  expect(Math.min(...took)).toBeLessThan(150)
})

it('a daemon that is slow to say that it is there is found, if nobody else says so', async () => {
  await using server = await testServer()
  const subjects = subjectsOf('default')
  const nc = await connectNats({ url: server.url, name: 'asking' })
  const slow = await connectNats({ url: server.url, name: 'slow' })
  slow.subscribe(subjects.presenceQuestion, { callback: (_, message) => void setTimeout(() => message.respond('{"daemon":"daemon_b"}'), 150) })
  await slow.flush()
  expect(await presentDaemons(nc, subjects, { waitMs: 50 })).toEqual([])
  expect(await presentDaemons(nc, subjects, { waitMs: 50, emptyMs: 20_000 })).toEqual([{ daemon: 'daemon_b' }])
  await slow.close()
  await nc.close()
})
