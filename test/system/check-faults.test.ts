// The checker goes red on each planted fault, by the rule that is meant to see it and by no other. The
// journal is one that a real system wrote.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkJournal, type CheckResult, eventTypes, natsSource, openExport, rules } from '@beaver/check'
import { eventData } from '@beaver/core'
import { homeKeys } from '@beaver/platform'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testServer, type TestServer } from '../support/nats.ts'
import { plantedFaults } from '../support/planted-faults.ts'
import {
  exported,
  parsed,
  recordedConfig,
  recordTasks,
  resealed,
  signedAnew,
  written,
} from '../support/recorded-journal.ts'
import { type TestSystem, testSystem } from '../support/system.ts'

let server: TestServer
let system: TestSystem
let folder: string
let lines: string[]
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, recordedConfig)
  folder = await mkdtemp(join(tmpdir(), 'beaver-check-'))
  await recordTasks(system)
  lines = await exported(system)
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const now = Date.now()

async function checked(text: readonly string[]): Promise<CheckResult> {
  const file = join(folder, 'journal.ndjson')
  await writeFile(file, text.map((line) => `${line}\n`).join(''))
  return checkJournal(await openExport(file), { now })
}

describe('a journal that a real system wrote', () => {
  it('is clean as an export and where it is, and each says the same of it', async () => {
    const { namespace, stream, blobBucket } = system.subjects
    const there = await checkJournal(await natsSource(system.nc, { namespace, stream, blobBucket }), { now })
    const { summary, findings } = await checked(lines)
    expect([findings, there.findings]).toEqual([[], []])
    const { about, ...counts } = there.summary
    expect(summary).toMatchObject(counts)
    expect(about.exportedAt).toBeNull()
    expect(counts).toMatchObject({
      tasks: 16,
      tasks_open: 0,
      blobs_verified: 2,
      first_sequence: 1,
      last_sequence: about.lastSequence,
    })
  })

  it('is clean when its chains are sealed anew: sealing is no fault of its own', async () => {
    const keys = homeKeys(join(system.workspace, '.beaver', 'keys'))
    const claims = parsed(lines).messages.filter(({ subject }) => subject.endsWith('.id.claimed')).length
    const { findings, summary } = await checked(written(signedAnew(resealed(parsed(lines)), keys)))
    expect(findings).toEqual([])
    expect(summary.signatures).toEqual({
      operator: keys.makeOperator().id,
      verified: summary.messages - claims,
      unsigned: 0,
    })
  })

  it('has the operator that the reader knows, or another one, which is a finding', async () => {
    const file = join(folder, 'journal.ndjson')
    await writeFile(file, lines.map((line) => `${line}\n`).join(''))
    const operator = homeKeys(join(system.workspace, '.beaver', 'keys')).makeOperator().id
    expect((await checkJournal(await openExport(file), { now, operator })).broken).toEqual({})
    expect((await checkJournal(await openExport(file), { now, operator: 'f'.repeat(32) })).broken).toEqual({
      operator: 1,
    })
    // Somebody removes the keys and all signatures: what is left fits itself, and the operator is not there.
    const bare = parsed(lines)
    bare.messages = bare.messages.filter(({ subject }) => !subject.endsWith('.keys'))
    for (const message of bare.messages) delete message.signature
    await writeFile(
      file,
      written(resealed(bare))
        .map((line) => `${line}\n`)
        .join(''),
    )
    expect((await checkJournal(await openExport(file), { now })).summary.signatures).toMatchObject({
      operator: null,
      verified: 0,
    })
    expect((await checkJournal(await openExport(file), { now, operator })).broken).toEqual({ operator: 1 })
  })

  it('is read without a consumer', async () => {
    const { namespace, stream, blobBucket } = system.subjects
    const consumersOf = async (name: string): Promise<number> =>
      (await system.nc.request(`$JS.API.STREAM.INFO.${name}`)).json<{ state: { consumer_count: number } }>()
        .state.consumer_count
    const consumers = (): Promise<number[]> => Promise.all([stream, `OBJ_${blobBucket}`].map(consumersOf))
    const before = await consumers()
    await checkJournal(await natsSource(system.nc, { namespace, stream, blobBucket }), { now })
    expect(await consumers()).toEqual(before)
  })
})

describe('a planted fault is seen by the rule that is meant to see it, and by no other', () => {
  it.each(plantedFaults)('$rule: $name', async ({ rule, plant, forge, keeps, seal }) => {
    const changed = parsed(lines)
    plant?.(changed)
    const numbers = changed.messages.map(({ seq }) => seq)
    const last = changed.header['last_sequence']
    if (seal !== 'as it stands') resealed(changed)
    if (seal === 'chains') {
      for (const [i, message] of changed.messages.entries()) message.seq = numbers[i] as number
      changed.header['last_sequence'] = last
    }
    const keys = homeKeys(join(system.workspace, '.beaver', 'keys'))
    signedAnew(changed, keys, keeps)
    forge?.(changed, keys)
    const { broken } = await checked(written(changed))
    expect(broken).toEqual({ [rule]: expect.any(Number) })
  })

  it('and every rule about a journal has such a fault', () => {
    const planted = new Set<string>(plantedFaults.map(({ rule }) => rule))
    // The read model is checked by the command (cli-check.test.ts), an audit compares with checkpoints
    // (audit-attacks.test.ts), and a journal with an archive needs one (cli-archive-faults.test.ts).
    expect(Object.keys(rules).filter((rule) => !planted.has(rule))).toEqual([
      'operator',
      'checkpoint',
      'inclusion',
      'head',
      'archive',
      'projection',
    ])
  })
})

it('the checker knows every type of event that core writes', () => {
  expect(Object.keys(eventData).filter((type) => !(eventTypes as readonly string[]).includes(type))).toEqual(
    [],
  )
})
