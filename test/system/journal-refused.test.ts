// A daemon whose journal is not as it was: it writes nothing to it, says why, and goes on when somebody accepts the journal or puts it right.
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acceptableState, connectNats, presentDaemons } from '@beaver/nats'
import { acceptancesFile } from '@beaver/platform'
import { until } from '@beaver/testing'
import { jetstreamManager } from '@nats-io/jetstream'
import { afterEach, describe, expect, it } from 'vitest'
import { placeIn, type Ran } from '../support/cli.ts'
import { backUp, truncateStore } from '../support/broken-store.ts'
import type { DaemonProcess } from '../support/daemon.ts'
import { say } from '../support/fake-provider.ts'
import { ownServer, type OwnServer } from '../support/nats.ts'
import { keptCommands } from '../support/kept-system.ts'
import { projectorProcess } from '../support/projector.ts'
import { testSystem, type TestSystem } from '../support/system.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Running {
  readonly server: OwnServer
  readonly system: TestSystem
  readonly home: string
  /** Starts a projector. */
  projector(): Promise<void>
  daemon(): Promise<DaemonProcess>
  /** Runs a command of the CLI and gives what it printed. */
  beaver(...words: string[]): Promise<Ran>
}

/** @param projected whether a projector runs, for commands that ask for the read model */
async function running({ projected }: { readonly projected: boolean }): Promise<Running> {
  const server = await ownServer({ sync: 'default' })
  closing.push(async () => server[Symbol.asyncDispose]())
  const system = await testSystem(server)
  closing.push(async () => system[Symbol.asyncDispose]())
  system.provider.answerBy(() => say('done'))
  const { namespace } = system.subjects
  // The daemon writes in this folder until it ends, so the folder goes with the system and not with the projector.
  const home = join(system.workspace, '.beaver')
  const projector = async (): Promise<void> => {
    await mkdir(home, { recursive: true })
    const started = await projectorProcess({ url: server.url, namespace, home, config: { checkpoints: { every_ms: 1_000 } } })
    closing.push(async () => started[Symbol.asyncDispose]())
  }
  if (projected) await projector()
  const host = await keptCommands()
  return {
    server,
    system,
    home,
    projector,
    daemon: () => system.daemon({ BEAVER_HOME: home }),
    beaver: (...words) => host.run(words, placeIn(server, system, { BEAVER_HOME: home })),
  }
}

/** The projector has written its key and its first checkpoint, so that nothing but tasks comes into the journal for a while. */
const signed = ({ system }: Running): Promise<unknown> =>
  until('the projector has signed', async () => (await system.client.query('status').catch(() => null))?.checkpoints.last)

const submitted = ({ system }: Running, taskId: string): Promise<unknown> => system.client.run({ task: 'say done', task_id: taskId })
const refused = ({ system }: Running): Promise<unknown> =>
  until('it refuses tasks', () =>
    system.client.submit({ task: 'more' }).then(
      () => false as const,
      (error: { code?: string; message: string }) => (error.code === 'journal_changed' ? error.message : false),
    ),
  )
const events = (daemon: DaemonProcess): string[] =>
  daemon.stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [(JSON.parse(line) as { event: string }).event] : []))
const lastSequence = async ({ system }: Running): Promise<number> =>
  (await (await jetstreamManager(system.nc)).streams.info(system.subjects.stream)).state.last_seq

/** The journal as it was after the first task, in the place of one with two more. */
async function rolledBack(at: Running): Promise<void> {
  let restore = async (): Promise<void> => {}
  await submitted(at, 'first')
  await signed(at)
  await at.server.down(async () => void (restore = await backUp(at.server.dataDir)))
  for (const task of ['second', 'third']) await until(task, () => submitted(at, task).catch(() => false as const))
  await until('the projector has seen it', async () => (await at.system.client.query('status')).behind === 0)
  await at.server.down(restore)
}

/** Writes an acceptance of the journal as it is now into the home, without a signature. @returns a file with the same */
async function forged({ system, home }: Running): Promise<string> {
  const { nc, subjects } = system
  const state = await acceptableState(nc, subjects)
  const acceptance = { id: 'forged', at: new Date().toISOString(), by: 'mallory', reason: 'x', ...state, findings: [] }
  await acceptancesFile(home, subjects.stream).write(`${JSON.stringify(acceptance)}\n`)
  const file = join(system.workspace, 'forged.json')
  await writeFile(file, JSON.stringify(acceptance))
  return file
}

/** `audit accept` in another home, which knows the operator and does not have its key. */
async function elsewhere({ server, system, home }: Running): Promise<(...words: string[]) => Promise<Ran>> {
  const other = join(system.workspace, 'other home')
  await cp(join(home, 'keys', 'operators'), join(other, 'keys', 'operators'), { recursive: true })
  const host = await keptCommands()
  return (...words) => host.run(['audit', 'accept', ...words], placeIn(server, system, { BEAVER_HOME: other }))
}

describe('a daemon', () => {
  it('whose journal was rolled back writes nothing, says why, and goes on when the journal is accepted', async () => {
    const at = await running({ projected: true })
    const daemon = await at.daemon()
    await rolledBack(at)
    expect(await refused(at)).toMatch(/^The journal \S+ ends at message \d+, and it ended at message \d+ before\..*beaver audit accept/)
    const end = await lastSequence(at)
    expect(events(daemon)).toContain('journal_changed')
    expect(await presentDaemons(at.system.nc, at.system.subjects, { waitMs: 300, emptyMs: 20_000 })).toMatchObject([
      { journal_changed: expect.stringMatching(/^The journal/) as string },
    ])
    const doctor = await at.beaver('doctor')
    expect([doctor.exit, doctor.out]).toEqual([1, expect.stringMatching(/fail\s+journal\s+The journal/)])
    expect((await at.beaver('show', 'third')).out).toMatch(/Record\s+NOT VERIFIED: it is not as it was/)
    expect((await at.beaver('show', 'first')).out).toMatch(/Record\s+NOT VERIFIED/)
    expect(await at.beaver('audit')).toMatchObject({ exit: 1, out: expect.stringMatching(/third: The journal has no entry of the task/) as string })
    expect(await lastSequence(at)).toBe(end)

    expect(await at.beaver('audit', 'accept')).toMatchObject({ exit: 2 })
    const unsigned = await forged(at)
    expect(await at.beaver('audit', 'accept', '--signed', unsigned)).toMatchObject({
      exit: 3,
      err: expect.stringContaining('does not count: it is not signed') as string,
    })
    expect((await at.beaver('audit')).out).toContain('by mallory does not count: it is not signed')
    await refused(at)
    // Where the operator's key is not, an acceptance is taken that the operator signed elsewhere.
    const withoutKey = await elsewhere(at)
    expect(await withoutKey('--reason', 'x')).toMatchObject({ exit: 3, err: expect.stringContaining('Only the operator can accept a journal') as string })
    const accepted = await at.beaver('audit', 'accept', '--reason', 'the disk was replaced', '--json')
    expect(accepted).toMatchObject({ exit: 0 })
    const file = join(at.system.workspace, 'accepted.json')
    await writeFile(file, accepted.out)
    expect(await withoutKey('--signed', file)).toMatchObject({ exit: 0, out: expect.stringContaining('the disk was replaced') as string })
    await until('it accepts tasks', () => submitted(at, 'fourth').catch(() => false as const))
    await until(
      'the read model has it',
      async () => (await at.system.client.query('status')).behind === 0 && (await at.system.client.query('tasks')).tasks.length === 2,
    )
    const { tasks } = await at.system.client.query('tasks')
    expect(tasks.map(({ task_id: id }) => id)).toEqual(['fourth', 'first'])
    expect((await at.beaver('show', 'first')).out).toMatch(/Record\s+verified: \d+ events/)
    expect(await at.beaver('audit')).toMatchObject({ exit: 0, out: expect.stringContaining('the disk was replaced') as string })
    expect(events(daemon)).toContain('journal_accepted')
  }, 120_000)

  it('that starts on a journal which was rolled back meanwhile writes nothing, and one that was put right is written again', async () => {
    const at = await running({ projected: false })
    const before = await at.daemon()
    await submitted(at, 'first')
    let [older, newer] = [async (): Promise<void> => {}, async (): Promise<void> => {}]
    await at.server.down(async () => void (older = await backUp(at.server.dataDir, 'older')))
    await until('second', () => submitted(at, 'second').catch(() => false as const))
    before.kill('SIGTERM')
    await before.exited
    await at.server.down(async () => void (newer = await backUp(at.server.dataDir, 'newer')))
    await at.server.down(older)
    const daemon = await at.daemon()
    await refused(at)
    await at.server.down(newer)
    await until('it accepts tasks', () => submitted(at, 'third').catch(() => false as const))
    expect(events(daemon)).toEqual(expect.arrayContaining(['journal_changed', 'journal_sound']))
  }, 120_000)

  it.each(['stopped', 'killed'] as const)(
    'drives a task again that lost its end with a truncated block of a %s server, once that is accepted',
    async (how) => {
      const at = await running({ projected: false })
      await at.daemon()
      // The end of the task is the last message of the journal: nobody else writes into it yet.
      await submitted(at, 'first')
      const whole = (await at.system.events('first')).length
      await at.server.down(() => truncateStore(at.server.dataDir, at.system.subjects.stream, 40), how)
      await refused(at)
      expect((await at.system.events('first')).length).toBeLessThan(whole)
      await at.projector()
      expect(await at.beaver('audit', 'accept', '--reason', 'a power failure')).toMatchObject({ exit: 0 })
      const again = await at.system.ended('first', 60_000)
      expect(again.filter(({ type }) => type === 'task_completed')).toHaveLength(1)
      // The projector may still be at work.
      await until('it is verified', async () => /Record\s+verified: \d+ events/.test((await at.beaver('show', 'first')).out))
      await until('nothing is wrong', async () => (await at.beaver('audit')).exit === 0)
    },
    120_000,
  )

  it('whose journal was deleted and made anew writes nothing to the new one', async () => {
    const at = await running({ projected: false })
    await at.daemon()
    await submitted(at, 'first')
    const jsm = await jetstreamManager(at.system.nc)
    const { config } = await jsm.streams.info(at.system.subjects.stream)
    await jsm.streams.delete(at.system.subjects.stream)
    await jsm.streams.add(config)
    expect(await refused(at)).toMatch(/Somebody deleted the stream and created it again/)
    // The write that met the new journal stands in it. None comes after it.
    expect(await lastSequence(at)).toBeLessThanOrEqual(1)
  })

  it('whose journal may now drop entries writes nothing, and goes on when the setting is put back', async () => {
    const at = await running({ projected: false })
    await at.daemon()
    await submitted(at, 'first')
    const nc = await connectNats({ url: at.server.url, name: 'operator' })
    closing.push(() => nc.close())
    const jsm = await jetstreamManager(nc)
    const { config } = await jsm.streams.info(at.system.subjects.stream)
    await jsm.streams.update(at.system.subjects.stream, { ...config, max_age: 3_600_000_000_000, duplicate_window: 1_000_000_000 })
    expect(await refused(at)).toMatch(/has the setting max_age=3600000000000/)
    await jsm.streams.update(at.system.subjects.stream, config)
    await until('it accepts tasks', () => submitted(at, 'second').catch(() => false as const))
  })
})
