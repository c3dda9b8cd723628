// `beaver archive` of a journal with everything that Beaver does: teams, approvals, blobs, waits, a cancel, a takeover, a session, a text that steers.
import { foldTask, isTerminalTaskEvent, type RecordedEvent } from '@beaver/core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { archive, archiveScene, audited, checked } from './support/archive-scene.ts'
import { commandHost } from './support/cli.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { recordedConfig, recordTasks } from './support/recorded-journal.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 }) // many processes start

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())
const host = commandHost()
afterAll(() => host[Symbol.asyncDispose]())

it('every kind of task can be archived, read, folded and checked, and its file has all of it', async () => {
  await using at = await archiveScene(server, host, { config: recordedConfig, record: recordTasks })
  await at.projected()
  const { tasks } = await at.system.client.query('tasks', { limit: 200 })
  const before = new Map<string, Record<string, unknown>>()
  for (const { task_id } of tasks) before.set(task_id, JSON.parse((await at.beaver('show', task_id, '--json')).out) as Record<string, unknown>)
  const done = await archive(at)
  expect(done).toMatchObject({ left: 0, kept: null, exit: 0 })
  expect(done.tasks.toSorted()).toEqual(tasks.map(({ task_id }) => task_id).toSorted())
  await at.projected()
  expect(await at.journal()).toEqual([])
  expect(await checked(at)).toMatchObject({ ok: true, broken: {}, projection: { compared: true } })
  expect(await audited(at)).toMatchObject({ ok: true })
  expect(JSON.parse((await at.beaver('check', '--export', done.file, '--json')).out)).toMatchObject({ ok: true, summary: { tasks: tasks.length } })
  for (const { task_id, session_id, status } of tasks) {
    expect(await at.messagesOf(at.logOf(task_id, session_id))).toHaveLength(2)
    const events: RecordedEvent[] = []
    for await (const event of at.system.client.watch(task_id)) events.push(event)
    expect([events[0]?.type, isTerminalTaskEvent(events.at(-1)?.type ?? ''), foldTask(events).status]).toEqual(['task_submitted', true, status])
    const whole = before.get(task_id) ?? {}
    const shown = JSON.parse((await at.beaver('show', task_id, '--json')).out) as Record<string, unknown>
    expect(shown).toMatchObject({ task: { task_id, status, last_taskseq: (whole['task'] as { last_taskseq: number }).last_taskseq }, chain_ok: true })
    expect(shown['record']).toMatchObject({ state: 'verified' })
    expect([shown['final_output'], shown['outputs']]).toEqual([whole['final_output'], whole['outputs']])
    // The file answers as the running system did before.
    const fromFile = JSON.parse((await at.beaver('show', task_id, '--from', done.file, '--json')).out) as Record<string, unknown>
    for (const part of ['task', 'runs', 'teams', 'approvals', 'final_output', 'outputs', 'failures', 'chain_ok'])
      expect({ task_id, part, is: fromFile[part] }).toEqual({ task_id, part, is: whole[part] })
    for (const command of ['events', 'timeline']) expect((await at.beaver(command, task_id)).exit).toBe(0)
  }
})
