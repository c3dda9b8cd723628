// `beaver archive` on a real system: what it removes from the journal, what every reader says afterwards, and what it never hides.
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { appendSystemEvents, type LogId, operatorSigner, splitBatch } from '@beaver/core'
import { checkJournal, checkSettled, openExport } from '@beaver/check'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { archive, type Archived, type ArchiveScene, archiveScene, audited, checked, eventsFor, isRefused } from './support/archive-scene.ts'
import { commandHost } from './support/cli.ts'
import { testServer, type TestServer } from './support/nats.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 }) // many processes start

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())
const host = commandHost()
afterAll(() => host[Symbol.asyncDispose]())

describe('a session that was archived', () => {
  let at: ArchiveScene
  let done: Archived
  const all: Record<string, readonly number[]> = {}
  beforeAll(async () => {
    at = await archiveScene(server, host)
    await at.tasks(['one', 'talk', 'read it'], ['two', 'talk', 'read again'], ['other', 'open', 'read this'])
    await at.system.client.submit({ task: 'x', task_id: 'broken', session_id: 'fails' })
    await at.system.ended('broken')
    for (const [task, session] of [
      ['one', 'talk'],
      ['two', 'talk'],
    ] as const)
      all[task] = await at.messagesOf(at.logOf(task, session))
    await at.projected()
    done = await archive(at)
  })
  afterAll(() => at[Symbol.asyncDispose]())

  it('keeps the first and the last message of each task in the journal, and no other one', async () => {
    expect(done.tasks).toEqual(['one', 'two', 'other', 'broken'])
    expect(all['one']!.length).toBeGreaterThan(4)
    for (const task of ['one', 'two']) expect(await at.messagesOf(at.logOf(task, 'talk'))).toEqual([all[task]![0], all[task]!.at(-1)])
    expect(done.removed).toBeGreaterThan(all['one']!.length + all['two']!.length - 4)
    expect((await at.jsm.streams.info(at.system.subjects.stream)).state.num_deleted).toBe(done.removed)
  })

  it('is no harm to the watch of the daemon and of the projector, and its record is verified', async () => {
    await at.projected()
    expect(await at.journal()).toEqual([])
    const shown = await at.beaver('show', 'one')
    expect(shown.out).toContain('verified:')
    expect(shown.out).toContain(done.file)
    expect((await at.beaver('show', 'one', '--json')).out).toContain('"state":"verified"')
  })

  it('passes the check with its read model, and the audit with its checkpoints, also from a read model that is built anew', async () => {
    expect(await checked(at)).toMatchObject({ ok: true, broken: {}, projection: { compared: true } })
    expect((await checked(at)).notes.map(({ message }) => message)).toContainEqual(expect.stringContaining(done.file))
    expect(await audited(at)).toMatchObject({ ok: true, broken: {} })
    await at.restartProjector({ anew: true })
    await at.projected()
    expect(await at.journal()).toEqual([])
    expect(await checked(at)).toMatchObject({ ok: true, projection: { compared: true } })
    expect(await audited(at)).toMatchObject({ ok: true })
    expect(await audited(at, 'one')).toMatchObject({ ok: true })
  })

  it('is in an export of the journal that passes offline, and the file of the archive passes the check on its own', async () => {
    const out = join(at.system.workspace, 'whole.ndjson')
    expect(await at.beaver('audit', 'export', '--out', out)).toMatchObject({ exit: 0 })
    expect(await audited(at, '--offline', out)).toMatchObject({ ok: true, broken: {} })
    expect(JSON.parse((await at.beaver('check', '--export', out, '--json')).out)).toMatchObject({ ok: true })
    expect(JSON.parse((await at.beaver('check', '--export', done.file, '--json')).out)).toMatchObject({ ok: true, summary: { tasks: 4 } })
    const part = join(at.system.workspace, 'part.ndjson')
    expect(await at.beaver('audit', 'export', 'one', '--out', part)).toMatchObject({ exit: 0 })
    expect(await audited(at, '--offline', part)).toMatchObject({ ok: true, broken: {} })
  })

  it('is shown with what is left, and whole from its file, without a running system', async () => {
    const [shown, events, timeline] = [await at.beaver('show', 'one'), await at.beaver('events', 'one'), await at.beaver('timeline', 'one')]
    for (const { out, exit } of [shown, events, timeline]) {
      expect(exit).toBe(0)
      expect(out).toMatch(/\d+ events between the first and the last entry of this task are in the archive/)
      expect(out).toContain(done.sha256)
      expect(out).toContain(`events one --from ${done.file}`)
    }
    expect(shown.out).toContain('answer to read it')
    expect((await at.beaver('tasks')).out).toMatch(/one .*completed.* archived /)
    expect(shown.out).not.toContain('read_file')
    const whole = await at.beaver('show', 'one', '--from', done.file)
    expect(whole).toMatchObject({ exit: 0, err: '' })
    expect(whole.out).toContain('verified:')
    expect(whole.out).not.toContain('are in the archive')
    const listed = (await at.beaver('events', 'one', '--from', done.file, '--json')).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; taskseq: number })
    expect(listed.map(({ taskseq }) => taskseq)).toEqual(listed.map((_, i) => i + 1))
    expect(listed.map(({ type }) => type)).toContain('tool_result_recorded')
    const [one] = (await at.system.client.query('tasks')).tasks.filter(({ task_id }) => task_id === 'one')
    // The first and the last entry stay. The first one may have several events.
    expect(one?.archived_events).toBeGreaterThan(0)
    expect(one?.archived_events).toBeLessThanOrEqual(listed.length - 2)
    expect((await at.beaver('timeline', 'one', '--from', done.file)).out).toContain('read_file')
    // Nothing of the running system is asked.
    const alone = await host.run(['show', 'two', '--from', done.file], {
      cwd: at.system.workspace,
      env: { NATS_URL: 'nats://127.0.0.1:1', BEAVER_HOME: at.home },
    })
    expect(alone).toMatchObject({ exit: 0, out: expect.stringContaining('verified:') })
    const changed = join(at.system.workspace, 'changed-archive.ndjson')
    await writeFile(changed, (await readFile(done.file, 'utf8')).replace('answer to read it', 'answer to forge it'))
    expect((await at.beaver('show', 'one', '--from', changed)).out).toContain('BROKEN')
    expect(await at.beaver('show', 'one', '--from', join(at.system.workspace, 'none'))).toMatchObject({
      exit: 1,
      err: expect.stringContaining('There is no file'),
    })
    expect(await at.beaver('events', 'nobody', '--from', done.file)).toMatchObject({ exit: 1, err: expect.stringContaining('There is no task') })
  })

  it('has its ids taken: the same request gets the same answer, another one is refused', async () => {
    const again = await at.system.client.submit({ task: 'read it', task_id: 'one', session_id: 'talk' })
    expect(again).toMatchObject({ task_id: 'one', session_id: 'talk' })
    await expect(at.system.client.submit({ task: 'something else', task_id: 'one', session_id: 'talk' })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('is read by clients: a watch ends, the session has its history, and an ended task takes no command', async () => {
    const types: string[] = []
    for await (const { type } of at.system.client.watch('one')) types.push(type)
    expect([types[0], types.at(-1)]).toEqual(['task_submitted', 'task_completed'])
    const { sessions } = at.system.client
    expect((await sessions.getVisibleHistory('talk')).map(({ content }) => content)).toEqual([
      'read it',
      'answer to read it',
      'read again',
      'answer to read again',
    ])
    const records = []
    for await (const event of sessions.getEventRecords('talk')) records.push(event.task_id)
    expect(new Set(records)).toEqual(new Set(['one', 'two']))
    await expect(at.system.client.cancel('one', 'too late')).rejects.toMatchObject({ code: 'conflict' })
    await expect(at.system.client.steer('one', 'too late')).rejects.toMatchObject({ code: 'conflict' })
    await expect(at.system.client.retry('one')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('goes on: a new task sees the history, and is archived later without a second copy of what is archived', async () => {
    await at.tasks(['three', 'talk', 'read more'])
    const asked = at.system.provider.requests.at(-1)
    expect(JSON.stringify(asked)).toContain('answer to read again')
    const later = await archive(at)
    expect(later.tasks).toEqual(['three'])
    expect(later.removed).toBeGreaterThan(0)
    expect(JSON.parse((await at.beaver('check', '--export', later.file, '--json')).out)).toMatchObject({ ok: true })
    expect(await archive(at)).toMatchObject({ tasks: [], removed: 0, left: 0 })
    await at.projected()
    expect(await checked(at)).toMatchObject({ ok: true })
    expect(await at.journal()).toEqual([])
  })

  it('does not hide a message that is lost, in another log or in its own', async () => {
    await at.tasks(['later', 'new', 'read all'])
    const lost = (await at.messagesOf(at.logOf('later', 'new')))[1]!
    await at.jsm.streams.deleteMessage(at.system.subjects.stream, lost, false)
    const started = performance.now()
    await until('the loss is told', async () => (await at.journal()).some(({ kind, harmful }) => kind === 'messages_missing' && harmful), { everyMs: 20 })
    expect(performance.now() - started).toBeLessThan(10_000)
    await until('the daemon writes nothing', async () => isRefused(at), { everyMs: 100 })
    expect(await checked(at)).toMatchObject({ ok: false, broken: { stream_gap: 1 } })
    expect((await at.journal())[0]!.message).toContain('has 1 message less')
  })
})

describe('an archive that is interrupted', () => {
  let at: ArchiveScene
  let copied: Archived
  const log = { tenant: 'local', session: 's', task: 'one' } as LogId
  let all: readonly number[]
  beforeAll(async () => {
    at = await archiveScene(server, host)
    await at.tasks(['one', 's', 'read it'], ['two', 's', 'read that'])
    all = await at.messagesOf(log)
  })
  afterAll(() => at[Symbol.asyncDispose]())
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
    const [event] = await eventsFor(at, copied, [log])
    const [part] = event!.data.logs
    const first = { ...part!, sequences: part!.sequences.slice(0, 1), payloads: part!.payloads.slice(0, 1) }
    const entries = []
    for await (const entry of at.reader.entries(log)) entries.push(entry)
    const { taskseq, epoch, hash } = splitBatch(entries[1]!.payload).at(-1)!
    const named = { ...event!, data: { ...event!.data, logs: [{ ...first, end: { taskseq, epoch, hash } }] } }
    await appendSystemEvents(at.ports.log, 'redactions', [named], { source: '/beaver/operator', now: () => Date.now(), ...(await operatorSigner(at.ports)) })
    expect((await at.archived()).size).toBe(1)
    await sound()
    await at.jsm.streams.deleteMessage(at.system.subjects.stream, all[1]!, false)
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
    await appendSystemEvents(at.ports.log, 'redactions', events, { source: '/beaver/operator', now: () => Date.now(), ...(await operatorSigner(at.ports)) })
    const places = await at.messagesOf(two)
    for (const place of places.slice(1, 3)) await at.jsm.streams.deleteMessage(at.system.subjects.stream, place, false)
    await sound()
    await at.restartProjector({ anew: true })
    await sound()
    const left = await archive(at)
    expect(left.removed).toBeGreaterThan(0)
    expect(left).toMatchObject({ left: 0, exit: 0, kept: null })
    expect(await at.messagesOf(two)).toEqual([places[0], places.at(-1)])
    expect(await at.messagesOf(log)).toEqual([all[0], all.at(-1)])
    await sound()
    expect(await archive(at)).toMatchObject({ removed: 0, left: 0 })
  })

  it('does not hide a message that is lost while named messages are still there', async () => {
    await at.tasks(['three', 't', 'read on'], ['four', 'u', 'read off'])
    const three = { tenant: 'local', session: 't', task: 'three' } as LogId
    const copy = await archive(at, '--copy')
    await appendSystemEvents(at.ports.log, 'redactions', await eventsFor(at, copy, [three]), {
      ...{ source: '/beaver/operator', now: () => Date.now() },
      ...(await operatorSigner(at.ports)),
    })
    const lost = (await at.messagesOf({ tenant: 'local', session: 'u', task: 'four' } as LogId))[1]!
    await at.jsm.streams.deleteMessage(at.system.subjects.stream, lost, false)
    await until('the loss is told', async () => (await at.journal()).some(({ kind }) => kind === 'messages_missing'), { everyMs: 20 })
    await until('the daemon writes nothing', async () => isRefused(at), { everyMs: 100 })
    // As many messages are missing as are named, and more are named than are missing: still it is told.
    await archive(at).catch(() => {})
    expect((await at.journal()).some(({ kind }) => kind === 'messages_missing')).toBe(true)
    expect(await checked(at)).toMatchObject({ ok: false, broken: { stream_gap: 1 } })
    // The operator accepts the one loss. What an archive removes later is not hidden by this, and hides nothing.
    expect(await at.beaver('audit', 'accept', '--reason', 'it is lost')).toMatchObject({ exit: 0 })
    await until('the journal is accepted', async () => (await at.journal()).length === 0, { everyMs: 50 })
    const another = (await at.messagesOf({ tenant: 'local', session: 'u', task: 'four' } as LogId))[1]!
    await at.jsm.streams.deleteMessage(at.system.subjects.stream, another, false)
    await until('the next loss is told', async () => (await at.journal()).some(({ kind }) => kind === 'messages_missing'), { everyMs: 20 })
  })
})

describe('an export of a journal with an archive', () => {
  let at: ArchiveScene
  let lines: string[]
  let log: string
  beforeAll(async () => {
    at = await archiveScene(server, host)
    await at.tasks(['one', 's', 'read it'], ['two', 's', 'read that'])
    await archive(at)
    await at.projected()
    const out = join(at.system.workspace, 'whole.ndjson')
    await at.beaver('audit', 'export', '--out', out)
    lines = (await readFile(out, 'utf8')).trimEnd().split('\n')
    log = at.system.subjects.events(at.logOf('one', 's'))
  })
  afterAll(() => at[Symbol.asyncDispose]())
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
    const accepted = `"subject":"${at.system.subjects.accepted(at.logOf('one', 's'))}"`
    expect(await verified(lines.filter((line) => !line.includes(accepted)))).toMatchObject({
      ok: false,
      broken: { stream_gap: 1, taskseq: expect.any(Number) },
    })
  })

  it('is red if the events of the archive are gone, or one of their hashes is changed', async () => {
    const isEvent = (line: string): boolean => line.includes('messages_archived')
    expect(await verified(lines.filter((line) => !isEvent(line)))).toMatchObject({ ok: false, broken: { stream_gap: expect.any(Number), taskseq: 2 } })
    const changed = lines.map((line) =>
      isEvent(line) ? line.replace(/payloads\\":\[\\"./, (text) => `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`) : line,
    )
    expect(changed).not.toEqual(lines)
    expect(await verified(changed)).toMatchObject({ ok: false, broken: { hash: 1, stream_gap: expect.any(Number) } })
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
    expect(await verified(lines.toSpliced(at1, 0, forged))).toMatchObject({ ok: false, broken: { archive: 1, checkpoint: expect.any(Number) } })
  })
})
