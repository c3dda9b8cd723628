// The real command beside a real system: what it says of one that works, and of each part that is taken away.
import { join } from 'node:path'
import { lineOf } from '@beaver/nats'
import { jetstreamManager } from '@nats-io/jetstream'
import { until } from '@beaver/testing'
import { expect, it, vi } from 'vitest'
import { refuse, say, use } from '../support/fake-provider.ts'
import { placeIn, type Ran } from '../support/cli.ts'
import { ownServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'
import { projectorProcess } from '../support/projector.ts'
import { testSystem } from '../support/system.ts'

vi.setConfig({ testTimeout: 90_000 }) // processes start, many times

interface Answer {
  readonly ok: boolean
  readonly daemons: readonly { daemon: string }[]
  readonly projector: { by_status: Record<string, number> } | null
  readonly waiting: readonly object[]
  readonly failed: readonly { failure: { class: string } }[]
  readonly findings: readonly { status: string; name: string; says: string }[]
}

it('says what works, what waits and what failed, and of each part that is taken away that it is gone', async () => {
  const host = await keptCommands()
  await using server = await ownServer()
  await using system = await testSystem(server, {
    permissions: { rules: [{ tool: 'write_file', decision: 'ask' }] },
  })
  const namespace = system.subjects.stream.slice('BEAVER_'.length)
  const beaver = (...args: readonly string[]): Promise<Ran> => host.run(args, placeIn(server, system))
  const status = async (): Promise<Answer & { exit: number | null }> => {
    const { exit, out } = await beaver('status', '--json')
    return { exit, ...(JSON.parse(out) as Answer) }
  }
  const wrong = ({ findings }: Answer): string[] => findings.map(({ status: how, name }) => `${how} ${name}`)

  const daemon = await system.daemon()
  const keysOfOperator = { BEAVER_KEYS: join(system.workspace, '.beaver', 'keys') }
  const projector = await projectorProcess({ url: server.url, namespace, env: keysOfOperator })
  system.provider.answerBy(({ text }) =>
    text.includes('please write')
      ? use(['write_file', { path: 'a.txt', content: 'a' }])
      : text.includes('fail')
        ? refuse(401, 'no such key')
        : say('42'),
  )
  const [good, bad, asking] = await Promise.all(
    ['go', 'fail', 'please write'].map((task) => system.client.submit({ task })),
  )
  await system.ended(good?.task_id ?? '')
  await system.ended(bad?.task_id ?? '')
  await system.reached(asking?.task_id ?? '', 'a person is asked', (events) =>
    events.some(({ type }) => type === 'approval_requested'),
  )

  await until('the projector has seen all', async () => {
    const { by_status: seen } = await system.client.query('status')
    const { tasks } = await system.client.query('tasks', { status: 'waiting_for_approval' })
    return seen['completed'] === 1 && seen['failed'] === 1 && tasks.length === 1
  })
  const sound = await status()
  expect(sound).toMatchObject({
    ok: true,
    exit: 0,
    daemons: [{ daemon: daemon.id }],
    projector: { by_status: { completed: 1, failed: 1 } },
  })
  expect(sound.waiting).toMatchObject([
    {
      task_id: asking?.task_id,
      waits_for: 'person',
      reason: expect.stringContaining('write_file') as string,
    },
  ])
  expect(sound.failed).toMatchObject([{ task_id: bad?.task_id, failure: { class: 'provider_refused' } }])
  expect(wrong(sound)).toEqual(['warn tasks'])
  const lines = daemon.stderr
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []))
  expect(
    lines.filter(({ task_id: id, event }) => id === bad?.task_id && event === 'task_ended'),
  ).toMatchObject([
    {
      level: 'warn',
      status: 'failed',
      failure_class: 'provider_refused',
      session_id: bad?.session_id,
      daemon: daemon.id,
    },
  ])
  expect(daemon.stderr).not.toContain('sk-test-')

  await projector[Symbol.asyncDispose]()
  expect(wrong(await status())).toEqual(['fail projector'])

  await (await jetstreamManager(system.nc)).streams.delete(system.subjects.stream)
  const deleted = await status()
  expect(deleted).toMatchObject({ ok: false, exit: 1 })
  expect(deleted.findings[0]).toMatchObject({
    status: 'fail',
    name: 'journal',
    says: expect.stringContaining('somebody deleted it') as string,
  })
  // No daemon is waited for, whose absence would have another code.
  await expect(system.client.submit({ task: 'anything' })).rejects.toMatchObject({ code: 'stream_missing' })
  await until('the daemon takes no requests', () =>
    system.client.status({ timeoutMs: 500 }).then(
      () => false,
      ({ code }: { code: string }) => code === 'no_daemon',
    ),
  )
  // It still says what it holds.
  const held = await beaver('status', '--actors', '--json')
  expect(JSON.parse(held.out)).toMatchObject({ ok: true, daemons: [{ daemon: daemon.id }], unanswered: [] })

  process.kill(server.pid, 'SIGKILL')
  await until('the server is gone', () => lineOf(system.nc).downMs > 0)
  expect((await beaver('status')).out).toContain('No NATS server answers')
  const unreachable = await beaver('submit', 'anything')
  expect([unreachable.exit, unreachable.err]).toEqual([3, expect.stringContaining('No NATS server answers')])
})
