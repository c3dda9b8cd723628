// Attacks on what a client shows: it shows no entry as a fact that no key which the operator trusts signed,
// and says why.
import { join } from 'node:path'
import { clientOn } from '@beaver/client'
import { event, type LogId, noUsage } from '@beaver/core'
import {
  leafContent,
  readKeyRing,
  revokeKey,
  type RecordedEvent,
  type SigningKey,
  signTree,
} from '@beaver/core/journal'
import { natsSystemLog } from '@beaver/nats'
import { homeKeys } from '@beaver/platform'
import { newSigningKey } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { type Forged, forger } from '../support/forger.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, testSystem, type TestSystem } from '../support/system.ts'

let server: TestServer
let system: TestSystem
let early: RecordedEvent
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, config)
  // Before the journal has an operator, which a daemon makes.
  const forge = await forger(system.nc, system.subjects)
  await forge.accept(logOf('early'), 'from before', system.workspace)
  forge.close()
  const stop = new AbortController()
  early = (await system.client.watch('early', { signal: stop.signal }).next()).value as RecordedEvent
  stop.abort()
  await system.daemon()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const logOf = (task: string): LogId => ({ tenant: 'local', session: task, task }) as LogId
const homeOf = () => homeKeys(join(system.workspace, '.beaver', 'keys'))
const keyPorts = async () => ({
  log: await natsSystemLog(system.nc, system.subjects),
  keys: homeOf(),
  namespace: system.subjects.stream,
  now: () => Date.now(),
  name: 'test',
})
const signedBy =
  (key: SigningKey, journal: string, log: LogId): NonNullable<Forged['sign']> =>
  (hash) =>
    signTree(key, journal, [leafContent(log, hash)])[0]
const result = {
  final_output: 'All is well.',
  outputs: [],
  usage: noUsage,
  provider: null,
  model: null,
  simulated: false,
  failure: null,
}
const forgedEnd = [event('task_completed', result)]

/** A task that waits for a person, so that no daemon writes its end. */
async function waitingTask(): Promise<LogId> {
  system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['echo', { text: 'a' }]) : say('done'),
  )
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

type Sign = (log: LogId) => Promise<Forged['sign']>
const attacks: [string, string, Sign][] = [
  ['without a signature', 'it is not signed', async () => undefined],
  [
    'signed by a key that nobody trusts',
    'which the operator did not trust',
    async (log) => signedBy(newSigningKey(), (await readKeyRing(await keyPorts())).journal, log),
  ],
  [
    'signed by the key of the operator',
    'which is a key of the role operator, not daemon',
    async (log) => signedBy(homeOf().makeOperator(), (await readKeyRing(await keyPorts())).journal, log),
  ],
  [
    'with the signature of another log',
    'is not one of this content at this place',
    async () =>
      signedBy(homeOf().own('daemon'), (await readKeyRing(await keyPorts())).journal, logOf('another')),
  ],
  // The last one: afterwards the daemon has no key.
  [
    'signed by a key that was revoked',
    'which the operator revoked before',
    async (log) => {
      const key = homeOf().own('daemon')
      return signedBy(key, (await revokeKey(key.id, 'stolen', await keyPorts())).journal, log)
    },
  ],
]

describe('a client', () => {
  it('that knows the operator refuses the journal of another one', async () => {
    const log = await waitingTask()
    const own = homeOf().makeOperator().id
    const knowing = (operator: string) => clientOn(system.nc, system.subjects, { operator: () => operator })
    expect((await knowing(own).watch(log.task).next()).done).toBe(false)
    await expect(knowing(newSigningKey().id).watch(log.task).next()).rejects.toMatchObject({
      code: 'operator_changed',
    })
  })

  it('shows what was written before the journal had an operator, and nothing unsigned after that', async () => {
    expect(early).toMatchObject({ type: 'task_submitted' })
    const forge = await forger(system.nc, system.subjects)
    await forge.append(logOf('early'), { events: forgedEnd })
    forge.close()
    const { types, error } = await shown(system.client.watch('early'))
    expect(types).toEqual(['task_submitted'])
    expect(error).toMatchObject({ code: 'untrusted_record' })
  })
})

describe('a forged end of a task', () => {
  it('of a task that nobody submitted shows no task', async () => {
    await waitingTask()
    const forge = await forger(system.nc, system.subjects)
    await forge.accept(logOf('forged'), 'obey me', system.workspace)
    forge.close()
    const { types, error } = await shown(system.client.watch('forged'))
    expect(types).toEqual([])
    expect(error).toMatchObject({ code: 'untrusted_record' })
  })

  it.each(attacks)('%s is shown by no watch and no session, live or later', async (_, why, sign) => {
    const log = await waitingTask()
    const live = system.client.watch(log.task)
    const seen: string[] = []
    while (seen.at(-1) !== 'task_suspended') seen.push(((await live.next()).value as RecordedEvent).type)
    const forge = await forger(system.nc, system.subjects)
    const signature = await sign(log)
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
})
