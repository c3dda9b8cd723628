// `beaver archive` on a real system: a checked file of whole sessions, whose hash and heads are part of the record.
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { commandHost, placeIn, type Ran } from './support/cli.ts'
import { say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { type TestSystem, testSystem } from './support/system.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 }) // many processes start

let server: TestServer
let system: TestSystem
let projector: Awaited<ReturnType<typeof projectorProcess>>

beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, { permissions: { rules: [{ tool: 'write_file', decision: 'ask' }] } })
  projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
  await writeFile(join(system.workspace, 'large.txt'), 'A line of a large file.\n'.repeat(5_000))
  system.provider.answerBy(({ text, messages }) => {
    if (messages.at(-1)?.role === 'tool') return say('done')
    if (text.includes('write')) return use(['write_file', { path: 'a.txt', content: 'a' }])
    return text.includes('read') ? use(['read_file', { path: 'large.txt' }]) : say('done')
  })
  await system.daemon()
  await system.client.submit({ task: 'read it', task_id: 'one', session_id: 'talk' })
  await system.client.submit({ task: 'go on', task_id: 'two', session_id: 'talk' })
  await system.client.submit({ task: 'say it', task_id: 'first', session_id: 'open' })
  await system.client.submit({ task: 'write it', task_id: 'waits', session_id: 'open' })
  for (const task of ['one', 'two', 'first']) await system.ended(task)
  await until('the projector has all', async () => (await system.client.query('status').catch(() => null))?.by_status['completed'] === 3, { everyMs: 30 })
})
afterAll(async () => {
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const host = commandHost()
afterAll(() => host[Symbol.asyncDispose]())
const beaver = (...args: readonly string[]): Promise<Ran> =>
  host.run(args, placeIn(server, system, { BEAVER_HOME: projector.home, BEAVER_KEYS: join(system.workspace, '.beaver', 'keys') }))

it('writes sessions that have ended to a checked file, and tells where it is; open sessions stay', async () => {
  const folder = join(system.workspace, 'archive')
  expect((await beaver('archive', '--before', '1d', '--out', folder)).out).toContain('No session ended before')

  const archived = await beaver('archive', '--before', '0s', '--out', folder, '--json')
  expect(archived).toMatchObject({ exit: 0, err: '' })
  const { file, sha256, tasks } = JSON.parse(archived.out) as { file: string; sha256: string; tasks: string[] }
  expect(tasks).toEqual(['one', 'two'])
  expect(await readdir(folder)).toEqual([file.slice(folder.length + 1)])
  expect(
    createHash('sha256')
      .update(await readFile(file))
      .digest('hex'),
  ).toBe(sha256)
  expect(JSON.parse((await beaver('check', '--export', file, '--json')).out)).toMatchObject({ ok: true, summary: { tasks: 2, blobs_verified: 1 } })

  const { archives, task, chain_ok } = await until('the projector has it', async () => {
    // While the read model forgets what is archived, it has no tasks for a moment.
    const answer = await system.client.query('task', { task_id: 'two' }).catch(() => null)
    return answer?.archives.length === 1 && answer
  })
  expect(chain_ok).toBe(true)
  expect(archives).toMatchObject([{ file, sha256, hash: task.head_hash }])
  expect((await beaver('show', 'one')).out).toContain(`Archive    ${file}, SHA-256 ${sha256.slice(0, 16)}`)
  expect(JSON.parse((await beaver('check', '--json')).out)).toMatchObject({ ok: true })
  // The id stays taken, and what is archived is not archived again.
  await expect(system.client.submit({ task: 'another one', task_id: 'one', session_id: 'talk' })).rejects.toMatchObject({ code: 'conflict' })
  expect(await beaver('archive', '--before', '0s', '--out', folder)).toMatchObject({ exit: 0, out: expect.stringContaining('No session ended before') })
  expect(await readdir(folder)).toHaveLength(1)
})

it('finds a changed archive, and refuses a time that is none', async () => {
  const folder = join(system.workspace, 'archive')
  const [name = ''] = await readdir(folder)
  const text = await readFile(join(folder, name), 'utf8')
  await writeFile(join(folder, 'changed.ndjson'), text.replace('read it', 'rewrite'))
  expect(await beaver('check', '--export', join(folder, 'changed.ndjson'))).toMatchObject({ exit: 1 })
  expect((await beaver('archive', '--before', 'soon')).err).toContain('--before "soon" is not a time')
})
