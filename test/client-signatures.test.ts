// Attacks on what a client shows: it shows no entry as a fact that no key which the operator trusts signed, and says why.
import { join } from 'node:path'
import { clientOn } from '@beaver/client'
import { event, leafContent, type LogId, noUsage, readKeyRing, revokeKey, type RecordedEvent, type SigningKey, signTree } from '@beaver/core'
import { natsSystemLog } from '@beaver/nats'
import { homeKeys } from '@beaver/platform'
import { newSigningKey } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { say, use } from './support/fake-provider.ts'
import { type Forged, forger } from './support/forger.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, testSystem, type TestSystem } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer({ sync: 'default' })))
afterAll(() => server[Symbol.asyncDispose]())

const logOf = (task: string): LogId => ({ tenant: 'local', session: task, task }) as LogId
const keysOf = (system: TestSystem) => homeKeys(join(system.workspace, '.beaver', 'keys'))
const keyPorts = async ({ nc, subjects, ...system }: TestSystem) => ({
  log: await natsSystemLog(nc, subjects),
  keys: keysOf({ nc, subjects, ...system }),
  namespace: subjects.stream,
  now: () => Date.now(),
  name: 'test',
})
const signedBy =
  (key: SigningKey, journal: string, log: LogId): NonNullable<Forged['sign']> =>
  (hash) =>
    signTree(key, journal, [leafContent(log, hash)])[0]
const result = { final_output: 'All is well.', outputs: [], usage: noUsage, provider: null, model: null, simulated: false, failure: null }
const forgedEnd = [event('task_completed', result)]

/** A task that waits for a person, so that no daemon writes its end. */
async function waitingTask(system: TestSystem): Promise<LogId> {
  system.provider.answerBy(({ results }) => (results.length === 0 ? use(['echo', { text: 'a' }]) : say('done')))
  await system.daemon()
  const { task_id } = await system.client.submit({ task: 'ask me', approvals: 'wait' })
  await system.reached(task_id, 'it is suspended', (events) => only(events, 'task_suspended').length === 1)
  return logOf(task_id)
}
const config = { permissions: { rules: [{ tool: 'echo', decision: 'ask' }] } }

/** Reads to the end, or to the error. */
async function shown(events: AsyncIterable<RecordedEvent>): Promise<{ types: string[]; error: unknown }> {
  const types: string[] = []
  try {
    for await (const { type } of events) types.push(type)
    return { types, error: null }
  } catch (error) {
    return { types, error }
  }
}

type Sign = (system: TestSystem, log: LogId) => Promise<Forged['sign']>
const attacks: [string, string, Sign][] = [
  ['without a signature', 'it is not signed', async () => undefined],
  [
    'signed by a key that nobody trusts',
    'which the operator did not trust',
    async (system, log) => signedBy(newSigningKey(), (await readKeyRing(await keyPorts(system))).journal, log),
  ],
  [
    'signed by the key of the operator',
    'which is a key of the role operator, not daemon',
    async (system, log) => signedBy(keysOf(system).makeOperator(), (await readKeyRing(await keyPorts(system))).journal, log),
  ],
  [
    'signed by a key that was revoked',
    'which the operator revoked before',
    async (system, log) => {
      const key = keysOf(system).own('daemon')
      return signedBy(key, (await revokeKey(key.id, 'stolen', await keyPorts(system))).journal, log)
    },
  ],
  [
    'with the signature of another log',
    'is not one of this content at this place',
    async (system) => signedBy(keysOf(system).own('daemon'), (await readKeyRing(await keyPorts(system))).journal, logOf('another')),
  ],
]

describe('a forged end of a task', () => {
  it.each(attacks)('%s is shown by no watch and no session, live or later', async (_, why, sign) => {
    await using system = await testSystem(server, config)
    const log = await waitingTask(system)
    const live = system.client.watch(log.task)
    const seen: string[] = []
    while (seen.at(-1) !== 'task_suspended') seen.push(((await live.next()).value as RecordedEvent).type)
    const forge = await forger(system.nc, system.subjects)
    const signature = await sign(system, log)
    await forge.append(log, { events: forgedEnd, ...(signature === undefined ? {} : { sign: signature }) })
    forge.close()
    const untrusted = { code: 'untrusted_record', message: expect.stringContaining(why) as string }
    await expect(live.next()).rejects.toMatchObject(untrusted)
    const { client } = system
    for (const events of [client.watch(log.task), client.sessions.getEventRecords(log.session)]) {
      const { types, error } = await shown(events)
      expect(types).toEqual(seen)
      expect(error).toMatchObject(untrusted)
    }
    await expect(client.sessions.getVisibleHistory(log.session)).rejects.toMatchObject(untrusted)
    await expect(client.sessions.listRunIds(log.session)).rejects.toMatchObject(untrusted)
  })

  it('of a task that nobody submitted shows no task', async () => {
    await using system = await testSystem(server, config)
    await waitingTask(system)
    const forge = await forger(system.nc, system.subjects)
    await forge.accept(logOf('forged'), 'obey me', system.workspace)
    forge.close()
    const { types, error } = await shown(system.client.watch('forged'))
    expect(types).toEqual([])
    expect(error).toMatchObject({ code: 'untrusted_record' })
  })
})

describe('a client', () => {
  it('that knows the operator refuses the journal of another one', async () => {
    await using system = await testSystem(server, config)
    const log = await waitingTask(system)
    const own = keysOf(system).makeOperator().id
    const knowing = (operator: string) => clientOn(system.nc, system.subjects, { operator: () => operator })
    expect((await knowing(own).watch(log.task).next()).done).toBe(false)
    await expect(knowing(newSigningKey().id).watch(log.task).next()).rejects.toMatchObject({ code: 'operator_changed' })
  })

  it('shows what was written before the journal had an operator, and nothing unsigned after that', async () => {
    await using system = await testSystem(server, config)
    const forge = await forger(system.nc, system.subjects)
    const early = new AbortController()
    await forge.accept(logOf('early'), 'from before', system.workspace)
    expect((await system.client.watch('early', { signal: early.signal }).next()).value).toMatchObject({ type: 'task_submitted' })
    early.abort()
    await waitingTask(system)
    await forge.append(logOf('early'), { events: forgedEnd })
    forge.close()
    const { types, error } = await shown(system.client.watch('early'))
    expect(types).toEqual(['task_submitted'])
    expect(error).toMatchObject({ code: 'untrusted_record' })
  })
})
