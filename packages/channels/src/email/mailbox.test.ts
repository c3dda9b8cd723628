import { expect, it } from 'vitest'
import { SenderRate } from './mailbox.ts'

/** Whether a mail is accepted. If so, it is counted. */
const taken = (rate: SenderRate, sender: string, minute: number): boolean => {
  const isTaken = !rate.isTooMany(sender, minute * 60_000)
  if (isTaken) rate.count(sender, minute * 60_000)
  return isTaken
}

it('counts the mails of a sender in an hour by the time when they came', () => {
  const rate = new SenderRate(2)
  const minutes = (...all: readonly number[]): readonly boolean[] =>
    all.map((each) => taken(rate, 'ada@x', each))
  expect(minutes(0, 10, 20, 30, 61, 62, 71)).toEqual([true, true, false, false, true, false, true])
  expect(taken(rate, 'bob@x', 0)).toBe(true)
  // A backlog of a day.
  expect(minutes(1_000, 1_040, 1_080, 1_120)).toEqual([true, true, true, true])
})

it('remembers only so many senders', () => {
  const rate = new SenderRate(1)
  for (let i = 0; i < 20_000; i++) expect(taken(rate, `s${i}@x`, 0)).toBe(true)
  expect([taken(rate, 's0@x', 0), taken(rate, 's19999@x', 0)]).toEqual([true, false])
})
