// A daemon that drains while it claims a task: the claim lands, and the task must not look as if it had lost
// its owner.
import type { ChatAnswer } from '@beaver/agent'
import { event } from '@beaver/core'
import { foldTask } from '@beaver/core/fold'
import { held, says, scriptedProvider } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { typesOf, world } from '../test/kit.ts'

describe('a task that is being claimed when the daemon drains', () => {
  it.each([
    ['for the first time', []],
    [
      'after another daemon let go of it',
      [
        event('task_claimed', { daemon: 'gone' }),
        event('task_released', { daemon: 'gone', reason: 'drained' }),
      ],
    ],
  ])('%s is handed over, and has lost no owner', async (_, before) => {
    const { daemon, submit, events, ended, write, passing, journal } = world()
    const log = await submit()
    for (const each of before) await write(log, each)
    const { promise: goOn, resolve: letGo } = Promise.withResolvers<void>()
    const { append } = journal
    let claiming = false
    journal.append = async (entries) => {
      // A daemon takes a new task by its first entry: where more was written since, its first claim is
      // refused.
      if (entries.expectedRevision === 0 && before.length > 0) return append(entries)
      claiming = true
      await goOn
      return append(entries)
    }
    const first = daemon({ provider: scriptedProvider([held<ChatAnswer>().promise]), id: 'first' })
    await passing('it claims the task', () => claiming)
    let isDrained = false
    const drained = first.drain(0).then(() => (isDrained = true))
    let ticks = 0
    await passing('it is told to hand over what it holds', () => ++ticks > 5)
    letGo()
    await passing('it is drained', () => isDrained)
    await drained
    expect((await events(log)).at(-1)).toMatchObject({ type: 'task_released', data: { daemon: 'first' } })
    expect(foldTask(await events(log))).toMatchObject({ owner: null, ownersLost: 0 })

    daemon({ provider: scriptedProvider([says('42')]), id: 'second' })
    const all = await ended(log)
    expect(typesOf(all).at(-1)).toBe('task_completed')
    expect(all.filter(({ type }) => type === 'task_claimed').length).toBe(before.length / 2 + 2)
  })
})
