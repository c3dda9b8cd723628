// What each identity of an embedded server may do and may not do: in its own tenant, in other tenants, and
// nobody at all.
import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Handled } from '@beaver/contracts'
import type { LogId } from '@beaver/core'
import { newAccount } from '@beaver/core/budget'
import {
  beyondRole,
  changePublisher,
  connectNats,
  embeddedIdentities,
  embeddedLogin,
  type EmbeddedServer,
  ensureJournalStream,
  followChanges,
  natsBlobStore,
  natsBudgetAccounts,
  natsJournal,
  natsMemoryStore,
  natsMessageBus,
  natsTaskQueue,
  ofAnotherTenant,
  permitted,
  placedStreams,
  type Role,
  roles,
  startEmbeddedServer,
  type Subjects,
  subjectsOf,
} from '@beaver/nats'
import { inboundOf } from '@beaver/testing'
import type { NatsConnection } from '@nats-io/nats-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { natsServerBinary, testServer } from '../support/nats.ts'

const namespace = 'perm'
const tenants = ['local', 'acme'] as const
type Tenant = (typeof tenants)[number]

let root: string
let server: EmbeddedServer
const keysOf = (tenant: Tenant): string => join(root, tenant)
const namesOf = (tenant: Tenant, role: Role): Subjects =>
  subjectsOf(namespace, { tenant, caller: embeddedLogin(keysOf(tenant), role).caller ?? '' })

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'beaver-permissions-'))
  const identities = tenants.flatMap((tenant) => embeddedIdentities(keysOf(tenant), { namespace, tenant }))
  server = await startEmbeddedServer({
    binary: natsServerBinary(),
    dataDir: join(root, 'server'),
    identities,
  })
  for (const tenant of tenants) {
    await using nc = await as(tenant, 'daemon')
    await setUp(nc, namesOf(tenant, 'daemon'))
  }
})
afterAll(async () => {
  await server.stop()
  rmSync(root, { recursive: true, force: true })
})

async function as(tenant: Tenant, role: Role): Promise<NatsConnection & AsyncDisposable> {
  const nc = await connectNats({
    url: server.url,
    login: embeddedLogin(keysOf(tenant), role),
    name: `${tenant} ${role}`,
  })
  return Object.assign(nc, { [Symbol.asyncDispose]: () => nc.close() })
}

/** Everything that a daemon makes and does at its start. */
async function setUp(nc: NatsConnection, subjects: Subjects): Promise<void> {
  await ensureJournalStream(nc, subjects)
  const journal = await natsJournal(nc, subjects)
  const log = { tenant: subjects.tenant, session: 'probe', task: 'probe' } as LogId
  await journal.accept({ log, payloads: [Buffer.from('[]')], tail: { task: null, revision: 0 } })
  journal.close()
  const queue = await natsTaskQueue(nc, subjects, { leaseMs: 30_000, now: Date.now })
  await queue.wake(log)
  const blobs = await natsBlobStore(nc, subjects)
  const bytes = Buffer.from('a payload')
  await blobs.put(hash('sha256', bytes), bytes)
  expect(Buffer.from(await blobs.get(hash('sha256', bytes))).toString()).toBe('a payload')
  const memory = await natsMemoryStore(nc, subjects, { entryCharsMax: 100, entriesMax: 10 } as never)
  await memory.close()
  const accounts = await natsBudgetAccounts(nc, subjects)
  const key = { tenant: subjects.tenant, of: 'tenant', name: '', period: '2026-11' } as const
  expect((await accounts.read(key)).revision).toBe(0)
  expect(await accounts.write(key, newAccount(), 0)).toBeGreaterThan(0)
  expect(await accounts.list(subjects.tenant)).toEqual([key])
}

it('nobody connects without a key, or with the key of another server', async () => {
  await expect(connectNats({ url: server.url, name: 'nobody', timeoutMs: 5_000 })).rejects.toMatchObject({
    code: 'unreachable',
  })
  const stranger = join(root, 'stranger')
  embeddedIdentities(stranger, { namespace, tenant: 'local' })
  await expect(
    connectNats({
      url: server.url,
      login: embeddedLogin(stranger, 'operator'),
      name: 'stranger',
      timeoutMs: 5_000,
    }),
  ).rejects.toMatchObject({
    code: 'unreachable',
  })
})

describe('an identity', () => {
  it.each(roles)('of the role %s can do nothing beyond its role', async (role) => {
    await using nc = await as('local', role)
    const attempts = beyondRole(role, namesOf('local', role))
    expect(attempts.length).toBeGreaterThanOrEqual(12)
    expect((await permitted(nc, attempts)).map(({ what }) => what)).toEqual([])
  })

  it.each(roles)('of the role %s of one tenant can do nothing of another', async (role) => {
    await using nc = await as('local', role)
    const attempts = ofAnotherTenant(namesOf('acme', role))
    expect(attempts.length).toBeGreaterThanOrEqual(20)
    expect((await permitted(nc, attempts)).map(({ what }) => what)).toEqual([])
  })
})

it('a gateway can do all that its channels need, and an operator can look after them', async () => {
  await using nc = await as('local', 'gateway')
  const bus = await natsMessageBus(nc, namesOf('local', 'gateway'))
  const stop = new AbortController()
  await bus.publish('inbound', inboundOf('web', 'a', 'm'))
  const handle = async (): Promise<Handled> => (stop.abort(), { kind: 'dead', reason: 'no' })
  await bus.take('inbound', { channels: ['web'], signal: stop.signal, handle })
  await using operator = await as('local', 'operator')
  const lookedAfter = await natsMessageBus(operator, namesOf('local', 'operator'))
  expect(await bus.deadLetters(10)).toEqual(await lookedAfter.deadLetters(10))
  await lookedAfter.sendAgain('in_1')
  expect(await bus.loads()).toMatchObject([{ channel: 'web', messages: 1 }])
})

it('a gateway sees how the server holds each stream, and a client is told that it may not', async () => {
  const lookAs = async (role: Role): Promise<readonly string[]> => {
    await using nc = await as('local', role)
    const streams = await placedStreams(nc, namesOf('local', role))
    return streams
      .filter(({ what }) => what !== 'channels')
      .map(({ what, refused }) => `${what} ${refused === true ? 'refused' : 'seen'}`)
  }
  expect(await lookAs('gateway')).toEqual([
    'journal seen',
    'wakes seen',
    'blobs seen',
    'memory seen',
    'budgets seen',
  ])
  expect(await lookAs('client')).toEqual([
    'journal seen',
    'wakes refused',
    'blobs seen',
    'memory refused',
    'budgets refused',
  ])
})

it('a gateway hears which tasks changed, and only the projector tells it', async () => {
  await using projector = await as('local', 'projector')
  await using daemon = await as('local', 'daemon')
  await using gateway = await as('local', 'gateway')
  const subjects = namesOf('local', 'gateway')
  const tell = async (nc: NatsConnection, of: string): Promise<void> => {
    const { publish } = changePublisher(nc, subjects)
    for (let i = 0; i < 3; i++) {
      publish({ projector: of, after: i, sequence: i + 1, reset: false, tasks: [{ ...task, task_id: of }] })
      await nc.flush()
      await new Promise((resolve) => setImmediate(resolve)) // The client reports a refusal a moment later.
    }
  }
  const task = { task_id: '', session_id: 's', user_id: null, taskseq: 1, status: 'running' }
  const refusals: unknown[] = []
  void (async () => {
    for await (const status of daemon.status()) if (status.type === 'error') refusals.push(status.error)
  })()
  const stop = new AbortController()
  const changes = followChanges(gateway, subjects, { position: async () => 7, signal: stop.signal })
  expect((await changes.next()).value).toEqual({ kind: 'hello', sequence: 7 })
  await tell(daemon, 'daemon')
  await tell(projector, 'projector')
  expect((await changes.next()).value).toMatchObject({ tasks: [{ task_id: 'projector' }] })
  stop.abort()
  await changes.return(undefined)
  // After the first refusal, nothing more is sent.
  expect(refusals).toHaveLength(1)
  const refused = followChanges(daemon, subjects, {
    position: async () => 7,
    signal: new AbortController().signal,
  })
  await expect(refused.next().then(() => refused.next())).rejects.toMatchObject({ code: 'not_allowed' })
})

it('a server without users permits everything: the attempts can fail', async () => {
  await using open = await testServer()
  const nc = await connectNats({ url: open.url, name: 'anybody' })
  const attempts = beyondRole('client', subjectsOf(open.newNamespace()))
  expect((await permitted(nc, attempts)).length).toBe(attempts.length)
  await nc.close()
})

it('what the attempts try changes nothing: the journal, the queue and the streams are as they were', async () => {
  await using nc = await as('local', 'operator')
  const info = async (): Promise<unknown> => {
    const { state, config } = (
      await nc.request(`$JS.API.STREAM.INFO.${namesOf('local', 'operator').stream}`)
    ).json<{
      state: { last_seq: number; messages: number }
      config: object
    }>()
    return { last: state.last_seq, messages: state.messages, config }
  }
  const before = await info()
  await permitted(nc, [
    ...beyondRole('client', namesOf('local', 'operator')),
    ...ofAnotherTenant(namesOf('local', 'operator')),
  ])
  expect(await info()).toEqual(before)
})

it('only the operator deletes a message of the journal, of its own tenant', async () => {
  const remove = async (role: Role, tenant: Tenant): Promise<unknown> => {
    await using nc = await as('local', role)
    const { stream } = namesOf(tenant, role)
    return (
      await nc.request(`$JS.API.STREAM.MSG.DELETE.${stream}`, JSON.stringify({ seq: 1, no_erase: true }), {
        timeout: 2_000,
      })
    ).json()
  }
  for (const role of roles.filter((each) => each !== 'operator'))
    await expect(remove(role, 'local')).rejects.toThrow(/permissions violation/i)
  await expect(remove('operator', 'acme')).rejects.toThrow(/permissions violation/i)
  expect(await remove('operator', 'local')).toMatchObject({ success: true })
})

it('keys are files of their user alone, in folders of their user alone, and other users of the machine can read none of the files', () => {
  const folder = join(keysOf('local'), 'keys')
  expect(statSync(folder).mode & 0o077).toBe(0)
  for (const file of readdirSync(folder))
    expect([file, statSync(join(folder, file)).mode & 0o077]).toEqual([file, 0])
})
