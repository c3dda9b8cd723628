import { generateKeyPairSync } from 'node:crypto'
import { signingKeyOf } from '@beaver/core/journal'
import { describe, expect, it } from 'vitest'
import { acceptanceFault, markStore, readAcceptances, signedAcceptance } from './journal-watch.ts'
import type { JournalAcceptance } from './journal-judge.ts'

const keyOf = () => signingKeyOf(generateKeyPairSync('ed25519').privateKey)
const operator = keyOf()
const acceptance: JournalAcceptance = {
  id: 'a1',
  at: '2026-01-01T00:00:00Z',
  by: 'anna',
  reason: 'the disk was replaced',
  identity: 'BEAVER_x@1',
  sequence: 6,
  hash: 'h6',
  missing: 2,
  lost: null,
  settings: ['max_age=1'],
  chosen: { num_replicas: '1' },
  findings: [{ kind: 'unreadable', message: 'Message 3 cannot be read. 第三', harmful: false }],
}
const signed = signedAcceptance('BEAVER_x', acceptance, operator)
const faultOf = (changed: Partial<JournalAcceptance>): string | null =>
  acceptanceFault('BEAVER_x', { ...signed, ...changed }, operator.id)

describe('an acceptance', () => {
  it('counts with the signature of the operator, also when it was read from a file', () => {
    const [read] = readAcceptances({ read: () => `\n${JSON.stringify(signed)}\n` })
    expect(acceptanceFault('BEAVER_x', read as JournalAcceptance, operator.id)).toBe(null)
  })

  it('does not count if any of its fields was changed, or for another journal', () => {
    const changes: Partial<JournalAcceptance>[] = [
      ...[
        { id: 'a2' },
        { at: '2026-01-02T00:00:00Z' },
        { by: 'ben' },
        { reason: 'x' },
        { identity: 'BEAVER_x@2' },
        { sequence: 7 },
        { hash: 'h7' },
      ],
      ...[
        { missing: 3 },
        { lost: 'x' },
        { settings: [] },
        { chosen: {} },
        { findings: [] },
        { signature: `${(signed.signature ?? '').slice(0, -4)}AAAA` },
      ],
    ]
    for (const change of changes)
      expect([change, faultOf(change)]).toEqual([
        change,
        `its signature by the key ${operator.id} is not one of this content`,
      ])
    expect(acceptanceFault('BEAVER_y', signed, operator.id)).toContain('is not one of this content')
  })

  it('does not count without a signature, or with that of another key, also one that has the id of the operator', () => {
    const other = keyOf()
    expect(acceptanceFault('BEAVER_x', acceptance, operator.id)).toBe('it is not signed')
    expect(
      acceptanceFault('BEAVER_x', signedAcceptance('BEAVER_x', acceptance, other), operator.id),
    ).toContain(`${other.id}, which is not the operator's`)
    const forged = { ...signedAcceptance('BEAVER_x', acceptance, other), key_id: operator.id }
    expect(acceptanceFault('BEAVER_x', forged, operator.id)).toContain('is not one of this content')
    for (const signature of ['', '%', 'A', 'x'.repeat(10_000)]) expect(faultOf({ signature })).not.toBe(null)
    for (const public_key of ['', '%', 'A', 'x'.repeat(10_000)])
      expect(faultOf({ public_key })).not.toBe(null)
  })

  it('without a signature counts in a home that knows no operator, and a signed one does not', () => {
    expect(acceptanceFault('BEAVER_x', acceptance, null)).toBe(null)
    expect(acceptanceFault('BEAVER_x', signed, null)).not.toBe(null)
  })
})

it('a process applies the acceptances that count, by the operator that its home knows now', () => {
  const lines = [acceptance, signed, signedAcceptance('BEAVER_x', { ...acceptance, id: 'a3' }, keyOf())]
    .map((each) => JSON.stringify(each))
    .join('\n')
  const text = (read: string | null) => ({ read: () => read, write: async () => undefined })
  let known: string | null = operator.id
  const store = markStore(text(null), text(lines), { stream: 'BEAVER_x', operator: () => known })
  expect(store.readAcceptances()).toEqual([signed])
  known = null
  expect(store.readAcceptances()).toEqual([acceptance])
})

it('what is no acceptance is passed over', () => {
  expect(readAcceptances({ read: () => 'x\n{}\n[1]\n"\n' })).toEqual([])
  expect(readAcceptances({ read: () => null })).toEqual([])
})
