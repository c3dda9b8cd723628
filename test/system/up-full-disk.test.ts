// `beaver up` whose nats-server could not write for a while: it goes on by itself. A limit on the size of
// files stands for the full disk: the server keeps the error of the failed write, and refuses every further
// one, just as after a full disk. It needs no rights.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { expect, it, onTestFinished } from 'vitest'
import { noGateway, runBeaver, startBeaver } from '../support/cli.ts'

const tools = JSON.parse(
  readFileSync(new URL('../../.beaver/tools/paths.json', import.meta.url), 'utf8'),
) as { natsServer: string }

/** The process of the server itself: its parent is a shell that ends it. */
function serverIn(home: string): string {
  const [, pid = ''] =
    /_(\d+)\.ports$/.exec(
      readdirSync(join(home, 'nats', 'ports')).find((name) => name.endsWith('.ports')) ?? '',
    ) ?? []
  return pid
}

it('starts the nats-server again that refuses every write although there is room, and the task that waited completes', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'beaver-full-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const home = join(cwd, 'home')
  writeFileSync(join(cwd, 'beaver.config.json'), JSON.stringify(noGateway))
  const place = { cwd, env: { BEAVER_HOME: home, BEAVER_NATS_SERVER: tools.natsServer } }
  await using up = startBeaver(['up'], place)
  await until('the system is up', () => up.out.includes('Ctrl-C stops everything'))
  const log = join(home, 'nats', 'nats-server.log')
  const status = await runBeaver(['status'], place)
  expect(status).toMatchObject({ exit: 0, out: expect.stringContaining(`log ${log}\n`) as string })
  // The log is smaller than the limit, so that the server can say that a write failed, and the messages take
  // more.
  for (const taskId of ['task_1', 'task_2'])
    await runBeaver(['run', '-q', 'Say hello', '--task-id', taskId], place)
  const full = serverIn(home)
  execFileSync('prlimit', ['--pid', full, '--fsize=8192:'])
  const submitted = runBeaver(['submit', 'Say hello', '--task-id', 'task_waits'], place)
  await until('a write has failed', () => readFileSync(log, 'utf8').includes('file too large'))
  execFileSync('prlimit', ['--pid', full, '--fsize=unlimited:'])
  await until('it is told', () =>
    up.err.includes(
      'The nats-server refuses every write since one failed (file too large), and there is room again.',
    ),
  )
  await until('the server runs again', () => /nats-server +runs again/.test(up.out))
  expect(serverIn(home)).not.toBe(full)
  await submitted
  // The same id is the same task.
  const waited = await runBeaver(['run', '-q', 'Say hello', '--task-id', 'task_waits'], place)
  expect(waited).toMatchObject({ exit: 0, out: expect.stringContaining('simulated model') as string })
})
