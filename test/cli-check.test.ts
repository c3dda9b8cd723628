// `beaver check` and `beaver export` as people and scripts use them: programs, on a real system with a projector.
import { readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandHost, placeIn, type Ran } from './support/cli.ts'
import { say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { type TestSystem, testSystem } from './support/system.ts'

let server: TestServer
let system: TestSystem
let projector: Awaited<ReturnType<typeof projectorProcess>>
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server)
  projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
  system.provider.answerBy(({ text, results }) => (text === 'loop' && results.length === 0 ? use(['echo', { text: 'a' }]) : say(`answer to ${text}`)))
  await system.daemon()
  for (const task of ['loop', 'talk']) await system.client.submit({ task, task_id: task, session_id: 's' })
  await system.ended('talk')
  const talk = async (): Promise<boolean> => (await system.client.query('task', { task_id: 'talk' })).task.status === 'completed'
  await until('the projector has it', () => talk().catch(() => false), { everyMs: 20 })
})
afterAll(async () => {
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const host = commandHost()
afterAll(() => host[Symbol.asyncDispose]())
const beaver = (...args: readonly string[]): Promise<Ran> => host.run(args, placeIn(server, system, { BEAVER_HOME: projector.home }))

interface Answer {
  readonly ok: boolean
  readonly broken: Record<string, number>
  readonly summary: { readonly tasks: number; readonly events: number }
  readonly projection: { readonly compared: boolean; readonly sequence: number | null; readonly reason: string | null }
}
const answerOf = ({ out }: { out: string }): Answer => JSON.parse(out) as Answer

describe('beaver check', () => {
  it('says what it looked at, compares the read model of this home, and ends with 0', async () => {
    const { exit, out, err } = await beaver('check')
    expect([exit, err]).toEqual([0, ''])
    expect(out).toMatch(/Looked at {2}2 tasks \(0 open\), \d+ events in \d+ messages: messages 1 to \d+/)
    expect(out).toMatch(/Read model .*projection-.*compared with a rebuild up to message \d+/)
    expect(out).toMatch(/✔ No rule is broken \(\d+ rules, 2 tasks\)\.\n$/)
  })

  it('checks one task with its session, and knows of no other', async () => {
    const one = await beaver('check', '--task', 'talk', '--json')
    expect(one.exit).toBe(0)
    expect(answerOf(one)).toMatchObject({ ok: true, summary: { tasks: 2 }, projection: { compared: false } })
    const none = await beaver('check', '--task', 'nobody')
    expect([none.exit, none.err]).toEqual([1, expect.stringContaining('no task "nobody"')])
  })

  it('ends with 1 when the read model holds other rows than a rebuild', async () => {
    const db = new DatabaseSync(join(projector.home, `projection-${system.subjects.namespace}.db`), { timeout: 5_000 })
    const set = (tokens: number): unknown => db.prepare("update tasks set input_tokens = ? where task_id = 'talk'").run(tokens)
    const [{ tokens }] = db.prepare("select input_tokens as tokens from tasks where task_id = 'talk'").all() as [{ tokens: number }]
    set(99)
    const { exit, out } = await beaver('check')
    const without = answerOf(await beaver('check', '--no-projection', '--json'))
    set(tokens)
    db.close()
    expect(exit).toBe(1)
    expect(out).toMatch(/^projection +talk .*the table tasks differs from a rebuild: input_tokens is 99 and should be 10$/m)
    expect(out).toContain('✖ 1 rule is broken: projection 1.')
    expect(without).toMatchObject({ ok: true, broken: {}, projection: { compared: false } })
  })
})

describe('beaver export', () => {
  it('writes a file that is checked as the system is, with its read model, and shows what was changed in it', async () => {
    const file = join(system.workspace, 'journal.ndjson')
    const other = join(system.workspace, 'of somebody else')
    await writeFile(other, 'kept')
    await symlink(other, `${file}.partial`) // In a folder of many users, somebody may have put a link there.
    expect(await beaver('export', '--out', file)).toMatchObject({ exit: 0, err: '', out: expect.stringMatching(/journal\.ndjson: \d+ lines/) })
    expect([(await stat(file)).mode & 0o777, await readFile(other, 'utf8')]).toEqual([0o600, 'kept'])
    const model = join(projector.home, `projection-${system.subjects.namespace}.db`)
    const clean = answerOf(await beaver('check', '--export', file, '--projection', model, '--json'))
    expect(clean).toMatchObject({ ok: true, summary: { tasks: 2 }, projection: { compared: true } })
    const text = await readFile(file, 'utf8')
    expect((await beaver('export')).out.replace(/"exported_at":"[^"]+"/, '')).toBe(text.replace(/"exported_at":"[^"]+"/, ''))

    await writeFile(file, text.replace('answer to talk', 'answer to task'))
    const changed = await beaver('check', '--export', file)
    expect(changed.exit).toBe(1)
    expect(changed.out).toMatch(/^hash +talk +6 .*does not have the content that its hash says$/m)
  })

  it('is told from any other file', async () => {
    const other = join(system.workspace, 'other.json')
    await writeFile(other, '{}\n')
    expect(await beaver('check', '--export', other)).toMatchObject({ exit: 2, err: expect.stringContaining('not an export') })
    expect(await beaver('check', '--export', `${other}.none`)).toMatchObject({ exit: 1, err: expect.stringContaining('no file') })
  })
})
