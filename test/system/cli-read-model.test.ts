// The commands that look, in a home in which nothing runs: its read model answers, and they say so.
import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { natsServerBinary } from '../support/nats.ts'
import { runBeaver } from '../support/cli.ts'

it('tasks, show, timeline and sessions answer from the read model and say so; status and the rest need a system', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'beaver-kept-'))
  const home = join(folder.path, 'home')
  const beaver = (...args: readonly string[]) => runBeaver(args, { cwd: folder.path, env: { BEAVER_HOME: home, BEAVER_NATS_SERVER: natsServerBinary() } })
  const away = { exit: 3, out: '', err: expect.stringContaining(`No Beaver system is running with its data in ${home}.`) as string }
  expect(await beaver('tasks')).toEqual(away) // There is no read model yet.

  for (const id of ['one', 'two']) expect(await beaver('run', '--up', '-q', `Say ${id}`, '--task-id', id)).toMatchObject({ exit: 0 })

  const kept = {
    exit: 0,
    err: expect.stringMatching(/^Nothing runs here now\. This is what .*projection-default\.db had at .*: the journal up to message \d+\./) as string,
  }
  expect(await beaver('tasks')).toEqual({ ...kept, out: expect.stringMatching(/^two +completed .*\none +completed /m) as string })
  expect(JSON.parse((await beaver('tasks', '--json')).out)).toMatchObject({ tasks: [{ task_id: 'two' }, { task_id: 'one' }] })
  const shown = await beaver('show', 'latest')
  expect(shown).toEqual({ ...kept, out: expect.stringMatching(/^Task +two\n/) as string })
  expect(shown.out).toMatch(/Record +not verified\n  It could not be compared with the journal: nothing runs that could read the journal\./)
  expect(await beaver('timeline', 'one')).toEqual({ ...kept, out: expect.stringContaining('Task completed.') as string })
  expect(await beaver('session', 'latest')).toEqual({ ...kept, out: expect.stringMatching(/^You +Say two/m) as string })
  expect(await beaver('show', 'three')).toMatchObject({ exit: 1, err: expect.stringContaining('There is no task "three".') as string })

  for (const args of [['status'], ['audit'], ['watch', 'one'], ['cancel', 'one']]) expect(await beaver(...args)).toEqual(away)

  using db = new DatabaseSync(join(home, 'projection-default.db'))
  db.exec('pragma user_version = 1')
  expect(await beaver('tasks')).toEqual(away) // Another version wrote it.
})

it('a server that does not answer is no reason to read a file: tasks and status end alike', async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'beaver-kept-'))
  const place = { cwd: folder.path, env: { BEAVER_HOME: join(folder.path, 'home'), NATS_URL: 'nats://127.0.0.1:1' } }
  for (const command of ['tasks', 'status']) expect(await runBeaver([command], place)).toMatchObject({ exit: 3 })
})
