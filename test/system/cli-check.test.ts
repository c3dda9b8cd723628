// `beaver check` and `beaver export` as people and scripts use them, on a system with a projector.
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { type OperatedSystem, operatedSystem } from '../support/kept-system.ts'
import type { TestSystem } from '../support/system.ts'

let system: TestSystem
let beaver: OperatedSystem['beaver']
let model: string
let folder: string
beforeAll(async () => {
  const plain = await operatedSystem()
  ;({ system, beaver } = plain)
  model = plain.projector.file
  folder = await mkdtemp(join(tmpdir(), 'beaver-check-'))
  system.provider.answerBy(({ text, results }) =>
    text === 'loop' && results.length === 0 ? use(['echo', { text: 'a' }]) : say(`answer to ${text}`),
  )
  for (const task of ['loop', 'talk'])
    await system.client.submit({ task, task_id: `check-${task}`, session_id: 'check' })
  await system.ended('check-talk')
  const talk = async (): Promise<boolean> =>
    (await system.client.query('task', { task_id: 'check-talk' })).task.status === 'completed'
  await until('the projector has it', () => talk().catch(() => false), { everyMs: 20 })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

interface Answer {
  readonly ok: boolean
  readonly broken: Record<string, number>
  readonly summary: { readonly tasks: number; readonly events: number }
  readonly projection: {
    readonly compared: boolean
    readonly sequence: number | null
    readonly reason: string | null
  }
}
/** What an export says, apart from when it was made. A terminal gets some characters as escapes. */
const linesOf = (text: string): object[] =>
  text
    .trim()
    .split('\n')
    .map((line) => ({ ...(JSON.parse(line) as object), exported_at: '' }))
const answerOf = ({ out }: { out: string }): Answer => JSON.parse(out) as Answer

/** How many tasks the read model knows. */
async function known(): Promise<number> {
  const { by_status: tasks } = await system.client.query('status')
  return Object.values(tasks).reduce((sum, count) => sum + count, 0)
}

describe('beaver check', () => {
  it('says what it looked at, compares the read model of this home, and ends with 0', async () => {
    const { exit, out, err } = await beaver('check')
    expect([exit, err]).toEqual([0, ''])
    const tasks = await known()
    expect(out).toMatch(
      new RegExp(
        `Looked at {2}${tasks} tasks \\(\\d+ open\\), \\d+ events in \\d+ messages: messages 1 to \\d+`,
      ),
    )
    expect(out).toMatch(/Read model .*projection-.*compared with a rebuild up to message \d+/)
    expect(out).toMatch(new RegExp(`✔ No rule is broken \\(\\d+ rules, ${tasks} tasks\\)\\.\n$`))
  })

  it('checks one task with its session, and knows of no other', async () => {
    const one = await beaver('check', '--task', 'check-talk', '--json')
    expect(one.exit).toBe(0)
    expect(answerOf(one)).toMatchObject({ ok: true, summary: { tasks: 2 }, projection: { compared: false } })
    for (const typed of ['latest', 'check-ta'])
      expect(answerOf(await beaver('check', '--task', typed, '--json'))).toMatchObject({ ok: true })
    const none = await beaver('check', '--task', 'nobody')
    expect([none.exit, none.err]).toEqual([1, expect.stringContaining('no task "nobody"')])
  })

  it('ends with 1 when the read model holds other rows than a rebuild', async () => {
    using db = new DatabaseSync(model, { timeout: 5_000 })
    const set = (tokens: number): unknown =>
      db.prepare("update tasks set input_tokens = ? where task_id = 'check-talk'").run(tokens)
    const [{ tokens }] = db
      .prepare("select input_tokens as tokens from tasks where task_id = 'check-talk'")
      .all() as [{ tokens: number }]
    set(99)
    // The read model is the one of other files too.
    const [{ exit, out }, without] = await Promise.all([
      beaver('check'),
      beaver('check', '--no-projection', '--json'),
    ]).finally(() => set(tokens))
    expect(exit).toBe(1)
    expect(out).toMatch(
      /^projection +check-talk .*the table tasks differs from a rebuild: input_tokens is 99 and should be 10$/m,
    )
    expect(out).toContain('✖ 1 rule is broken: projection 1.')
    expect(answerOf(without)).toMatchObject({ ok: true, broken: {}, projection: { compared: false } })
  })
})

describe('beaver export', () => {
  it('writes a file that is checked as the system is, with its read model, and shows what was changed in it', async () => {
    const file = join(folder, 'journal.ndjson')
    const other = join(folder, 'of somebody else')
    await writeFile(other, 'kept')
    await symlink(other, `${file}.partial`) // In a folder of many users, somebody may have put a link there.
    expect(await beaver('export', '--out', file)).toMatchObject({
      exit: 0,
      err: '',
      out: expect.stringMatching(/journal\.ndjson: \d+ lines/),
    })
    expect([(await stat(file)).mode & 0o777, await readFile(other, 'utf8')]).toEqual([0o600, 'kept'])
    const clean = answerOf(await beaver('check', '--export', file, '--projection', model, '--json'))
    expect(clean).toMatchObject({
      ok: true,
      broken: {},
      summary: { tasks: await known() },
      projection: { compared: true },
    })
    const [latest, nobody] = await Promise.all([
      beaver('check', '--export', file, '--task', 'latest'),
      beaver('check', '--export', file, '--task', 'nobody'),
    ])
    expect([latest.exit, nobody.exit, nobody.err]).toEqual([
      0,
      1,
      expect.stringContaining('no task "nobody"'),
    ])
    const text = await readFile(file, 'utf8')
    expect(linesOf((await beaver('export')).out)).toEqual(linesOf(text))

    await writeFile(file, text.replace('answer to talk', 'answer to task'))
    const changed = await beaver('check', '--export', file)
    expect(changed.exit).toBe(1)
    expect(changed.out).toMatch(/^hash +check-talk +7 .*does not have the content that its hash says$/m)
  })

  it('is told from any other file', async () => {
    const other = join(folder, 'other.json')
    await writeFile(other, '{}\n')
    expect(await beaver('check', '--export', other)).toMatchObject({
      exit: 2,
      err: expect.stringContaining('not an export'),
    })
    expect(await beaver('check', '--export', `${other}.none`)).toMatchObject({
      exit: 1,
      err: expect.stringContaining('no file'),
    })
  })
})
