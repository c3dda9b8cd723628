import { expect, it } from 'vitest'
import { type Choice, fitting, moved, offered } from './choices.ts'

const choice = (kind: string, title: string, more: string | null = null): Choice => ({
  id: `${kind} ${title}`,
  kind,
  title,
  more,
  key: null,
  run: () => {},
})
const all = [choice('Page', 'Tasks'), choice('Action', 'Shows the inbox'), choice('Page', 'Inbox', '.*<b>')]

it('all words have to occur, in any order and case, and a title that begins so comes first', () => {
  const titles = (text: string): string[] => fitting(all, text).map(({ title }) => title)
  expect(titles('INBOX')).toEqual(['Inbox', 'Shows the inbox'])
  expect(titles(' inbox  page ')).toEqual(['Inbox'])
  expect(titles('inbox nothing')).toEqual([])
  expect(titles('')).toEqual(['Tasks', 'Shows the inbox', 'Inbox'])
})

it('takes words as text, not as a pattern', () => {
  expect(fitting(all, '.*').map(({ title }) => title)).toEqual(['Inbox'])
  expect(fitting(all, '(')).toEqual([])
})

it.each([
  ['ArrowDown', 2, 0],
  ['ArrowUp', 0, 2],
  ['PageDown', 0, 2],
  ['PageUp', 2, 0],
  ['x', 1, null],
])('%s leads from line %i to %s of three', (key, at, to) => expect(moved(key, at, 3)).toBe(to))

it('offers no decision that the person has not chosen', () => {
  const decision: Choice = { ...choice('Action', 'Allows the call'), decides: true }
  expect(offered([decision, ...all], null)).toBe(1)
  expect(offered([decision], null)).toBe(-1)
  expect(offered([decision, ...all], decision.id)).toBe(0)
  expect([moved('ArrowDown', -1, 3), moved('ArrowUp', -1, 3)]).toEqual([0, 2])
})

it('nothing moves in an empty list', () => expect(moved('ArrowDown', 0, 0)).toBeNull())
