// `beaver archive` is killed at each of its steps, again and again: nothing is lost, nobody is alarmed, and
// the next archive completes it.
import { readdir } from 'node:fs/promises'
import type { LogId } from '@beaver/core'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { archive, archiveScene, checked, isRefused } from '../support/archive-scene.ts'
import { commandHost, placeIn, startBeaver } from '../support/cli.ts'
import { testServer, type TestServer } from '../support/nats.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 }) // many processes start

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())
const host = commandHost()
afterAll(() => host[Symbol.asyncDispose]())

it('an archive that is killed at any step is completed, and every state in between is sound', async () => {
  await using at = await archiveScene(server, host)
  const names = Array.from({ length: 12 }, (_, i) => [`t${i}`, `s${i}`, 'read it'] as const)
  await at.tasks(...names)
  const logs = names.map(([task, session]): LogId => at.logOf(task, session))
  const before = await Promise.all(logs.map((log) => at.messagesOf(log)))
  const events = async (): Promise<number> => (await at.ports.log.read('redactions')).length
  const deleted = async (): Promise<number> =>
    (await at.jsm.streams.info(at.system.subjects.stream)).state.num_deleted ?? 0
  const files = async (): Promise<string[]> => await readdir(at.folder).catch(() => [])
  const steps: readonly (readonly [name: string, reached: () => Promise<boolean>])[] = [
    ['the file is begun', async () => (await files()).length > 0],
    ['the file has its name', async () => (await files()).some((name) => name.endsWith('.ndjson'))],
    ['a task is recorded', async () => (await events()) > 0],
    ['some tasks are recorded', async () => (await events()) > 5],
    ['the messages are named', async () => (await at.archived()).size > 0],
    ['something is deleted', async () => (await deleted()) > 0],
    ['more is deleted', async () => (await deleted()) > 20],
  ]
  for (const [name, reached] of steps) {
    await using command = startBeaver(
      ['archive', '--before', '0s', '--out', at.folder],
      placeIn(server, at.system, { BEAVER_HOME: at.home, BEAVER_KEYS: at.keys }),
    )
    let over = false
    void command.ended.then(() => (over = true))
    await until(name, async () => over || (await reached()), { everyMs: 1 })
    command.kill('SIGKILL')
    await command.ended
    await at.projected()
    const { ok, broken } = await checked(at)
    expect({ name, journal: await at.journal(), ok, broken, refused: await isRefused(at) }).toEqual({
      name,
      journal: [],
      ok: true,
      broken: {},
      refused: false,
    })
  }
  const last = await archive(at)
  expect(last).toMatchObject({ left: 0, exit: 0, kept: null })
  for (const [i, log] of logs.entries())
    expect(await at.messagesOf(log)).toEqual([before[i]![0], before[i]!.at(-1)])
  await at.projected()
  expect(await checked(at)).toMatchObject({ ok: true, broken: {} })
  expect(await at.journal()).toEqual([])
})
