import { describe, expect, it } from 'vitest'
import {
  acceptedMark,
  firstMark,
  type JournalAcceptance,
  type JournalLook,
  judgeJournal,
} from './journal-judge.ts'
import { subjectsOf } from './subjects.ts'

const { captured } = subjectsOf('x')
const [logs = ''] = captured
const config = {
  subjects: [...captured],
  retention: 'limits',
  discard: 'new',
  storage: 'file',
  num_replicas: 1,
  max_age: 0,
  max_msgs: -1,
  deny_purge: true,
  allow_direct: true,
  allow_atomic: true,
}
const look: JournalLook = { identity: 'BEAVER_x@1', lastSequence: 10, messages: 10, lost: null, config }
const mark = firstMark(look, 'h10')
const kinds = (seen: Partial<JournalLook>, hash: string | null | undefined = 'h10'): string[] =>
  judgeJournal(mark, { ...look, ...seen }, hash, captured).map(
    ({ kind, harmful }) => `${kind}${harmful ? '!' : ''}`,
  )
const withSetting = (setting: Record<string, unknown>): string[] =>
  kinds({ config: { ...config, ...setting } })

const acceptance: JournalAcceptance = {
  id: 'a1',
  at: '2026-01-01T00:00:00Z',
  by: 'anna',
  reason: 'the disk was replaced',
  identity: 'BEAVER_x@1',
  sequence: 6,
  hash: 'h6',
  missing: 0,
  lost: null,
  settings: [],
  chosen: {},
  findings: [{ kind: 'unreadable', message: 'Message 3 cannot be read.', harmful: false }],
}
const shorter: JournalLook = { ...look, lastSequence: 6, messages: 6 }

describe('a journal', () => {
  it('that has grown is sound', () =>
    expect([kinds({}), kinds({ lastSequence: 12, messages: 12 })]).toEqual([[], []]))

  it.each([
    ['is shorter', { lastSequence: 9, messages: 9 }, undefined, ['rolled_back!']],
    ['has another message in the place of the last one', {}, 'other', ['replaced!']],
    ['cannot give the last message', {}, null, ['replaced!']],
    ['was made anew', { identity: 'BEAVER_x@2', lastSequence: 20, messages: 20 }, undefined, ['recreated!']],
    ['misses a message', { messages: 9 }, 'h10', ['messages_missing!']],
    ['lost data, as the server says', { lost: { messages: 0, bytes: 84 } }, 'h10', ['server_lost_data!']],
  ] as const)('that %s is not', (_, seen, hash, found) => expect(kinds(seen, hash)).toEqual(found))

  it.each([
    { max_age: 1 },
    { discard: 'old' },
    { storage: 'memory' },
    { retention: 'interest' },
    { deny_purge: false },
    { allow_rollup_hdrs: true },
    { max_msgs_per_subject: 1 },
    { subject_transform: { src: '>', dest: 'x.>' } },
    { sources: [{ name: 'OTHER' }] },
    { mirror: { name: 'OTHER' } },
    { allow_msg_ttl: true },
    { persist_mode: 'async' },
    { subjects: [logs] },
  ])('with the setting %o may lose or change entries', (setting) =>
    expect(withSetting(setting)).toEqual(['configuration!']),
  )

  it('is sound with and without `deny_delete`: an archive needs one without, and earlier versions made one with it', () => {
    expect(withSetting({ deny_delete: true })).toEqual([])
    expect(withSetting({ deny_delete: false })).toEqual([])
  })

  it('misses no message that is in an archive, and each other one', () => {
    expect(kinds({ messages: 6, archived: 4 })).toEqual([])
    expect(kinds({ messages: 5, archived: 4 })).toEqual(['messages_missing!'])
    expect(kinds({ messages: 6, archived: 3 })).toEqual(['messages_missing!'])
  })

  it.each([
    { max_msgs: 100 },
    { max_bytes: 1 },
    { republish: { src: '>', dest: 'x.>' } },
    { num_replicas: 3 },
  ])('with the setting %o loses nothing, and is told', (setting) =>
    expect(withSetting(setting)).toEqual(['configuration']),
  )

  it('that captures more is sound, and an emptied one with `discard: old` is not', () => {
    expect(withSetting({ subjects: ['>'] })).toEqual([])
    expect(withSetting({ max_msgs: 1, discard: 'old' })).toEqual(['configuration!', 'configuration!'])
  })
})

describe('an accepted state', () => {
  it('is the new mark, and settles what was accepted', () => {
    const next = acceptedMark(mark, acceptance, shorter, 'h6')
    expect(next).toMatchObject({
      sequence: 6,
      hash: 'h6',
      settled: ['Message 3 cannot be read.'],
      accepted: ['a1'],
    })
    expect(next === null ? [] : judgeJournal(next, shorter, 'h6', captured)).toEqual([])
  })

  it('is applied once: the same loss later is a finding again', () => {
    const next = acceptedMark(mark, acceptance, shorter, 'h6')
    const later = next === null ? mark : { ...next, sequence: 8, hash: 'h8' }
    expect(acceptedMark(later, acceptance, shorter, 'h6')).toBeNull()
    expect(judgeJournal(later, shorter, undefined, captured)).toMatchObject([{ kind: 'rolled_back' }])
  })

  it.each([
    ['another stream', { ...shorter, identity: 'BEAVER_x@2' }, 'h6'],
    ['other content', shorter, 'other'],
    ['a journal that is shorter still', { ...shorter, lastSequence: 5, messages: 5 }, null],
  ])('is not for %s', (_, seen, hash) => expect(acceptedMark(mark, acceptance, seen, hash)).toBeNull())
})
