// The checkpoints that a projector makes: when, where they are written, who signed them, and what happens if
// the journal does not fit them.
import { createServer, type Server } from 'node:http'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judgeNote, provesConsistency, readNote, readVerifierKey } from '@beaver/check'
import type { QueryOutput } from '@beaver/contracts'
import { event, type LogId, systemClock } from '@beaver/core'
import {
  appendCheckpoint,
  draft,
  emptyHead,
  joinBatch,
  joinJournal,
  revokeKey,
  seal,
  trustKey,
} from '@beaver/core/journal'
import { call, connectNats, natsJournal, natsSystemLog, putInBucket, subjectsOf } from '@beaver/nats'
import { type ConfigFile, homeKeys } from '@beaver/platform'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { testServer, type TestServer } from '../support/nats.ts'

let server: TestServer
let folder: string
beforeAll(async () => {
  server = await testServer()
  folder = await mkdtemp(join(tmpdir(), 'beaver-checkpoints-'))
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

let spaces = 0
/** The operator announces itself, trusts the daemon, and trusts the projector. */
const keyMessages = 3
type Checkpoints = ConfigFile['checkpoints']

/** A namespace with a journal, and a way to start its projector with a home of its own. */
async function space() {
  const namespace = `checkpoints${++spaces}`
  const subjects = subjectsOf(namespace)
  const stack = new AsyncDisposableStack()
  const nc = stack.adopt(await connectNats({ url: server.url, name: 'test' }), (it) => it.close())
  const journal = stack.adopt(await natsJournal(nc, subjects), (it) => it.close())
  const systemLog = await natsSystemLog(nc, subjects)
  const home = join(folder, namespace)
  await mkdir(home)
  const keys = homeKeys(join(home, 'keys'))
  const ports = { log: systemLog, keys, namespace: subjects.stream, now: () => Date.now(), name: 'test' }
  await joinJournal('daemon', ports)
  await joinJournal('projector', ports)
  let tasks = 0
  const submit = async (task = `task${++tasks}`): Promise<void> => {
    const log = { tenant: 'local', session: task, task } as LogId
    const request = { text: 'x', workspace: '/', skill: null, source: 'test' }
    const first = event('task_submitted', {
      task_id: log.task,
      session_id: log.session,
      tenant: log.tenant,
      previous_task_id: null,
      request,
    })
    const { record } = seal(emptyHead, draft(first), {
      epoch: 0,
      source: '/d',
      subject: task,
      time: '2026-01-01T00:00:00.000Z',
    })
    await journal.accept({ log, payloads: [joinBatch([record])], tail: { task: null, revision: 0 } })
  }
  const ask = async <Name extends 'status' | 'proof'>(name: Name, input: object = {}) =>
    (await call(nc, subjects.query(name), input, {
      timeoutMs: 5_000,
      whom: 'projector',
    })) as QueryOutput<Name>
  const start = (checkpoints: Checkpoints, place = home): Promise<ProjectorProcess> =>
    projectorProcess({ url: server.url, namespace, config: { checkpoints }, home: place })
  const notes = async (): Promise<string[]> => {
    const entries = await systemLog.read('checkpoints')
    return entries.map(
      ({ payload }) =>
        (JSON.parse(Buffer.from(payload).toString()) as [{ data: { note: string } }])[0].data.note,
    )
  }
  const kept = async (): Promise<string> => readFile(join(home, `checkpoints-${namespace}.ndjson`), 'utf8')
  return {
    namespace,
    home,
    ports,
    nc,
    submit,
    ask,
    start,
    notes,
    kept,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

describe('a checkpoint', () => {
  it('is made after a number of events, is consistent with the one before it, and is not made without news; one of a stranger is a fault, even if it fits the journal', async () => {
    await using at = await space()
    await using _ = await at.start({ every_ms: 3_600_000, every_events: 2 })
    await until('there is a checkpoint of the keys', async () => (await at.notes()).length === 1)
    for (let tasks = 0; tasks < 2; tasks++) await at.submit()
    await until('there is a second one', async () => (await at.notes()).length === 2)
    await at.submit()
    await at.submit()
    await until('there is a third one', async () => (await at.notes()).length === 3)
    const [, older, newer] = (await at.notes()).map(
      (note) => readNote(note) as Exclude<ReturnType<typeof readNote>, string>,
    )
    const { consistency } = await at.ask('proof', { size: newer!.size, older: [older!.size] })
    const hashes = consistency[0]!.hashes.map((each) => Buffer.from(each, 'base64'))
    expect([older!.size, newer!.size]).toEqual([keyMessages + 3, keyMessages + 6])
    expect(provesConsistency(older!, newer!, hashes)).toBe(true)
    await until(
      'the projector has read it back',
      async () => (await at.ask('status')).checkpoints.last?.size === keyMessages + 6,
    )
    expect((await at.ask('status')).checkpoints.faults).toEqual([])

    // The stranger's counts more than the last one of the projector.
    const { checkpoint } = await at.ask('proof')
    expect(readNote(checkpoint ?? '')).toMatchObject({ size: keyMessages + 7 })
    await appendCheckpoint(at.ports.log, checkpoint ?? '', {
      source: '/beaver/projector',
      clock: systemClock,
    })
    await until('it is a fault', async () => (await at.ask('status')).checkpoints.faults.length === 1)
    expect((await at.ask('status')).checkpoints).toMatchObject({
      last: { size: keyMessages + 6 },
      faults: [{ message: 'It is not from a projector that the operator trusts: it is not signed.' }],
    })
  })

  it('that cannot be written somewhere stops nothing, and status says so; one that does not fit the journal is told, and nothing is signed that contradicts it', async () => {
    await using hook = await webhook(500)
    await using at = await space()
    await writeFile(join(folder, 'a file'), '')
    {
      await using _ = await at.start({
        every_ms: 1_000,
        webhook: hook.url,
        folder: join(folder, 'a file', 'x'),
      })
      await at.submit()
      const failing = async () =>
        (await at.ask('status')).checkpoints.targets.filter(({ message }) => message !== null)
      await until('both places are told', async () => (await failing()).length === 2)
      expect((await failing()).map(({ message }) => message)).toEqual([
        expect.stringContaining('ENOTDIR'),
        'It answered with the status 500',
      ])
      expect(await at.notes()).toHaveLength(1)
      await at.submit()
      await until('it goes on', async () => (await at.ask('status')).sequence >= keyMessages + 3)
    }
    // The home remembers another history of the same journal: what is in the journal now is not what was
    // signed.
    const made = (await at.notes()).length
    const lines = (await at.kept()).trim().split('\n')
    const forged = lines.map((line) =>
      line.replace(/\\n4\\n[^\\]+\\n/, `\\n4\\n${Buffer.alloc(32).toString('base64')}\\n`),
    )
    expect(forged).not.toEqual(lines)
    await writeFile(join(at.home, `checkpoints-${at.namespace}.ndjson`), `${forged[0]}\n`)
    await using _ = await at.start({ every_ms: 1_000, every_events: 1 })
    await until('the fault is told', async () => (await at.ask('status')).checkpoints.faults.length === 1)
    expect((await at.ask('status')).checkpoints.faults[0]?.message).toContain('Somebody changed the journal')
    for (let tasks = 0; tasks < 3; tasks++) await at.submit()
    await until('all is applied', async () => (await at.ask('status')).sequence >= keyMessages + 5 + made)
    expect(await at.notes()).toHaveLength(made)
  })
})

describe("a projector whose home is not the operator's, and whose operator lives elsewhere", () => {
  let at: Awaited<ReturnType<typeof space>>
  let hook: Awaited<ReturnType<typeof webhook>>
  let home: string
  let projector: ProjectorProcess
  let keyId: string
  const places = (): string => join(folder, 'places')
  beforeAll(async () => {
    at = await space()
    hook = await webhook()
    home = `${at.home}-stranger`
    await mkdir(home)
    await putInBucket(at.nc, { bucket: 'elsewhere', key: 'before', value: 'x' })
    projector = await at.start(
      {
        every_ms: 1_000,
        folder: places(),
        webhook: hook.url,
        bucket: { nats_url: server.url, name: 'elsewhere' },
      },
      home,
    )
  })
  afterAll(async () => {
    await projector[Symbol.asyncDispose]()
    await hook[Symbol.asyncDispose]()
    await at[Symbol.asyncDispose]()
  })

  it('signs nothing before the operator trusts its key, and says what the operator has to do', async () => {
    await at.submit()
    const fault = await until(
      'status says so',
      async () => (await at.ask('status')).checkpoints.faults[0]?.message,
    )
    keyId = /beaver keys trust (\w+)/.exec(fault)?.[1] ?? ''
    await until('its log says so', () => projector.stderr.includes('"checkpoint_key_untrusted"'))
    expect(await at.ask('proof')).toMatchObject({ key: null, checkpoint: null })
    await until('all is applied', async () => (await at.ask('status')).sequence >= keyMessages + 2)
    expect(await at.notes()).toEqual([])
  })

  it('then makes a checkpoint by time, which its key verifies, and writes it to every place', async () => {
    await trustKey(keyId, at.ports)
    await until('a checkpoint is in the journal', async () => (await at.notes()).length === 1)
    const [note = ''] = await at.notes()
    const read = readNote(note)
    if (typeof read === 'string') throw new Error(read)
    const { key, origin, root } = await at.ask('proof', { size: read.size })
    expect(read).toMatchObject({ origin, size: keyMessages + 3 })
    expect(Buffer.from(read.root).toString('base64')).toBe(root)
    expect(judgeNote(read, [readVerifierKey(key ?? '')!])).toBe('signed')
    await until('the webhook has it', () => hook.bodies.length === 1)
    expect(hook.bodies).toEqual([note])
    for (const place of [home, places()])
      expect(JSON.parse(await readFile(join(place, `checkpoints-${at.namespace}.ndjson`), 'utf8'))).toEqual({
        time: expect.any(String) as string,
        note,
      })
    const wanted = JSON.stringify({ last_by_subj: `$KV.elsewhere.${at.namespace}` })
    const stored = async () =>
      (await at.nc.request('$JS.API.STREAM.MSG.GET.KV_elsewhere', wanted)).json<{
        message?: { data: string }
      }>().message?.data
    await until(
      'the bucket has it',
      async () => Buffer.from((await stored()) ?? '', 'base64').toString() === note,
    )
    expect((await stat(join(home, 'keys', 'projector.key'))).mode & 0o777).toBe(0o600)
    await until(
      'the projector has read it back',
      async () => (await at.ask('status')).checkpoints.last?.size === read.size,
    )
    expect((await at.ask('status')).checkpoints.faults).toEqual([])
  })

  it('signs nothing after its key was revoked', async () => {
    await revokeKey(keyId, 'stolen', at.ports)
    const made = await until(
      'it asks with a new key',
      async () => (await at.ask('status')).checkpoints.faults[0] !== undefined && (await at.notes()).length,
    )
    await at.submit()
    await until('all is applied', async () => (await at.ask('status')).behind === 0)
    expect(await at.notes()).toHaveLength(made)
  })
})

/** A place that takes what is sent to it. */
async function webhook(status = 200) {
  const bodies: string[] = []
  const http: Server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => void (body += text))
    request.on('end', () => {
      if (status === 200) bodies.push(body)
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      http.close(() => resolve())
      http.closeAllConnections()
    })
  return {
    bodies,
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: close,
  }
}
