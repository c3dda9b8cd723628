// `beaver archive` beside faults and attacks: what an export of its journal shows, how an interrupted archive
// goes on, and that neither an archive nor a forged event hides a loss. One system has all of it, one after
// the other: it is sound until a stranger writes to it.
import { createHash } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogId } from '@beaver/core'
import { leafContent, newestRecord, readKeyRing, signTree, splitBatch } from '@beaver/core/journal'
import { checkJournal, checkSettled, openExport } from '@beaver/check'
import { natsBlobStore } from '@beaver/nats'
import { newSigningKey, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  archive,
  type Archived,
  type ArchiveScene,
  archiveScene,
  audited,
  checked,
  eventsFor,
  isRefused,
  writeRedactions,
} from '../support/archive-scene.ts'
import { placeIn } from '../support/cli.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'
import { only } from '../support/system.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 }) // many commands run

let server: TestServer
let at: ArchiveScene
beforeAll(async () => {
  server = await testServer()
  at = await archiveScene(server, await keptCommands())
})
afterAll(async () => {
  await at[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const logOf = (task: string, session: string) => ({ tenant: 'local', session, task }) as LogId
const remove = (place: number): Promise<boolean> =>
  at.jsm.streams.deleteMessage(at.system.subjects.stream, place, false)
const isMissing = async (): Promise<boolean> =>
  (await at.journal()).some(({ kind, harmful }) => kind === 'messages_missing' && harmful)
const lossIsTold = async (): Promise<void> => {
  await until('the loss is told', isMissing, { everyMs: 20 })
  await until('the daemon writes nothing', async () => isRefused(at), { everyMs: 100 })
}
const gaps = async (): Promise<number> =>
  ((await checked(at)).broken as { stream_gap?: number }).stream_gap ?? 0

describe('an export of a journal with an archive', () => {
  let lines: string[]
  let log: string
  beforeAll(async () => {
    await at.tasks(['shown', 'e', 'read it'], ['shown too', 'e', 'read that'])
    await archive(at)
    await at.projected()
    const out = join(at.system.workspace, 'whole.ndjson')
    await at.beaver('audit', 'export', '--out', out)
    lines = (await readFile(out, 'utf8')).trimEnd().split('\n')
    log = at.system.subjects.events(at.logOf('shown', 'e'))
  })
  const verified = async (changed: readonly string[]) => {
    const file = join(at.system.workspace, 'changed.ndjson')
    await writeFile(file, changed.map((line) => `${line}\n`).join(''))
    return await audited(at, '--offline', file)
  }
  const isLast = (line: string): boolean => line.includes(`"subject":"${log}"`)

  it('is verified as it is, and says how many leaves come from what the operator signed', async () => {
    const { ok, checked: said } = await verified(lines)
    expect(ok).toBe(true)
    expect(said.join(' ')).toMatch(/and for \d+ archived messages from what the operator signed/)
  })

  it('is red if the last entry of an archived log is gone, or its first one', async () => {
    expect(await verified(lines.filter((line) => !isLast(line)))).toMatchObject({
      ok: false,
      broken: { archive: 1, stream_gap: 1, checkpoint: expect.any(Number) },
    })
    const accepted = `"subject":"${at.system.subjects.accepted(logOf('shown', 'e'))}"`
    expect(await verified(lines.filter((line) => !line.includes(accepted)))).toMatchObject({
      ok: false,
      broken: { stream_gap: 1, taskseq: expect.any(Number) },
    })
  })

  it('is red if the events of the archive are gone, or one of their hashes is changed', async () => {
    const isEvent = (line: string): boolean => line.includes('messages_archived')
    expect(await verified(lines.filter((line) => !isEvent(line)))).toMatchObject({
      ok: false,
      broken: { stream_gap: expect.any(Number), taskseq: 2 },
    })
    const changed = lines.map((line) =>
      isEvent(line)
        ? line.replace(
            /payloads\\":\[\\"./,
            (text) => `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`,
          )
        : line,
    )
    expect(changed).not.toEqual(lines)
    expect(await verified(changed)).toMatchObject({
      ok: false,
      broken: { hash: 1, stream_gap: expect.any(Number) },
    })
  })

  it('that was read while messages were removed is read again, and only what is found then counts', async () => {
    const file = async (name: string, text: readonly string[]): Promise<string> => {
      const path = join(at.system.workspace, name)
      await writeFile(path, text.map((line) => `${line}\n`).join(''))
      return path
    }
    // What a reader gets that began before the event was written, and read on after the deletion.
    const end = lines.findIndex((line) => line.includes('messages_archived'))
    const early = await file('early.ndjson', lines.slice(0, end))
    const late = await file('late.ndjson', lines)
    const found = async (...opened: readonly string[]): Promise<number[]> => {
      const [counts, left] = [[] as number[], [...opened]]
      await checkSettled(
        () => openExport(left.length > 1 ? (left.shift() as string) : (left[0] as string)),
        async (source) => {
          const result = await checkJournal(source, { now: Date.now() })
          counts.push(result.findings.length)
          return result
        },
      )
      return counts
    }
    expect(await found(early, late)).toEqual([expect.any(Number), 0])
    expect((await found(early, late))[0]).toBeGreaterThan(0)
    expect(await found(late)).toEqual([0])
    expect(await found(early, early)).toHaveLength(1)
  })

  it('is red if another message lies at the place of an archived one', async () => {
    const [place] = [...(await at.archived()).sequences()]
    const at1 = lines.findIndex((line) => JSON.parse(line).seq > place!)
    const forged = lines.find(isLast)!.replace(/"seq":\d+/, `"seq":${place}`)
    expect(await verified(lines.toSpliced(at1, 0, forged))).toMatchObject({
      ok: false,
      broken: { archive: 1, checkpoint: expect.any(Number) },
    })
  })
})

describe('an archive that is interrupted', () => {
  let copied: Archived
  const log = logOf('one', 's')
  let all: readonly number[]
  beforeAll(async () => {
    await at.tasks(['one', 's', 'read it'], ['two', 's', 'read that'])
    all = await at.messagesOf(log)
  })
  const sound = async (): Promise<void> => {
    await at.projected()
    expect(await at.journal()).toEqual([])
    expect(await checked(at)).toMatchObject({ ok: true, broken: {} })
    expect((await at.beaver('show', 'one', '--json')).out).toContain('"state":"verified"')
    expect(await isRefused(at)).toBe(false)
  }

  it('before the messages are named leaves them, as a copy does', async () => {
    copied = await archive(at, '--copy')
    expect(copied).toMatchObject({ tasks: ['one', 'two'], removed: 0, kept: '--copy was given', exit: 0 })
    expect(await at.messagesOf(log)).toEqual(all)
    await sound()
  })

  it('after one part of a log was named and before anything was deleted, has the log read from both of its parts', async () => {
    const { size } = await at.archived()
    const [event] = await eventsFor(at, copied, [log])
    const [part] = event!.data.logs
    const first = { ...part!, sequences: part!.sequences.slice(0, 1), payloads: part!.payloads.slice(0, 1) }
    const entries = []
    for await (const entry of at.reader.entries(log)) entries.push(entry)
    const { taskseq, epoch, hash } = splitBatch(entries[1]!.payload).at(-1)!
    const named = { ...event!, data: { ...event!.data, logs: [{ ...first, end: { taskseq, epoch, hash } }] } }
    await writeRedactions(at, [named])
    expect((await at.archived()).size).toBe(size + 1)
    await sound()
    await remove(all[1]!)
    await sound()
  })

  it('with its file gone keeps what is left, says so, and goes on when the file is back', async () => {
    await rename(copied.file, `${copied.file}.moved`)
    const refused = await at.beaver('archive', '--before', '0s', '--out', at.folder)
    expect(refused.out).toContain(`The tasks of ${copied.file} stay in the journal`)
    expect(await at.messagesOf(log)).toEqual(all.toSpliced(1, 1))
    await writeFile(copied.file, 'something else')
    expect((await archive(at)).removed).toBe(0)
    await rename(`${copied.file}.moved`, copied.file)
    await sound()
  })

  it('in the middle of the deletion is completed by the next one', async () => {
    const two = { ...log, task: 'two' } as LogId
    const events = await eventsFor(at, copied, [log, two])
    await writeRedactions(at, events)
    const places = await at.messagesOf(two)
    for (const place of places.slice(1, 3)) await remove(place)
    await sound()
    await at.restartProjector({ anew: true })
    await sound()
    const left = await archive(at)
    expect(left.removed).toBeGreaterThan(0)
    expect(left).toMatchObject({ files: [], rests_on: [copied.file], left: 0, exit: 0, kept: null })
    expect(await at.messagesOf(two)).toEqual([places[0], places.at(-1)])
    expect(await at.messagesOf(log)).toEqual([all[0], all.at(-1)])
    await sound()
    expect(await archive(at)).toMatchObject({ removed: 0, left: 0 })
  })
})

describe('an archive', () => {
  it('leaves a task alone in whose log a stranger wrote, and takes the others; a text of an archived task is not redacted', async () => {
    await at.tasks(['alone', 'l', 'read it'], ['strange', 'm', 'read that'])
    at.system.nc.publish(at.system.subjects.events(logOf('strange', 'm')), 'garbage')
    await at.system.nc.flush()
    await at.projected()
    const done = await archive(at)
    expect(done).toMatchObject({
      tasks: ['alone'],
      exit: 1,
      refused: [{ task_id: 'strange', message: expect.stringContaining('no record') }],
    })
    expect(await at.messagesOf(logOf('alone', 'l'))).toHaveLength(2)
    expect((await at.messagesOf(logOf('strange', 'm'))).length).toBeGreaterThan(4)
    await at.projected()
    expect(await at.beaver('audit', 'redact', 'alone', '--text', 'A line.', '--reason', 'x')).toMatchObject({
      exit: 1,
      err: expect.stringContaining(done.file),
    })
    expect(
      (await at.beaver('audit', 'redact', 'alone', '--text', 'answer to read', '--reason', 'x')).exit,
    ).toBe(0)
    await until(
      'it is shown nowhere',
      async () => (await at.beaver('show', 'alone')).out.includes('[redacted]'),
      { everyMs: 50 },
    )
  })

  it('whose event has a false hash removes nothing, and the check and the audit are red', async () => {
    await at.tasks(['false', 'f', 'read it'])
    const log = logOf('false', 'f')
    const places = await at.messagesOf(log)
    const checkpointSize = async (): Promise<number> =>
      (await at.system.client.query('status')).checkpoints.last?.size ?? 0
    await until('a checkpoint counts them', async () => (await checkpointSize()) >= places.at(-1)!, {
      everyMs: 50,
    })
    const copy = await archive(at, '--copy')
    const [event] = await eventsFor(at, copy, [log])
    const logs = event!.data.logs.map((part) => ({
      ...part,
      payloads: ['A'.repeat(43), ...part.payloads.slice(1)],
    }))
    await writeRedactions(at, [{ ...event!, data: { ...event!.data, logs } }])
    expect(await archive(at)).toMatchObject({ left: 1, exit: 1 })
    expect(await at.messagesOf(log)).toEqual([places[0], places[1], places.at(-1)])
    expect(await checked(at)).toMatchObject({ ok: false, broken: { archive: 1 } })
    await until(
      'the projector sees it',
      async () => (await at.beaver('show', 'false')).out.includes('is not the one that was archived'),
      { everyMs: 50 },
    )
    await remove(places[1]!)
    expect(await audited(at)).toMatchObject({ ok: false, broken: { checkpoint: expect.any(Number) } })
    await at.restartProjector({ anew: true })
    await until(
      'the projector sees it',
      async () => (await at.system.client.query('status')).checkpoints.faults.length > 0,
      { everyMs: 50 },
    )
  })

  it('does not hide a message that is lost while named messages are still there', async () => {
    await at.tasks(['named', 't', 'read on'], ['lost', 'u', 'read off'])
    const copy = await archive(at, '--copy')
    await writeRedactions(at, await eventsFor(at, copy, [logOf('named', 't')]))
    const before = await gaps()
    const [, lost = 0, another = 0] = await at.messagesOf(logOf('lost', 'u'))
    await remove(lost)
    await lossIsTold()
    // As many messages are missing as are named, and more are named than are missing: still it is told.
    await archive(at).catch(() => {})
    expect((await at.journal()).map(({ message }) => message)).toContainEqual(
      expect.stringContaining('has 1 message less'),
    )
    expect(await gaps()).toBe(before + 1)
    await acceptLoss()
    // The operator accepted the one loss. What an archive removes later is not hidden by this, and hides
    // nothing.
    await remove(another)
    await until('the next loss is told', isMissing, { everyMs: 20 })
    await acceptLoss()
  })
})

describe('a log that lost its middle', () => {
  it('is left out and named, and keeps no other task from being archived', async () => {
    await at.tasks(['broken', 'x', 'read it'], ['bystander', 'y', 'read it'])
    const places = await at.messagesOf(logOf('broken', 'x'))
    for (const place of places.slice(2, 4)) await remove(place)
    await until('the loss is told', isMissing, { everyMs: 20 })
    const done = await archive(at)
    expect(done).toMatchObject({
      exit: 1,
      refused: expect.arrayContaining([{ task_id: 'broken', message: expect.any(String) }]),
    })
    expect(done.tasks).toContain('bystander')
    expect(done.tasks).not.toContain('broken')
    await acceptLoss()
  })
})

describe('what no operator signed', () => {
  const log = logOf('victim', 'v')
  beforeAll(() => at.tasks(['victim', 'v', 'read it']))

  it('replaces no text, for no reader, and is told by the check', async () => {
    const { nc, subjects, client } = at.system
    const signatures = async (): Promise<number> =>
      ((await checked(at)).broken as { signature?: number }).signature ?? 0
    const count = await signatures()
    const [end] = only(await at.system.events('victim'), 'task_completed')
    const forged = Buffer.from(JSON.stringify({ ...end?.data, final_output: 'Pay the forger.' }))
    const replacement = createHash('sha256').update(forged).digest('hex')
    await (await natsBlobStore(nc, subjects)).put(replacement, forged)
    const { taskseq, hash } = newestRecord((await at.reader.last(log))!)!
    const data = {
      tenant: 'local',
      session_id: 'v',
      task_id: 'victim',
      taskseq,
      hash,
      replacement,
      reason: 'x',
      by: 'y',
    }
    const position = async () => (await client.query('status')).sequence
    const [shown, before] = [await client.query('task', { task_id: 'victim' }), await position()]
    await writeRedactions(at, [{ type: 'record_redacted', data }], {})
    await until('the projector has it', async () => (await position()) > before)
    expect(await client.query('task', { task_id: 'victim' })).toEqual(shown)
    expect(only(await at.system.events('victim'), 'task_completed')).toEqual([end])
    expect(await signatures()).toBe(count + 1)
  })

  it('explains no gap, nor does an event of a stranger, of a daemon or of another tenant: the deletion is a loss for every reader', async () => {
    const { size } = await at.archived()
    const of = { file: '/nowhere', sha256: createHash('sha256').digest('hex') }
    const events = await eventsFor(at, of, [log])
    const ring = await readKeyRing(at.ports)
    const signBy = (key: ReturnType<typeof newSigningKey>) => ({
      sign: ({ hash }: { hash: string }) =>
        signTree(key, ring.journal, [leafContent('redactions', hash)])[0] as string,
    })
    const before = await checked(at)
    await writeRedactions(at, events, {})
    await writeRedactions(at, events, signBy(newSigningKey()))
    await writeRedactions(at, events, signBy(at.ports.keys.own('daemon')))
    await writeRedactions(
      at,
      events.map(({ type, data }) => ({
        type,
        data: { ...data, logs: data.logs.map((part) => ({ ...part, tenant: 'other' })) },
      })),
    )
    expect((await at.archived()).size).toBe(size)
    const places = await at.messagesOf(log)
    for (const place of places.slice(1, -1)) await remove(place)
    await lossIsTold()
    const { ok, broken } = await checked(at)
    const of1 = (all: object, rule: string): number => (all as Record<string, number>)[rule] ?? 0
    expect(ok).toBe(false)
    expect(['taskseq', 'signature'].map((rule) => of1(broken, rule) - of1(before.broken, rule))).toEqual([
      1, 3,
    ])
    expect(of1(broken, 'stream_gap')).toBeGreaterThan(of1(before.broken, 'stream_gap'))
    expect((await at.beaver('show', 'victim')).out).toContain('NOT VERIFIED')
    const seen: string[] = []
    const watched = async (): Promise<void> => {
      for await (const { type } of at.system.client.watch('victim')) seen.push(type)
    }
    await expect(watched()).rejects.toMatchObject({ code: 'corrupt_journal' })
    expect(seen).not.toContain('task_completed')
  })
})

/** The operator accepts the loss in the home of the projector, and in that of the daemon. */
async function acceptLoss(): Promise<void> {
  for (const BEAVER_HOME of [at.home, join(at.system.workspace, '.beaver')]) {
    const place = placeIn(server, at.system, { BEAVER_HOME, BEAVER_KEYS: at.keys })
    expect(
      await (await keptCommands()).run(['audit', 'accept', '--reason', 'it is lost'], place),
    ).toMatchObject({ exit: 0 })
  }
  await until('the journal is accepted', async () => (await at.journal()).length === 0, { everyMs: 50 })
  await until('the daemon writes again', async () => !(await isRefused(at)), { everyMs: 50 })
}
