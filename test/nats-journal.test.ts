import { journalContract } from '@beaver/testing'
import { connectNats, natsBlobStore, natsJournal, natsTaskQueue, subjectsOf } from '@beaver/nats'
import { afterAll } from 'vitest'
import { testServer } from './support/nats.ts'

const closing: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

journalContract('natsJournal', async () => {
  const server = await testServer()
  closing.push(async () => server[Symbol.asyncDispose]())
  const nc = await connectNats({ url: server.url, name: 'contract' })
  closing.push(() => nc.drain())
  const subjects = subjectsOf('contract')
  const journal = await natsJournal(nc, subjects)
  const blobs = await natsBlobStore(nc, subjects)
  return { journal, blobs, queue: (leaseMs) => natsTaskQueue(nc, subjects, { leaseMs, now: () => journal.now() }) }
})
