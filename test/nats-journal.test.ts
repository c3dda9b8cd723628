import { foreignMessageContract, journalContract, systemLogContract } from '@beaver/testing'
import { connectNats, natsBlobStore, natsJournal, natsSystemLog, natsTaskQueue, subjectsOf } from '@beaver/nats'
import { jetstreamManager } from '@nats-io/jetstream'
import { afterAll, expect, test } from 'vitest'
import { testServer } from './support/nats.ts'

const closing: (() => Promise<unknown>)[] = []
let systemServer: ReturnType<typeof testServer> | null = null
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
  await (await systemServer)?.[Symbol.asyncDispose]()
})

async function open(namespace: string): ReturnType<Parameters<typeof journalContract>[1]> {
  const server = await testServer()
  closing.push(async () => server[Symbol.asyncDispose]())
  const nc = await connectNats({ url: server.url, name: 'contract' })
  closing.push(() => nc.drain())
  const subjects = subjectsOf(namespace)
  const journal = await natsJournal(nc, subjects)
  const blobs = await natsBlobStore(nc, subjects)
  return {
    journal,
    blobs,
    queue: (leaseMs) => natsTaskQueue(nc, subjects, { leaseMs, now: () => journal.now() }),
    intrude: async (log, place, payload) => void (await nc.request(subjects[place](log), payload)),
  }
}

journalContract('natsJournal', () => open('contract'))
foreignMessageContract('natsJournal', () => open('foreign'))

let namespaces = 0
systemLogContract('natsSystemLog', async () => {
  const server = await (systemServer ??= testServer())
  const nc = await connectNats({ url: server.url, name: 'contract' })
  closing.push(() => nc.drain())
  return natsSystemLog(nc, subjectsOf(`system${namespaces++}`))
})

test('an older journal stream captures the system logs as soon as a process starts', async () => {
  const server = await (systemServer ??= testServer())
  const nc = await connectNats({ url: server.url, name: 'older' })
  closing.push(() => nc.drain())
  const subjects = subjectsOf('older')
  await natsJournal(nc, subjects).then((journal) => journal.close())
  const jsm = await jetstreamManager(nc)
  await jsm.streams.update(subjects.stream, { subjects: [subjects.logs] })
  const log = await natsSystemLog(nc, subjects)
  expect((await log.append({ name: 'keys', expectedRevision: 0, payload: Buffer.from('[]') })).kind).toBe('appended')
})
