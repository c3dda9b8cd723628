// The moment in which the journal has a claim already, and the daemon that made it does not know yet.
import type { ChatProvider } from '@beaver/agent'
import type { LogId } from '@beaver/core'
import { held, until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { leaseMs, typesOf, world } from '../test/kit.ts'

const thinks: ChatProvider = {
  name: 'p',
  model: 'm',
  chat: ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
}

/**
 * A task of a daemon that died, and the claim of the next one. That daemon gets the answer of the journal
 * when `answer` is settled.
 */
async function claiming() {
  const { daemon, submit, journal, events, ...rest } = world()
  const first = daemon({ provider: thinks })
  const log = await submit({ at: first })
  await rest.passing('the model is asked', async () =>
    typesOf(await events(log)).includes('user_message_added'),
  )
  first.kill()
  const { append } = journal
  const answer = held<'stored' | 'fenced'>()
  let stored = false
  journal.append = async (claim) => {
    journal.append = append
    const outcome = await append(claim)
    stored = true
    return (await answer.promise) === 'stored' ? outcome : { kind: 'fenced' }
  }
  const one = daemon({ provider: thinks })
  await rest.passing('the claim is stored', () => stored, 500)
  expect([(await events(log)).at(-1)?.type, one.tasks.size]).toEqual(['task_claimed', 0])
  return { ...rest, log, answer, one, journal }
}

it('whoever asks for the driver waits, and a cancel that comes in this moment is obeyed', async () => {
  const { one, log, answer, ended } = await claiming()
  const driver = one.driver(log)
  answer.settle('stored')
  await (await driver)?.cancel('enough')
  expect(typesOf(await ended(log)).slice(-3)).toEqual([
    'task_cancel_requested',
    'run_cancelled',
    'task_cancelled',
  ])
})

it('a claim that is refused leaves no driver', async () => {
  const { one, log, answer } = await claiming()
  const driver = one.driver(log)
  answer.settle('fenced')
  expect(await driver).toBe(null)
})

it('nobody drives a task of which the daemon does not know', async () => {
  const { one, log } = await claiming()
  expect(await one.driver({ ...log, task: 'other' } as LogId)).toBe(null)
})

it('a delivery that another daemon hands on in this moment is taken', async () => {
  const { one, log, answer, journal, clock } = await claiming()
  const queue = journal.queue({ leaseMs, clock })
  expect(one.takeOver(queue.adopt({ log, deliveries: 1, lease: 'of another daemon', cause: 'woken' }))).toBe(
    'taken',
  )
  answer.settle('stored')
  await until('it is driven', () => one.tasks.size === 1)
})

it('a task of a daemon that died is counted as taken over once, and a released one is not', async () => {
  const { daemon, submit, passing, events } = world()
  const first = daemon({ provider: thinks })
  const log = await submit({ at: first })
  const asked = async (times: number): Promise<boolean> =>
    typesOf(await events(log)).filter((type) => type === 'task_claimed').length === times &&
    typesOf(await events(log)).includes('user_message_added')
  await passing('the model is asked', () => asked(1))
  first.kill()
  const counts = { second: 0, third: 0 }
  const second = daemon({ provider: thinks, onTakenOver: () => void counts.second++ })
  await passing('another daemon has it', () => asked(2), 500)
  const third = daemon({ provider: thinks, onTakenOver: () => void counts.third++ })
  const drained = second.drain(0)
  await passing('the third daemon has it', () => asked(3), 500)
  await drained
  expect(counts).toEqual({ second: 1, third: 0 })
  third.kill()
})
