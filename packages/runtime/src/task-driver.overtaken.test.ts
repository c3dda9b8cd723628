// A claim that is refused because another daemon was faster, and that other daemon dies.
import type { ChatAnswer, ChatProvider } from '@beaver/agent'
import { event } from '@beaver/core'
import { draft } from '@beaver/core/journal'
import { memoryBlobStore, says, scriptedProvider } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { leaseMs, typesOf, world } from '../test/kit.ts'
import { loadTask } from './load-task.ts'
import { TaskLog } from './task-log.ts'

describe('a daemon whose claim is refused because another one claimed the task', () => {
  it('looks again when it was woken meanwhile: the other daemon may be gone', async () => {
    const { daemon, submit, events, passing, journal, clock } = world()
    const append = journal.append
    let others = 0
    const log = await submit()
    journal.append = async (claim) => {
      if (others++ > 0) return append(claim)
      const { events: known, head, revision } = await loadTask(log, { journal, blobs: memoryBlobStore() })
      expect(known).toHaveLength(1)
      const other = new TaskLog(
        log,
        { head, revision, epoch: 1 },
        { journal: { ...journal, append }, blobs: memoryBlobStore(), clock, source: '/beaver/daemons/gone' },
      )
      await other.append([draft(event('task_claimed', { daemon: 'gone' }))])
      await journal.queue({ leaseMs, clock }).wake(log)
      let ticks = 0
      await passing('the wake comes', () => ++ticks > 20, 1)
      return append(claim)
    }
    const since = clock.now()
    daemon({ provider: scriptedProvider([says('42')]) })
    await passing('it ends', async () => typesOf(await events(log)).includes('task_completed'))
    expect(clock.now() - since).toBeLessThan(leaseMs / 2)
    expect(
      (await events(log)).flatMap(({ type, epoch }) => (type === 'task_claimed' ? [epoch] : [])),
    ).toEqual([1, 2])
  })
})

describe('a daemon that was stopped for longer than its lease', () => {
  it('ends the calls of a task that another daemon took over, as soon as it goes on', async () => {
    const { daemon, submit, events, passing, ended } = world()
    const asked: AbortSignal[] = []
    const waits: ChatProvider = {
      name: 'p',
      model: 'm',
      chat: ({ signal }) => new Promise(() => void asked.push(signal)),
    }
    const old = daemon({ provider: waits })
    const log = await submit()
    await passing('the old owner asks its model', () => asked.length === 1)
    old.stall()
    daemon({ provider: scriptedProvider([says('42')]) })
    await ended(log)
    expect(asked[0]?.aborted).toBe(false)
    old.goOn()
    await passing('its call is ended', () => asked[0]?.aborted === true, 1)
    await passing('it let go of the task', () => old.tasks.size === 0)
    expect(
      (await events(log)).flatMap(({ type, epoch }) => (type === 'task_claimed' ? [epoch] : [])),
    ).toEqual([1, 2])
  })

  it('keeps a task that nobody took over', async () => {
    const { daemon, submit, passing, clock, ended } = world()
    const { promise, resolve } = Promise.withResolvers<ChatAnswer>()
    const waits: ChatProvider = { name: 'p', model: 'm', chat: () => promise }
    const old = daemon({ provider: waits })
    const log = await submit()
    await passing('it asks its model', () => old.tasks.size === 1)
    old.stall()
    clock.advance(3 * leaseMs)
    old.goOn()
    await passing('it goes on', () => true)
    const usage = { input_tokens: 1, output_tokens: 1, calls: 1 }
    resolve({ content: '42', toolCalls: [], finishReason: 'stop', usage, model: 'm', responseId: null })
    expect(typesOf(await ended(log)).filter((type) => type === 'task_claimed')).toHaveLength(1)
  })
})
