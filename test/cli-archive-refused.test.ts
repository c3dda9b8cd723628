// What `beaver archive` refuses, and what explains no gap in the journal: a forged event, a false hash, a session that goes on, a stranger's message.
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { appendSystemEvents, type LogId, leafContent, operatorSigner, readKeyRing, signTree } from '@beaver/core'
import { newSigningKey, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { archive, type ArchiveScene, archiveScene, audited, checked, eventsFor, isRefused } from './support/archive-scene.ts'
import { commandHost } from './support/cli.ts'
import { testServer, type TestServer } from './support/nats.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 }) // many processes start

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())
const host = commandHost()
afterAll(() => host[Symbol.asyncDispose]())

describe('what does not explain a gap', () => {
  let at: ArchiveScene
  const log = { tenant: 'local', session: 's', task: 'one' } as LogId
  beforeAll(async () => {
    at = await archiveScene(server, host)
    await at.tasks(['one', 's', 'read it'])
  })
  afterAll(() => at[Symbol.asyncDispose]())

  it('an event without a signature, of a stranger, of a daemon or of another tenant: the deletion is a loss for every reader', async () => {
    const of = { file: '/nowhere', sha256: createHash('sha256').digest('hex') }
    const events = await eventsFor(at, of, [log])
    const writer = { source: '/beaver/operator', now: () => Date.now() }
    const ring = await readKeyRing(at.ports)
    const signBy = (key: ReturnType<typeof newSigningKey>) => ({
      sign: ({ hash }: { hash: string }) => signTree(key, ring.journal, [leafContent('redactions', hash)])[0] as string,
    })
    await appendSystemEvents(at.ports.log, 'redactions', events, writer)
    await appendSystemEvents(at.ports.log, 'redactions', events, { ...writer, ...signBy(newSigningKey()) })
    await appendSystemEvents(at.ports.log, 'redactions', events, { ...writer, ...signBy(at.ports.keys.own('daemon')) })
    const ofOther = events.map(({ type, data }) => ({ type, data: { ...data, logs: data.logs.map((part) => ({ ...part, tenant: 'other' })) } }))
    await appendSystemEvents(at.ports.log, 'redactions', ofOther, { ...writer, ...(await operatorSigner(at.ports)) })
    expect((await at.archived()).size).toBe(0)
    const places = await at.messagesOf(log)
    for (const place of places.slice(1, -1)) await at.jsm.streams.deleteMessage(at.system.subjects.stream, place, false)
    await until('the loss is told', async () => (await at.journal()).some(({ kind }) => kind === 'messages_missing'), { everyMs: 20 })
    await until('the daemon writes nothing', async () => isRefused(at), { everyMs: 100 })
    expect(await checked(at)).toMatchObject({ ok: false, broken: { stream_gap: expect.any(Number), taskseq: 1, signature: 3 } })
    expect((await at.beaver('show', 'one')).out).toContain('NOT VERIFIED')
    const seen: string[] = []
    const watched = async (): Promise<void> => {
      for await (const { type } of at.system.client.watch('one')) seen.push(type)
    }
    await expect(watched()).rejects.toMatchObject({ code: 'corrupt_journal' })
    expect(seen).not.toContain('task_completed')
  })
})

describe('an archive', () => {
  it('whose event has a false hash removes nothing, and the check and the audit are red', async () => {
    await using at = await archiveScene(server, host)
    await at.tasks(['one', 's', 'read it'])
    const log = at.logOf('one', 's')
    const places = await at.messagesOf(log)
    await until('a checkpoint counts them', async () => ((await at.system.client.query('status')).checkpoints.last?.size ?? 0) >= places.at(-1)!, {
      everyMs: 50,
    })
    const copy = await archive(at, '--copy')
    const [event] = await eventsFor(at, copy, [log])
    const logs = event!.data.logs.map((part) => ({ ...part, payloads: ['A'.repeat(43), ...part.payloads.slice(1)] }))
    const writer = { source: '/beaver/operator', now: () => Date.now(), ...(await operatorSigner(at.ports)) }
    await appendSystemEvents(at.ports.log, 'redactions', [{ type: 'messages_archived', data: { ...event!.data, logs } }], writer)
    expect(await archive(at)).toMatchObject({ removed: places.length - 3, left: 1, exit: 1 })
    expect((await at.messagesOf(log)).length).toBe(3)
    expect(await checked(at)).toMatchObject({ ok: false, broken: { archive: 1 } })
    await until('the projector sees it', async () => (await at.beaver('show', 'one')).out.includes('is not the one that was archived'), { everyMs: 50 })
    await at.jsm.streams.deleteMessage(at.system.subjects.stream, places[1]!, false)
    expect(await audited(at)).toMatchObject({ ok: false, broken: { checkpoint: expect.any(Number) } })
    await at.restartProjector({ anew: true })
    await until('the projector sees it', async () => (await at.system.client.query('status')).checkpoints.faults.length > 0, { everyMs: 50 })
  })

  it('that removed messages while the projector was away leaves a read model that is built again, and none that is compared before', async () => {
    await using at = await archiveScene(server, host)
    await at.tasks(['one', 's', 'read it'], ['two', 't', 'read that'])
    const log = at.logOf('one', 's')
    const copy = await archive(at, '--copy')
    await at.projected()
    await at.stopProjector()
    const places = await at.messagesOf(log)
    const writer = { source: '/beaver/operator', now: () => Date.now(), ...(await operatorSigner(at.ports)) }
    await appendSystemEvents(at.ports.log, 'redactions', await eventsFor(at, copy, [log]), writer)
    for (const place of places.slice(1, -1)) await at.jsm.streams.deleteMessage(at.system.subjects.stream, place, false)
    expect(await checked(at)).toMatchObject({ ok: true, projection: { compared: false, reason: expect.stringContaining('archived last') } })
    await at.restartProjector()
    await at.projected()
    expect(await at.journal()).toEqual([])
    expect(await checked(at)).toMatchObject({ ok: true, broken: {}, projection: { compared: true } })
    expect((await at.beaver('show', 'one')).out).toContain('verified:')
    expect(await isRefused(at)).toBe(false)
  })

  it('of a session that has not ended takes none of its tasks, whatever the read model says', async () => {
    await using at = await archiveScene(server, host)
    await at.tasks(['one', 's', 'read it'])
    at.system.provider.answerBy(() => null)
    await at.system.client.submit({ task: 'wait', task_id: 'two', session_id: 's' })
    await at.projected()
    expect(await archive(at)).toMatchObject({ tasks: [], removed: 0 })
    const { DatabaseSync } = await import('node:sqlite')
    const file = (await readdir(at.home)).find((name) => /^projection-.*\.db$/.test(name))!
    const db = new DatabaseSync(join(at.home, file))
    db.exec("update tasks set status = 'completed', ended_at = submitted_at")
    db.close()
    const refused = await at.beaver('archive', '--before', '0s', '--out', at.folder)
    expect(refused).toMatchObject({ exit: 1, out: expect.stringContaining('The read model says that the task two has ended, and the journal does not') })
    expect(refused.out).toContain('No session ended before')
    expect(await readdir(at.folder).catch(() => [])).toEqual([])
  })

  it('leaves a task alone in whose log a stranger wrote, and takes the others; a text of an archived task is not redacted', async () => {
    await using at = await archiveScene(server, host)
    await at.tasks(['one', 's', 'read it'], ['two', 't', 'read that'])
    at.system.nc.publish(at.system.subjects.events(at.logOf('two', 't')), 'garbage')
    await at.system.nc.flush()
    await at.projected()
    const done = await archive(at)
    expect(done).toMatchObject({ tasks: ['one'], exit: 1, refused: [{ task_id: 'two', message: expect.stringContaining('no record') }] })
    expect(await at.messagesOf(at.logOf('one', 's'))).toHaveLength(2)
    expect((await at.messagesOf(at.logOf('two', 't'))).length).toBeGreaterThan(4)
    await at.projected()
    expect(await at.beaver('audit', 'redact', 'one', '--text', 'A line.', '--reason', 'x')).toMatchObject({ exit: 1, err: expect.stringContaining(done.file) })
    expect((await at.beaver('audit', 'redact', 'one', '--text', 'answer to read', '--reason', 'x')).exit).toBe(0)
    await until('it is shown nowhere', async () => (await at.beaver('show', 'one')).out.includes('[redacted]'), { everyMs: 50 })
  })

  it('on a stream of an earlier version is a copy, and says why', async () => {
    await using at = await archiveScene(server, host)
    await at.tasks(['one', 's', 'read it'])
    const { stream } = at.system.subjects
    await at.jsm.streams.update(stream, { deny_delete: true })
    expect((await at.journal()).length).toBe(0)
    const done = await archive(at)
    expect(done).toMatchObject({ tasks: ['one'], removed: 0, kept: expect.stringContaining('deny_delete'), exit: 0 })
    expect((await at.beaver('check', '--json')).exit).toBe(0)
  })
})
