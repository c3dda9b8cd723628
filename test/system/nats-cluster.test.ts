// The journal on three nats-servers: a quorum that stalls, and a replica that is behind.
import { type BeaverError, type LogId, type SessionId, silentLogger, type TaskId } from '@beaver/core'
import { connectNats, journalReader, natsJournal, type NatsJournal, openInCluster } from '@beaver/nats'
import { until } from '@beaver/testing'
import type { NatsConnection } from '@nats-io/nats-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { natsCluster, type NatsCluster } from '../support/nats-cluster.ts'

let cluster: NatsCluster
let followers: readonly number[] = []
let nc: NatsConnection
let journal: NatsJournal
beforeAll(async () => {
  cluster = await natsCluster()
}, 120_000)
beforeEach(async () => {
  const leader = await cluster.whole()
  followers = [0, 1, 2].filter((index) => index !== leader)
  // The stream may have another leader in each test, and a server that is frozen must not be the writer's.
  nc = await connectNats({ url: cluster.urls[leader] ?? '', name: 'writer' })
  // As every process does: the servers may elect the one that leads them all.
  journal = await openInCluster(nc, () => natsJournal(nc, cluster.subjects), { logger: silentLogger })
}, 120_000)
afterEach(async () => {
  journal.close()
  await nc.close()
})
afterAll(() => cluster[Symbol.asyncDispose]())

const bytes = (text: string): Uint8Array => Buffer.from(text)
const logOf = (task: string): LogId => ({
  tenant: 'local',
  session: `session of ${task}` as SessionId,
  task: task as TaskId,
})
const textsOf = async (log: LogId): Promise<string[]> =>
  (await journal.read(log)).map(({ payload }) => Buffer.from(payload).toString())
const accepted = async (log: LogId) =>
  journal.accept({
    log,
    payloads: [bytes('first')],
    tail: await journal.sessionTail(log.tenant, log.session),
  })
async function begun(task: string): Promise<LogId> {
  const log = logOf(task)
  // A busy machine may elect another leader meanwhile: then the question is asked again, and the first answer
  // counts.
  const outcome = await until(`${task} is accepted`, () => accepted(log).catch(() => false as const))
  expect(['accepted', 'id_taken']).toContain(outcome.kind)
  return log
}

it('an append whose first copy lands after a stall of the quorum is stored once, and its writer knows it', async () => {
  const log = await begun('stalled')
  for (const index of followers) await cluster.freeze(index)
  const appended = journal.append({ log, expectedRevision: 0, payloads: [bytes('second')] })
  // By then the copy has timed out, and it was sent again.
  await until('it has waited for longer than one try', () => journal.silentMs > 6_000, { withinMs: 30_000 })
  for (const index of followers) cluster.thaw(index)
  const outcome = await appended
  expect(outcome.kind).toBe('appended')
  // A replica that is behind answers with fewer entries, never with others.
  const texts = await until('a replica has all', async () => {
    // While another leader is elected, nobody answers.
    const read = await textsOf(log).catch(() => [])
    return read.length >= 2 && read
  })
  expect(texts).toEqual(['first', 'second'])
  await until('its revision is the one that the writer was told', async () => {
    const revision = (await journal.last(log).catch(() => null))?.revision
    return outcome.kind === 'appended' && revision === outcome.revision
  })
}, 120_000)

it('a log that is read from a replica that is behind lacks its last entries at most, and never its first alone', async () => {
  const [behind = 0] = followers
  const reading = await connectNats({ url: cluster.urls[behind] ?? '', name: 'reader' })
  const reader = await journalReader(reading, cluster.subjects)
  for (let round = 0; round < 3; round++) {
    await cluster.freeze(behind)
    const logs = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const log = await begun(`round ${round} task ${i}`)
        await journal.append({ log, expectedRevision: 0, payloads: [bytes('second')] })
        return log
      }),
    )
    cluster.thaw(behind)
    const read = async (log: LogId): Promise<string[]> => {
      const texts: string[] = []
      try {
        for await (const { payload } of reader.entries(log)) texts.push(Buffer.from(payload).toString())
      } catch (error) {
        // The servers ask the replica before they know that it is back.
        expect((error as BeaverError).code).toBe('timeout')
      }
      return texts
    }
    await until(
      'every log is whole',
      async () => {
        const all = await Promise.all(logs.map(read))
        for (const texts of all) expect(texts).toEqual(['first', 'second'].slice(0, texts.length))
        return all.every((texts) => texts.length === 2)
      },
      { everyMs: 0 },
    )
  }
  await reading.close()
}, 120_000)
