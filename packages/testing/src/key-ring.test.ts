// Whose signatures count: the keys of a journal, with in-memory homes.
import { type BeaverError, event, type KeyStore, type LogId, type RunId } from '@beaver/core'
import {
  draft,
  emptyHead,
  type Entry,
  joinJournal,
  type KeyPorts,
  type KeyRing,
  leafContent,
  LogReader,
  readKeyRing,
  revokeKey,
  seal,
  type SignedEntry,
  type SigningKey,
  signTree,
  type SystemLog,
  trustKey,
} from '@beaver/core/journal'
import { beforeEach, describe, expect, it } from 'vitest'
import { memoryKeys, newSigningKey } from './memory-keys.ts'
import { memorySystemLog } from './memory-system-log.ts'

let log: SystemLog
let clock = 0
beforeEach(() => void (log = memorySystemLog()))
const portsOf = (keys: KeyStore, namespace = 'default'): KeyPorts => ({
  log,
  keys,
  namespace,
  now: () => ++clock,
  name: 'here',
})
const task: LogId = { tenant: 'local', session: 's', task: 't' } as LogId
const recordHash = 'a'.repeat(64)
const signedBy = (key: SigningKey, journal: string, of: LogId = task): string =>
  signTree(key, journal, [leafContent(of, recordHash)])[0] as string
const entry = (signature: string | undefined, revision = 1_000): SignedEntry => ({
  revision,
  lastHash: recordHash,
  signature,
})
const codeOf = (error: unknown): string => (error as BeaverError).code

describe('joining a journal', () => {
  it('makes the first daemon the operator, without a question', async () => {
    const keys = memoryKeys()
    const { ring, key } = await joinJournal('daemon', portsOf(keys))
    expect(ring.operator).toBe(keys.operator()?.id)
    expect(ring.faultOf(task, entry(signedBy(key, ring.journal)))).toBeNull()
    expect(
      (await joinJournal('projector', portsOf(keys))).ring.keys.map(({ role, epoch }) => [role, epoch]),
    ).toEqual([
      ['operator', 1],
      ['daemon', 2],
      ['projector', 3],
    ])
  })

  it('lets many daemons of one home start at once', async () => {
    const keys = memoryKeys()
    const joined = await Promise.all(Array.from({ length: 5 }, () => joinJournal('daemon', portsOf(keys))))
    expect(new Set(joined.map(({ key }) => key.id)).size).toBe(1)
    expect((await readKeyRing(portsOf(keys))).keys).toHaveLength(2)
  })

  it('of two homes at once has one operator; the other home asks and runs after it is trusted', async () => {
    const [one, two] = [memoryKeys(), memoryKeys()]
    const outcomes = await Promise.allSettled([
      joinJournal('daemon', portsOf(one)),
      joinJournal('daemon', portsOf(two)),
    ])
    const refused = outcomes.findIndex(({ status }) => status === 'rejected')
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const [operator, stranger] = refused === 1 ? [one, two] : [two, one]
    expect(codeOf((outcomes[refused] as PromiseRejectedResult).reason)).toBe('key_untrusted')
    await expect(joinJournal('daemon', portsOf(stranger))).rejects.toThrow(
      `beaver keys trust ${stranger.own('daemon').id}`,
    )
    await trustKey(stranger.own('daemon').id.slice(0, 8), portsOf(operator))
    await expect(joinJournal('daemon', portsOf(stranger))).resolves.toMatchObject({
      key: { id: stranger.own('daemon').id },
    })
  })

  it('refuses a journal whose operator was swapped, or that lost its operator', async () => {
    const [own, attacker] = [memoryKeys(), memoryKeys()]
    await joinJournal('daemon', portsOf(own))
    log = memorySystemLog()
    await joinJournal('daemon', portsOf(attacker))
    await expect(joinJournal('daemon', portsOf(own))).rejects.toMatchObject({ code: 'operator_changed' })
    const guest = memoryKeys()
    guest.pin('default', 'f'.repeat(32))
    log = memorySystemLog()
    await expect(joinJournal('daemon', portsOf(guest))).rejects.toMatchObject({ code: 'operator_changed' })
    expect(await log.read('keys')).toEqual([])
  })

  it('continues after the journal was emptied, for the home that is its operator', async () => {
    const keys = memoryKeys()
    const before = await joinJournal('daemon', portsOf(keys))
    log = memorySystemLog()
    const after = await joinJournal('daemon', portsOf(keys))
    expect(after.ring.operator).toBe(before.ring.operator)
    expect(after.ring.journal).not.toBe(before.ring.journal)
  })

  it('after its key was revoked makes a new key', async () => {
    const keys = memoryKeys()
    const before = await joinJournal('daemon', portsOf(keys))
    await revokeKey(before.key.id, 'stolen', portsOf(keys))
    const after = await joinJournal('daemon', portsOf(keys))
    expect(after.key.id).not.toBe(before.key.id)
  })
})

describe('the signature of an entry', () => {
  it('does not count if it is missing, unreadable, by an unknown key, by a key of another role, or before its key was trusted', async () => {
    const keys = memoryKeys()
    const { key } = await joinJournal('daemon', portsOf(keys))
    const projector = await joinJournal('projector', portsOf(keys))
    const { ring } = projector
    const stranger = newSigningKey()
    expect(ring.faultOf(task, entry(undefined))).toBe('it is not signed')
    expect(ring.faultOf(task, entry('v1 nothing'))).toBe('its signature cannot be read')
    expect(ring.faultOf(task, entry(signedBy(stranger, ring.journal)))).toContain(
      `${stranger.id}, which the operator did not trust`,
    )
    expect(ring.faultOf(task, entry(signedBy(projector.key, ring.journal)))).toContain(
      'a key of the role projector, not daemon',
    )
    expect(ring.faultOf(task, entry(signedBy(key, ring.journal), 1))).toContain('did not trust')
  })

  it('does not count from the position on at which its key was revoked, and counts before it', async () => {
    const keys = memoryKeys()
    const { key, ring } = await joinJournal('daemon', portsOf(keys))
    const signature = signedBy(key, ring.journal)
    const after = await revokeKey(key.id, 'stolen', portsOf(keys))
    const revokedFrom = after.find(key.id)?.revokedFrom as number
    // In this twin, system logs alone have positions. An entry between two of them stands for one of a task.
    expect(after.faultOf(task, entry(signature, revokedFrom - 0.5))).toBeNull()
    expect(after.faultOf(task, entry(signature, revokedFrom + 1))).toContain(
      'which the operator revoked before',
    )
  })

  it('does not count for another log, for other content, in another namespace or in another journal', async () => {
    const keys = memoryKeys()
    const { key, ring } = await joinJournal('daemon', portsOf(keys))
    const moved = { ...task, task: 'other' } as LogId
    expect(ring.faultOf(moved, entry(signedBy(key, ring.journal)))).toContain(
      'is not one of this content at this place',
    )
    expect(ring.faultOf(task, { ...entry(signedBy(key, ring.journal)), lastHash: 'b'.repeat(64) })).toContain(
      'is not one of this content',
    )
    expect(ring.faultOf(task, { ...entry(signedBy(key, ring.journal)), lastHash: null })).toContain(
      'is not one of this content',
    )
    expect(ring.faultOf(task, entry(signedBy(key, 'other/x')))).not.toBeNull()
    log = memorySystemLog()
    const again = await joinJournal('daemon', portsOf(keys))
    expect(again.ring.faultOf(task, entry(signedBy(key, ring.journal)))).toContain(
      'is not one of this content',
    )
  })
})

describe('a log that is read with a judge', () => {
  const sealed = (message: string) => {
    const source = {
      epoch: 1,
      source: '/beaver/daemons/here',
      subject: task.task,
      time: '2026-05-04T08:00:00.000Z',
    }
    const { record, head } = seal(
      emptyHead,
      draft(event('user_message_added', { content: message }, 'r1' as RunId)),
      source,
    )
    return { text: record.text, hash: head.hash }
  }
  const read = async (text: string, signature: string, ring: KeyRing) => {
    const judge = { signatureFault: async (log: LogId, signed: SignedEntry) => ring.faultOf(log, signed) }
    const reader = new LogReader(task, { get: () => Promise.reject(new Error('it has no blobs')) }, { judge })
    return await reader.read({ payload: Buffer.from(`[${text}]`), revision: 1_000, signature })
  }

  it('gives what was signed, and refuses a record that carries the signed hash in a member of its own', async () => {
    const { key, ring } = await joinJournal('daemon', portsOf(memoryKeys()))
    const [honest, forged] = [sealed('an honest message'), sealed('a forged message')]
    const [signature] = signTree(key, ring.journal, [leafContent(task, honest.hash)]) as [string]
    expect(await read(honest.text, signature, ring)).toMatchObject([
      { data: { content: 'an honest message' } },
    ])
    const hidden = `${forged.text.slice(0, -1)},"zzz":{"hash":"${honest.hash}"}}`
    await expect(read(hidden, signature, ring)).rejects.toMatchObject({ code: 'untrusted_record' })
  })
})

describe('the log of keys', () => {
  it('ignores what nobody who may signed, and says so', async () => {
    const [keys, stranger] = [memoryKeys(), memoryKeys()]
    await joinJournal('daemon', portsOf(keys))
    const before = await readKeyRing(portsOf(keys))
    await joinJournal('daemon', portsOf(stranger)).catch(() => {})
    // A stranger with raw access: it trusts its own key by a chained record, which it signs itself.
    const other = memorySystemLog()
    await joinJournal('daemon', {
      ...portsOf({ ...stranger, pinned: () => null, pin: () => {} }),
      log: other,
    })
    const last = (await log.last('keys')) as Entry
    for (const { payload: forged, signature } of await other.read('keys')) {
      const { revision } = (await log.last('keys')) as Entry
      await log.append({ name: 'keys', expectedRevision: revision, payload: forged, signature })
    }
    const ring = await readKeyRing(portsOf(keys))
    expect(ring.operator).toBe(before.operator)
    expect(ring.find(stranger.own('daemon').id)?.trustedFrom).toBeNull()
    expect(ring.ignored.map(({ revision }) => revision > last.revision)).toEqual([true, true])
    // Nobody is locked out by it.
    await trustKey(stranger.own('daemon').id, portsOf(keys))
    expect((await readKeyRing(portsOf(keys))).find(stranger.own('daemon').id)?.trustedFrom).not.toBeNull()
  })

  it('keeps its only operator, and takes commands only from the home of the operator', async () => {
    const keys = memoryKeys()
    const { ring, key } = await joinJournal('daemon', portsOf(keys))
    await expect(revokeKey(ring.operator as string, 'x', portsOf(keys))).rejects.toMatchObject({
      code: 'conflict',
    })
    await expect(revokeKey(key.id, 'x', portsOf(memoryKeys()))).rejects.toMatchObject({
      code: 'key_untrusted',
    })
    await expect(trustKey('abc', portsOf(keys))).rejects.toMatchObject({ code: 'not_found' })
    await revokeKey(key.id, 'x', portsOf(keys))
    await expect(trustKey(key.id, portsOf(keys))).rejects.toMatchObject({ code: 'conflict' })
  })
})
