import { expect, it } from 'vitest'
import { goneOwners } from './task-commands.ts'

it('an owner counts as gone for a quarter of a second after it was found gone, and no other owner does', () => {
  let nowMs = 1_000
  const gone = goneOwners({ now: () => nowMs })
  gone.add('daemon_1')
  nowMs += 249
  expect([gone.has('daemon_1'), gone.has('daemon_2')]).toEqual([true, false])
  nowMs += 1
  expect(gone.has('daemon_1')).toBe(false)
  gone.add('daemon_1')
  expect(gone.has('daemon_1')).toBe(true)
})

it('keeps at most a thousand owners', () => {
  const gone = goneOwners({ now: () => 0 })
  for (let i = 0; i <= 1_000; i++) gone.add(`daemon_${i}`)
  expect([gone.has('daemon_0'), gone.has('daemon_1000')]).toEqual([false, true])
})
