// The watch over a journal from which an archive removed messages: for a process that was away, and after the
// server died.
import { createHash } from 'node:crypto'
import type { LogId } from '@beaver/core'
import { silentLogger } from '@beaver/core'
import { type JournalMark, type MarkStore, watchJournal } from '@beaver/nats'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { archive, type ArchiveScene, archiveScene, checked } from '../support/archive-scene.ts'
import { ownServer, type OwnServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 }) // many processes start

let server: OwnServer
let at: ArchiveScene
let mark: JournalMark
const log = { tenant: 'local', session: 's', task: 'one' } as LogId
beforeAll(async () => {
  server = await ownServer({ sync: 'default' })
  at = await archiveScene(server, await keptCommands())
  await at.tasks(['one', 's', 'read it'], ['two', 't', 'read that'])
  const entries = []
  for await (const entry of at.reader.entries(log)) entries.push(entry)
  const { revision: sequence, payload } = entries[2]!
  const hash = createHash('sha256')
    .update(at.system.subjects.events(log))
    .update('\0')
    .update(payload)
    .digest('hex')
  const { created } = await at.jsm.streams.info(at.system.subjects.stream)
  const none = { missing: 0, lost: null, settings: [], chosen: {}, reported: [], settled: [], accepted: [] }
  mark = { identity: `${at.system.subjects.stream}@${created}`, sequence, hash, ...none }
})
afterAll(async () => {
  await at[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** What a process finds that saw the journal last when its mark was made. */
async function found(of: { readonly knowsArchives: boolean }, from = mark): Promise<readonly string[]> {
  const store: MarkStore = { readMark: () => from, writeMark: async () => {}, readAcceptances: () => [] }
  const watch = await watchJournal(at.system.nc, {
    ...{ subjects: at.system.subjects, store, logger: silentLogger },
    ...(of.knowsArchives ? { archived: () => at.archived() } : {}),
  })
  const kinds = watch.findings.map(({ kind }) => kind)
  await watch.close()
  return kinds
}

it('a process whose last message is in an archive goes on, and one that believes in no archive stops', async () => {
  expect(await found({ knowsArchives: true })).toEqual([])
  expect((await archive(at)).removed).toBeGreaterThan(2)
  expect(await found({ knowsArchives: true })).toEqual([])
  expect(await found({ knowsArchives: false })).toEqual(['replaced', 'messages_missing'])
  expect(await found({ knowsArchives: true }, { ...mark, sequence: mark.sequence + 1_000 })).toEqual([
    'rolled_back',
  ])
})

it.each(['stopped', 'killed'] as const)(
  'a server that is %s keeps what was removed apart from what is lost',
  async (how) => {
    await server.down(async () => {}, how)
    await at.projected()
    await until('the journal is looked at again', async () => (await at.journal()).length === 0, {
      everyMs: 100,
    })
    expect(await checked(at)).toMatchObject({ ok: true, broken: {} })
    expect(await found({ knowsArchives: true })).toEqual([])
    await archive(at) // Deletions that were not on the disk yet are repeated.
    expect(await at.messagesOf(log)).toHaveLength(2)
  },
)

it('a message that is lost after all this is told', async () => {
  const [first = 0] = await at.messagesOf({ ...log, session: 't', task: 'two' } as LogId)
  await at.jsm.streams.deleteMessage(at.system.subjects.stream, first, false)
  expect(await found({ knowsArchives: true })).toEqual(['messages_missing'])
})
