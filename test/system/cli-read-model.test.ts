// The commands that look, in a home in which nothing runs: its read model answers, and they say so.
import { mkdtempDisposableSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { natsServerBinary } from '../support/nats.ts'
import { runBeaver } from '../support/cli.ts'

it('tasks, show, timeline and sessions answer from the read model and say so; status and the rest need a system', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'beaver-kept-'))
  const home = join(folder.path, 'home')
  const beaver = (...args: readonly string[]) =>
    runBeaver(args, { cwd: folder.path, env: { BEAVER_HOME: home, BEAVER_NATS_SERVER: natsServerBinary() } })
  const away = {
    exit: 3,
    out: '',
    err: expect.stringContaining(`No Beaver system is running with its data in ${home}.`) as string,
  }
  expect(await beaver('tasks')).toEqual(away) // There is no read model yet.

  expect(await beaver('run', '--up', '-q', 'Say one', '--task-id', 'one')).toMatchObject({ exit: 0 })
  expect(
    await beaver('run', '--up', '-q', 'Say two', '--task-id', 'two', '--session', 'latest'),
  ).toMatchObject({ exit: 0 })

  const file = join(home, 'projection-default.db')
  const lastWeek = new Date('2026-11-20T12:00:00')
  utimesSync(file, lastWeek, lastWeek)
  const told =
    /^Beaver does not run here now\. This is what it knew at 2026-11-20 12:00, from .*projection-default\.db\./
  const kept = { exit: 0, err: expect.stringMatching(told) as string }
  expect(await beaver('tasks')).toEqual({
    ...kept,
    out: expect.stringMatching(/^two +completed .*\none +completed /m) as string,
  })
  expect(JSON.parse((await beaver('tasks', '--json')).out)).toMatchObject({
    tasks: [
      { task_id: 'two', session_id: 'one' },
      { task_id: 'one', session_id: 'one' },
    ],
  })
  const shown = await beaver('show', 'latest')
  expect(shown).toEqual({ ...kept, out: expect.stringMatching(/^Task +two\n/) as string })
  expect(shown.out).toMatch(
    /Record +not verified\n  It could not be compared with the journal\. Beaver does not run, so nothing reads the journal\./,
  )
  expect(await beaver('timeline', 'one')).toEqual({
    ...kept,
    out: expect.stringContaining('Task completed.') as string,
  })
  expect(await beaver('session', 'latest')).toEqual({
    ...kept,
    out: expect.stringMatching(/^You +Say two/m) as string,
  })
  expect(await beaver('show', 'three')).toMatchObject({
    exit: 1,
    err: expect.stringMatching(/There is no task "three"\. "beaver tasks" lists the tasks\.\n$/) as string,
  })

  for (const args of [['status'], ['audit'], ['watch', 'one'], ['cancel', 'one']])
    expect(await beaver(...args)).toEqual(away)

  const unreadable =
    /^Beaver does not run here now(, and its read model cannot be read: .*Start Beaver with "beaver up"\.|\. The read model .* is damaged: .* Delete the file while Beaver is stopped)/
  const refused = { exit: 3, out: '', err: expect.stringMatching(unreadable) as string }
  const pages = readFileSync(file)
  const damaged = Buffer.concat([pages.subarray(0, 4_096), Buffer.alloc(pages.length - 4_096, 1)])
  for (const content of [damaged, Buffer.alloc(0), Buffer.from('no database')]) {
    writeFileSync(file, content)
    expect(await beaver('tasks')).toEqual(refused)
  }
  writeFileSync(file, pages)
  using db = new DatabaseSync(file)
  db.exec('pragma user_version = 1')
  expect(await beaver('tasks')).toEqual({
    ...refused,
    err: expect.stringContaining('it has version 1, and this Beaver reads') as string,
  })
}, 240_000)

it('a server that does not answer is no reason to read a file: tasks and status end alike', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'beaver-kept-'))
  const place = {
    cwd: folder.path,
    env: { BEAVER_HOME: join(folder.path, 'home'), NATS_URL: 'nats://127.0.0.1:1' },
  }
  for (const command of ['tasks', 'status'])
    expect(await runBeaver([command], place)).toMatchObject({ exit: 3 })
})
