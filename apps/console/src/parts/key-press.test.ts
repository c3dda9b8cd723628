import { describe, expect, it } from 'vitest'
import { type Press, pressed } from './key-press.ts'

const press = (key: string, over: Partial<Press> = {}): Press => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  repeat: false,
  defaultPrevented: false,
  isTyping: false,
  isInDialog: false,
  timeStamp: 10_000,
  ...over,
})
const names = ['a', 'i', '?', 'g t', 'g i', 'Ctrl+k']

it('a key acts', () => expect(pressed(press('a'), null, names)).toEqual({ act: 'a', begun: null }))

it('a key that nobody has said does nothing', () =>
  expect(pressed(press('x'), null, names)).toEqual({ act: null, begun: null }))

describe('a key does not act', () => {
  it.each([
    ['with Ctrl', { ctrlKey: true }],
    ['with Meta', { metaKey: true }],
    ['with Alt', { altKey: true }],
    ['while it is held', { repeat: true }],
    ['while the person types', { isTyping: true }],
    ['behind a dialog', { isInDialog: true }],
    ['if something on the page has used it', { defaultPrevented: true }],
  ])('%s', (_, over) => expect(pressed(press('a', over), null, names).act).toBeNull())
})

describe('two keys, one after the other,', () => {
  const begun = { key: 'g', at: 10_000 }
  it('act together', () => {
    expect(pressed(press('g'), null, names)).toEqual({ act: null, begun })
    expect(pressed(press('i', { timeStamp: 11_000 }), begun, names)).toEqual({ act: 'g i', begun: null })
  })
  it('do nothing if they are none: the second does not act alone', () =>
    expect(pressed(press('a'), begun, names)).toEqual({ act: null, begun: null }))
  it('are two keys of their own after a while', () =>
    expect(pressed(press('a', { timeStamp: 12_001 }), begun, names).act).toBe('a'))
  it('may have Shift between them', () =>
    expect(pressed(press('Shift'), begun, names)).toEqual({ act: null, begun }))
  it('are forgotten when the person begins to type', () =>
    expect(pressed(press('i', { isTyping: true }), begun, names)).toEqual({ act: null, begun: null }))
})

describe('a key with Ctrl or Cmd', () => {
  it.each([{ ctrlKey: true }, { metaKey: true }, { ctrlKey: true, isTyping: true }])('acts: %o', (over) =>
    expect(pressed(press('k', over), null, names).act).toBe('Ctrl+k'),
  )
  it.each([
    { ctrlKey: true, altKey: true },
    { ctrlKey: true, isInDialog: true },
    { ctrlKey: true, repeat: true },
  ])('does not act: %o', (over) => expect(pressed(press('k', over), null, names).act).toBeNull())
})
