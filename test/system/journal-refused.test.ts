// A daemon whose journal is not as it was: it writes nothing to it, says why, and goes on when somebody
// accepts the journal or puts it right.
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acceptableState, presentDaemons } from '@beaver/nats'
import { acceptancesFile } from '@beaver/platform'
import { until } from '@beaver/testing'
import { jetstreamManager } from '@nats-io/jetstream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { placeIn, type Ran } from '../support/cli.ts'
import { backUp, truncateStore } from '../support/broken-store.ts'
import type { DaemonProcess } from '../support/daemon.ts'
import { say } from '../support/fake-provider.ts'
import { ownServer, type OwnServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { testSystem, type TestSystem } from '../support/system.ts'

// The tests share a system, and what happens to its journal comes one after the other: each test leaves it
// accepted or put right, but for the last one.
let server: OwnServer
let system: TestSystem
let home: string
let daemon: DaemonProcess
let projector: ProjectorProcess
beforeAll(async () => {
  server = await ownServer({ sync: 'default' })
  system = await testSystem(server)
  system.provider.answerBy(() => say('done'))
  // The daemon writes in this folder until it ends, so the folder goes with the system and not with the
  // projector.
  home = join(system.workspace, '.beaver')
})
afterAll(async () => {
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** Runs a command of the CLI and gives what it printed. */
const beaver = async (...words: string[]): Promise<Ran> =>
  (await keptCommands()).run(words, placeIn(server, system, { BEAVER_HOME: home }))

/** Starts a projector, and waits until it has written its key and its first checkpoint. */
async function projected(): Promise<ProjectorProcess> {
  const started = await projectorProcess({
    url: server.url,
    namespace: system.subjects.namespace,
    home,
    config: { checkpoints: { every_ms: 1_000 } },
  })
  await until(
    'the projector has signed',
    async () => (await system.client.query('status').catch(() => null))?.checkpoints.last,
  )
  return started
}

const submitted = (taskId: string): Promise<unknown> =>
  system.client.run({ task: 'say done', task_id: taskId })
const accepts = (taskId: string): Promise<unknown> =>
  until('it accepts tasks', () => submitted(taskId).catch(() => false as const))
/** Every try is one more task until then, and the tests list all tasks. */
const refused = (): Promise<unknown> =>
  until(
    'it refuses tasks',
    () =>
      system.client.submit({ task: 'more' }).then(
        () => false as const,
        (error: { code?: string; message: string }) =>
          error.code === 'journal_changed' ? error.message : false,
      ),
    { everyMs: 200 },
  )
/** The tasks of the read model, newest first. */
const listed = async (): Promise<string[]> =>
  (await system.client.query('tasks', { limit: 200 })).tasks.map(({ task_id: id }) => id)
const events = (daemon: DaemonProcess): string[] =>
  daemon.stderr
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [(JSON.parse(line) as { event: string }).event] : []))
const lastSequence = async (): Promise<number> =>
  (await (await jetstreamManager(system.nc)).streams.info(system.subjects.stream)).state.last_seq

/**
 * Writes an acceptance of the journal as it is now into the home, without a signature. @returns a file with
 * the same
 */
async function forged(): Promise<string> {
  const { nc, subjects } = system
  const state = await acceptableState(nc, subjects)
  const acceptance = {
    id: 'forged',
    at: new Date().toISOString(),
    by: 'mallory',
    reason: 'x',
    ...state,
    findings: [],
  }
  await acceptancesFile(home, subjects.stream).write(`${JSON.stringify(acceptance)}\n`)
  const file = join(system.workspace, 'forged.json')
  await writeFile(file, JSON.stringify(acceptance))
  return file
}

/** `audit accept` in another home, which knows the operator and does not have its key. */
async function elsewhere(): Promise<(...words: string[]) => Promise<Ran>> {
  const other = join(system.workspace, 'other home')
  await cp(join(home, 'keys', 'operators'), join(other, 'keys', 'operators'), { recursive: true })
  const host = await keptCommands()
  return (...words) =>
    host.run(['audit', 'accept', ...words], placeIn(server, system, { BEAVER_HOME: other }))
}

describe('a daemon', () => {
  it('that starts on a journal which was rolled back meanwhile writes nothing, and one that was put right is written again', async () => {
    const before = await system.daemon({ BEAVER_HOME: home })
    await submitted('first')
    let [older, newer] = [async (): Promise<void> => {}, async (): Promise<void> => {}]
    await server.down(async () => void (older = await backUp(server.dataDir, 'older')))
    await accepts('second')
    before.kill('SIGTERM')
    await before.exited
    await server.down(async () => void (newer = await backUp(server.dataDir, 'newer')))
    await server.down(older)
    daemon = await system.daemon({ BEAVER_HOME: home })
    await refused()
    await server.down(newer)
    await accepts('third')
    expect(events(daemon)).toEqual(expect.arrayContaining(['journal_changed', 'journal_sound']))
  }, 120_000)

  it('whose journal may now drop entries writes nothing, and goes on when the setting is put back', async () => {
    const jsm = await jetstreamManager(system.nc)
    const { config } = await jsm.streams.info(system.subjects.stream)
    await jsm.streams.update(system.subjects.stream, {
      ...config,
      max_age: 3_600_000_000_000,
      duplicate_window: 1_000_000_000,
    })
    expect(await refused()).toMatch(/has the setting max_age=3600000000000/)
    await jsm.streams.update(system.subjects.stream, config)
    await accepts('fourth')
  })

  it('whose journal was rolled back writes nothing, says why, and goes on when the journal is accepted', async () => {
    projector = await projected()
    await submitted('kept')
    await until('the projector has seen it', async () => (await listed())[0] === 'kept')
    const before = await listed()
    let restore = async (): Promise<void> => {}
    await server.down(async () => void (restore = await backUp(server.dataDir)))
    for (const task of ['lost', 'lost too']) await accepts(task)
    await until('the projector has seen it', async () => (await system.client.query('status')).behind === 0)
    const told = events(daemon).length
    await server.down(restore)
    expect(await refused()).toMatch(
      /^The journal \S+ ends at message \d+, and it ended at message \d+ before\..*beaver audit accept/,
    )
    const end = await lastSequence()
    expect(events(daemon).slice(told)).toContain('journal_changed')
    expect(await presentDaemons(system.nc, system.subjects, { waitMs: 300, emptyMs: 20_000 })).toMatchObject([
      { journal_changed: expect.stringMatching(/^The journal/) as string },
    ])
    const doctor = await beaver('doctor')
    expect([doctor.exit, doctor.out]).toEqual([1, expect.stringMatching(/fail\s+journal\s+The journal/)])
    expect((await beaver('show', 'lost too')).out).toMatch(/Record\s+NOT VERIFIED: it is not as it was/)
    expect((await beaver('show', 'kept')).out).toMatch(/Record\s+NOT VERIFIED/)
    expect(await beaver('audit')).toMatchObject({
      exit: 1,
      out: expect.stringMatching(/lost too: The journal has no entry of the task/) as string,
    })
    expect(await lastSequence()).toBe(end)

    expect(await beaver('audit', 'accept')).toMatchObject({ exit: 2 })
    const unsigned = await forged()
    expect(await beaver('audit', 'accept', '--signed', unsigned)).toMatchObject({
      exit: 3,
      err: expect.stringContaining('does not count: it is not signed') as string,
    })
    expect((await beaver('audit')).out).toContain('by mallory does not count: it is not signed')
    await refused()
    // Where the operator's key is not, an acceptance is taken that the operator signed elsewhere.
    const withoutKey = await elsewhere()
    expect(await withoutKey('--reason', 'x')).toMatchObject({
      exit: 3,
      err: expect.stringContaining('Only the operator can accept a journal') as string,
    })
    const accepted = await beaver('audit', 'accept', '--reason', 'the disk was replaced', '--json')
    expect(accepted).toMatchObject({ exit: 0 })
    const file = join(system.workspace, 'accepted.json')
    await writeFile(file, accepted.out)
    expect(await withoutKey('--signed', file)).toMatchObject({
      exit: 0,
      out: expect.stringContaining('the disk was replaced') as string,
    })
    await accepts('after')
    await until(
      'the read model has it',
      async () => (await system.client.query('status')).behind === 0 && (await listed())[0] === 'after',
    )
    expect(await listed()).toEqual(['after', ...before])
    expect((await beaver('show', 'kept')).out).toMatch(/Record\s+verified: \d+ events/)
    expect(await beaver('audit')).toMatchObject({
      exit: 0,
      out: expect.stringContaining('the disk was replaced') as string,
    })
    expect(events(daemon).slice(told)).toContain('journal_accepted')
  }, 120_000)

  it.each(['stopped', 'killed'] as const)(
    'drives a task again that lost its end with a truncated block of a %s server, once that is accepted',
    async (how) => {
      const task = `cut ${how}`
      // The end of the task is the last message of the journal: nobody else writes into it meanwhile.
      process.kill(projector.pid, 'SIGSTOP')
      await submitted(task)
      const whole = (await system.events(task)).length
      await server.down(() => truncateStore(server.dataDir, system.subjects.stream, 40), how)
      await refused()
      expect((await system.events(task)).length).toBeLessThan(whole)
      process.kill(projector.pid, 'SIGCONT')
      expect(await beaver('audit', 'accept', '--reason', 'a power failure')).toMatchObject({ exit: 0 })
      const again = await system.ended(task, 60_000)
      expect(again.filter(({ type }) => type === 'task_completed')).toHaveLength(1)
      // The projector may still be at work.
      await until('it is verified', async () =>
        /Record\s+verified: \d+ events/.test((await beaver('show', task)).out),
      )
      await until('nothing is wrong', async () => (await beaver('audit')).exit === 0)
    },
    120_000,
  )

  it('whose journal was deleted and made anew writes nothing to the new one', async () => {
    await projector[Symbol.asyncDispose]()
    const jsm = await jetstreamManager(system.nc)
    const { config } = await jsm.streams.info(system.subjects.stream)
    await jsm.streams.delete(system.subjects.stream)
    await jsm.streams.add(config)
    expect(await refused()).toMatch(/Somebody deleted the stream and created it again/)
    // The write that met the new journal stands in it. None comes after it.
    expect(await lastSequence()).toBeLessThanOrEqual(1)
  })
})
