// `beaver archive` on a real system: the checked file that it writes of sessions that have ended, what it
// removes from the journal, and what every reader says afterwards. Its scene has tasks of every kind: teams,
// approvals, blobs, waits, a cancel, a takeover, a session, a text that steers.
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isTerminalTaskEvent } from '@beaver/core'
import { foldTask } from '@beaver/core/fold'
import type { RecordedEvent } from '@beaver/core/journal'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
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
import { testServer, type TestServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'
import { recordedConfig, recordTasks } from '../support/recorded-journal.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 }) // many commands run

let server: TestServer
let at: ArchiveScene
let done: Archived
/**
 * Every task that has ended, as the read model and the command had it before the archive, and where its
 * messages were.
 */
const before = new Map<
  string,
  {
    readonly session: string
    readonly status: string
    readonly shown: Record<string, unknown>
    readonly messages: readonly number[]
  }
>()
const shownAs = async (task: string, ...more: string[]) =>
  JSON.parse((await at.beaver('show', task, '--json', ...more)).out) as Record<string, unknown>

beforeAll(async () => {
  server = await testServer()
  at = await archiveScene(server, await keptCommands(), { config: recordedConfig, record: recordTasks })
  await at.tasks(['first', 'chat', 'read it'], ['second', 'chat', 'read again'], ['ended', 'open', 'say it'])
  await at.system.client.submit({ task: 'wait', task_id: 'waits', session_id: 'open' })
  await at.projected()
  for (const { task_id, session_id: session, status } of (
    await at.system.client.query('tasks', { limit: 200 })
  ).tasks)
    if (session !== 'open')
      before.set(task_id, {
        session,
        status,
        shown: await shownAs(task_id),
        messages: await at.messagesOf(at.logOf(task_id, session)),
      })
})
afterAll(async () => {
  await at[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

it('writes sessions that have ended to a checked file, and tells where it is; open sessions stay', async () => {
  expect((await at.beaver('archive', '--before', 'soon')).err).toContain('--before "soon" is not a time')
  expect((await at.beaver('archive', '--before', '1d', '--out', at.folder)).out).toContain(
    'No session ended before',
  )
  const archived = await archive(at)
  done = archived
  expect(archived).toMatchObject({ left: 0, kept: null, exit: 0 })
  expect(done.tasks.toSorted()).toEqual([...before.keys()].toSorted())
  expect(await readdir(at.folder)).toEqual([done.file.slice(at.folder.length + 1)])
  const hash = createHash('sha256').update(await readFile(done.file))
  expect(hash.digest('hex')).toBe(done.sha256)
  const { ok, summary } = JSON.parse((await at.beaver('check', '--export', done.file, '--json')).out) as {
    ok: boolean
    summary: Record<string, number>
  }
  expect({ ok, tasks: summary['tasks'], hasBlobs: summary['blobs_verified']! > 0 }).toEqual({
    ok: true,
    tasks: before.size,
    hasBlobs: true,
  })
})

it('keeps the first and the last message of each task in the journal, and no other one', async () => {
  for (const [task, { session, messages }] of before)
    expect({ task, left: await at.messagesOf(at.logOf(task, session)) }).toEqual({
      task,
      left: [messages[0], messages.at(-1)],
    })
  expect(done.removed).toBe([...before.values()].reduce((sum, { messages }) => sum + messages.length - 2, 0))
  expect((await at.jsm.streams.info(at.system.subjects.stream)).state.num_deleted).toBe(done.removed)
})

it('every kind of task is read, folded and shown as before, and the file answers as the running system did', async () => {
  await at.projected()
  for (const [task_id, { status, shown: whole }] of before) {
    const events: RecordedEvent[] = []
    for await (const event of at.system.client.watch(task_id)) events.push(event)
    expect([
      events[0]?.type,
      isTerminalTaskEvent(events.at(-1)?.type ?? ''),
      foldTask(events).status,
    ]).toEqual(['task_submitted', true, status])
    const shown = await shownAs(task_id)
    expect(shown).toMatchObject({
      task: { task_id, status, last_taskseq: (whole['task'] as { last_taskseq: number }).last_taskseq },
      chain_ok: true,
    })
    expect(shown['record']).toMatchObject({ state: 'verified' })
    expect([shown['final_output'], shown['outputs']]).toEqual([whole['final_output'], whole['outputs']])
    const fromFile = await shownAs(task_id, '--from', done.file)
    for (const part of [
      'task',
      'runs',
      'teams',
      'approvals',
      'final_output',
      'outputs',
      'failures',
      'chain_ok',
    ])
      expect({ task_id, part, is: fromFile[part] }).toEqual({ task_id, part, is: whole[part] })
    for (const command of ['events', 'timeline']) expect((await at.beaver(command, task_id)).exit).toBe(0)
  }
})

it('is no harm to the watch of the daemon and of the projector, and is named in the record of each task', async () => {
  expect(await at.journal()).toEqual([])
  const { archives, task, chain_ok } = await at.system.client.query('task', { task_id: 'second' })
  expect(archives).toMatchObject([{ file: done.file, sha256: done.sha256, hash: task.head_hash }])
  expect(chain_ok).toBe(true)
  const shown = (await at.beaver('show', 'first')).out
  expect(shown).toContain('verified:')
  expect(shown).toContain(`Archive    ${done.file}, SHA-256 ${done.sha256.slice(0, 16)}`)
})

it('passes the check with its read model, and the audit with its checkpoints, also from a read model that is built anew', async () => {
  expect(await checked(at)).toMatchObject({ ok: true, broken: {}, projection: { compared: true } })
  expect((await checked(at)).notes.map(({ message }) => message)).toContainEqual(
    expect.stringContaining(done.file),
  )
  expect(await audited(at)).toMatchObject({ ok: true, broken: {} })
  await at.restartProjector({ anew: true })
  await at.projected()
  expect(await at.journal()).toEqual([])
  expect(await checked(at)).toMatchObject({ ok: true, projection: { compared: true } })
  expect(await audited(at)).toMatchObject({ ok: true })
  expect(await audited(at, 'first')).toMatchObject({ ok: true })
})

it('is in an export of the journal that passes offline, whole and in part', async () => {
  const out = join(at.system.workspace, 'whole.ndjson')
  expect(await at.beaver('audit', 'export', '--out', out)).toMatchObject({ exit: 0 })
  expect(await audited(at, '--offline', out)).toMatchObject({ ok: true, broken: {} })
  expect(JSON.parse((await at.beaver('check', '--export', out, '--json')).out)).toMatchObject({ ok: true })
  const part = join(at.system.workspace, 'part.ndjson')
  expect(await at.beaver('audit', 'export', 'first', '--out', part)).toMatchObject({ exit: 0 })
  expect(await audited(at, '--offline', part)).toMatchObject({ ok: true, broken: {} })
})

it('a task that is archived is shown with what is left, and whole from its file, without a running system', async () => {
  const [shown, events, timeline] = [
    await at.beaver('show', 'first'),
    await at.beaver('events', 'first'),
    await at.beaver('timeline', 'first'),
  ]
  for (const { out } of [shown, events, timeline]) {
    expect(out).toMatch(/\d+ events between the first and the last entry of this task are in the archive/)
    expect(out).toContain(done.sha256)
    expect(out).toContain(`events first --from ${done.file}`)
  }
  expect(shown.out).toContain('answer to read it')
  expect((await at.beaver('tasks', '--session', 'chat')).out).toMatch(/first .*completed.* archived /)
  expect(shown.out).not.toContain('read_file')
  const whole = await at.beaver('show', 'first', '--from', done.file)
  expect(whole).toMatchObject({ exit: 0, err: '' })
  expect(whole.out).toContain('verified:')
  expect(whole.out).not.toContain('are in the archive')
  const listed = (await at.beaver('events', 'first', '--from', done.file, '--json')).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; taskseq: number })
  expect(listed.map(({ taskseq }) => taskseq)).toEqual(listed.map((_, i) => i + 1))
  expect(listed.map(({ type }) => type)).toContain('tool_result_recorded')
  const [task] = (await at.system.client.query('tasks', { session_id: 'chat' })).tasks.filter(
    ({ task_id }) => task_id === 'first',
  )
  // The first and the last entry stay. The first one may have several events.
  expect(task?.archived_events).toBeGreaterThan(0)
  expect(task?.archived_events).toBeLessThanOrEqual(listed.length - 2)
  expect((await at.beaver('timeline', 'first', '--from', done.file)).out).toContain('read_file')
  // Nothing of the running system is asked.
  const alone = await (
    await keptCommands()
  ).run(['show', 'second', '--from', done.file], {
    cwd: at.system.workspace,
    env: { NATS_URL: 'nats://127.0.0.1:1', BEAVER_HOME: at.home },
  })
  expect(alone).toMatchObject({ exit: 0, out: expect.stringContaining('verified:') })
  expect(await at.beaver('show', 'first', '--from', join(at.system.workspace, 'none'))).toMatchObject({
    exit: 1,
    err: expect.stringContaining('There is no file'),
  })
  expect(await at.beaver('events', 'nobody', '--from', done.file)).toMatchObject({
    exit: 1,
    err: expect.stringContaining('There is no task'),
  })
})

it('a file that was changed does not pass the check, and shows its task as broken', async () => {
  const changed = join(at.system.workspace, 'changed.ndjson')
  await writeFile(
    changed,
    (await readFile(done.file, 'utf8')).replace('answer to read it', 'answer to forge it'),
  )
  expect(await at.beaver('check', '--export', changed)).toMatchObject({ exit: 1 })
  expect((await at.beaver('show', 'first', '--from', changed)).out).toContain('BROKEN')
})

it('has the ids of its tasks taken: the same request gets the same answer, another one is refused', async () => {
  const again = await at.system.client.submit({ task: 'read it', task_id: 'first', session_id: 'chat' })
  expect(again).toMatchObject({ task_id: 'first', session_id: 'chat' })
  await expect(
    at.system.client.submit({ task: 'something else', task_id: 'first', session_id: 'chat' }),
  ).rejects.toMatchObject({ code: 'conflict' })
})

it('is read by clients: a watch ends, the session has its history, and an ended task takes no command', async () => {
  const types: string[] = []
  for await (const { type } of at.system.client.watch('first')) types.push(type)
  expect([types[0], types.at(-1)]).toEqual(['task_submitted', 'task_completed'])
  const { sessions } = at.system.client
  expect((await sessions.getVisibleHistory('chat')).map(({ content }) => content)).toEqual([
    'read it',
    'answer to read it',
    'read again',
    'answer to read again',
  ])
  const records = []
  for await (const event of sessions.getEventRecords('chat')) records.push(event.task_id)
  expect(new Set(records)).toEqual(new Set(['first', 'second']))
  await expect(at.system.client.cancel('first', 'too late')).rejects.toMatchObject({ code: 'conflict' })
  await expect(at.system.client.steer('first', 'too late')).rejects.toMatchObject({ code: 'conflict' })
  await expect(at.system.client.retry('first')).rejects.toMatchObject({ code: 'conflict' })
})

it('a session goes on: a new task sees the history, and is archived later without a second copy of what is archived', async () => {
  await at.tasks(['third', 'chat', 'read more'])
  expect(JSON.stringify(at.system.provider.about('read more').at(-1))).toContain('answer to read again')
  const later = await archive(at)
  expect(later.tasks).toEqual(['third'])
  expect(later.files).toEqual([{ file: later.file, sha256: later.sha256, sessions: 1, tasks: 1 }])
  expect(later.removed).toBeGreaterThan(0)
  expect(JSON.parse((await at.beaver('check', '--export', later.file, '--json')).out)).toMatchObject({
    ok: true,
  })
  expect(await archive(at)).toMatchObject({ tasks: [], removed: 0, left: 0 })
  expect(await readdir(at.folder)).toHaveLength(2)
  await at.projected()
  expect(await checked(at)).toMatchObject({ ok: true })
  expect(await at.journal()).toEqual([])
})

it('removed messages while the projector was away: the read model is built again, and none is compared before', async () => {
  await at.tasks(['away', 's', 'read it'], ['kept', 't', 'read that'])
  const log = at.logOf('away', 's')
  const copy = await archive(at, '--copy')
  await at.projected()
  await at.stopProjector()
  const places = await at.messagesOf(log)
  await writeRedactions(at, await eventsFor(at, copy, [log]))
  for (const place of places.slice(1, -1))
    await at.jsm.streams.deleteMessage(at.system.subjects.stream, place, false)
  expect(await checked(at)).toMatchObject({
    ok: true,
    projection: { compared: false, reason: expect.stringContaining('archived last') },
  })
  await at.restartProjector()
  await at.projected()
  expect(await at.journal()).toEqual([])
  expect(await checked(at)).toMatchObject({ ok: true, broken: {}, projection: { compared: true } })
  expect((await at.beaver('show', 'away')).out).toContain('verified:')
  expect(await isRefused(at)).toBe(false)
  await archive(at)
})

it('takes no task of a session that has not ended, whatever the read model says', async () => {
  await at.projected()
  const file = (await readdir(at.home)).find((name) => /^projection-.*\.db$/.test(name))!
  const there = await readdir(at.folder)
  {
    using db = new DatabaseSync(join(at.home, file), { timeout: 5_000 })
    db.exec("update tasks set status = 'completed', ended_at = submitted_at where session_id = 'open'")
  }
  const refused = await at.beaver('archive', '--before', '0s', '--out', at.folder)
  expect(refused).toMatchObject({
    exit: 1,
    out: expect.stringContaining(
      'The read model says that the task waits has ended, and the journal does not',
    ),
  })
  expect(refused.out).toContain('No session ended before')
  expect(await readdir(at.folder)).toEqual(there)
  await at.restartProjector({ anew: true })
})

it('on a stream of an earlier version is a copy, and says why', async () => {
  await at.tasks(['early', 'u', 'read it'])
  await at.jsm.streams.update(at.system.subjects.stream, { deny_delete: true })
  expect(await at.journal()).toEqual([])
  expect(await archive(at)).toMatchObject({
    tasks: ['early'],
    removed: 0,
    kept: expect.stringContaining('deny_delete'),
    exit: 0,
  })
  expect((await at.beaver('check', '--json')).exit).toBe(0)
})
