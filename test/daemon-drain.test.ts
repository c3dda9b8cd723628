// SIGTERM: the daemon lets running tasks finish for a while, hands over the rest, and exits 0. Nothing is lost.
import { clientOn } from '@beaver/client'
import { foldTask } from '@beaver/core'
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, testSystem, told } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('lets a running task finish within the grace period', async () => {
    await using system = await testSystem(server)
    const answer = held<FakeReply>()
    system.provider.answerBy(() => answer.promise)
    const daemon = await system.daemon({ BEAVER_DRAIN_MS: '10000' })
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the provider is asked', () => system.provider.requests.length === 1, { everyMs: 5 })
    daemon.kill(signal)
    const impatient = clientOn(system.nc, system.subjects, { daemonMs: 0 })
    await until(
      'it takes no more requests',
      () =>
        impatient.submit({ task: 'late' }).then(
          () => false,
          (error: { code: string }) => error.code === 'no_daemon',
        ),
      { everyMs: 20 },
    )
    answer.settle(say('42'))
    expect(await daemon.exited).toEqual({ code: 0, signal: null })
    const events = await system.events(task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', epoch: 1, data: { final_output: '42' } })
  })
})

describe('SIGTERM', () => {
  it.each(['approves a call', 'cancels'])('a person who %s while a daemon drains is heard, whoever has the task then', async (what) => {
    await using system = await testSystem(server, { permissions: { rules: [{ tool: 'echo', decision: 'ask' }] } })
    system.provider.answerBy(({ results }) => (results.length === 0 ? use(['echo', { text: 'a' }]) : say('done')))
    const one = await system.daemon({ BEAVER_DRAIN_MS: '20000' })
    const { task_id } = await system.client.submit({ task: 'say it' })
    await system.reached(task_id, 'a call waits', (events) => told(events).includes('approval_requested'))
    one.kill('SIGTERM')
    const takesNone = (): Promise<boolean> =>
      system.client.status().then(
        () => false,
        (error: { code: string }) => error.code === 'no_daemon',
      )
    await until('it takes no more requests', takesNone, { everyMs: 20 })
    await system.daemon()
    if (what === 'cancels') await system.client.cancel(task_id, 'enough')
    else await system.client.decide(task_id, { callId: 'call_0', approved: true })
    const events = await system.ended(task_id, 5_000)
    expect(only(events, 'task_claimed')[0]?.data.daemon).toBe(one.id)
    expect(told(events).filter((type) => type === (what === 'cancels' ? 'task_cancel_requested' : 'approval_granted'))).toHaveLength(1)
    expect(events.at(-1)?.type).toBe(what === 'cancels' ? 'task_cancelled' : 'task_completed')
    expect(await one.exited).toEqual({ code: 0, signal: null })
  })

  it('hands over what does not finish: released, not cancelled; the request to the provider is given up; the next daemon completes it', async () => {
    await using system = await testSystem(server)
    const never = held<FakeReply>()
    system.provider.answerBy(({ number, results }) =>
      number === 1 ? use(['echo', { text: 'a' }]) : number === 2 ? never.promise : say(`saw ${results.length} result`),
    )
    const one = await system.daemon({ BEAVER_DRAIN_MS: '100' })
    const { task_id } = await system.client.submit({ task: 'think' })
    await until('the provider is asked again', () => system.provider.requests.length === 2, { everyMs: 5 })
    const begun = performance.now()
    one.kill('SIGTERM')
    expect(await one.exited).toEqual({ code: 0, signal: null })
    expect(performance.now() - begun).toBeLessThan(5_000)
    expect(told(await system.events(task_id)).at(-1)).toBe('task_released')
    await until('the request is given up', () => system.provider.requests[1]?.abandoned, { everyMs: 5 })
    const two = await system.daemon()
    const events = await system.ended(task_id)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'saw 1 result' } })
    expect(only(events, 'task_claimed').map((claim) => [claim.data.daemon, claim.epoch])).toEqual([
      [one.id, 1],
      [two.id, 2],
    ])
    expect(told(events)).not.toContain('run_cancelled')
    expect(foldTask(events).ownersLost).toBe(0)
    expect(only(events, 'assistant_message_added')).toHaveLength(2)
  })

  it('with many tasks, a team and a parked one: every one is handed over at once to the daemon that is there', async () => {
    await using system = await testSystem(server)
    let finish = false
    const never = held<FakeReply>()
    system.provider.answerBy(({ text, results }) => {
      if (!finish)
        return text.startsWith('team')
          ? use([
              'ConcurrentWorkflow',
              {
                task: 't',
                agents: [
                  { name: 'a', instruction: 'do a' },
                  { name: 'b', instruction: 'do b' },
                ],
              },
            ])
          : never.promise
      return say(results.length > 0 ? 'as the team says' : 'done')
    })
    const patient = { BEAVER_LEASE_MS: '30000' }
    const one = await system.daemon({ BEAVER_DRAIN_MS: '0', ...patient })
    const tasks = await Promise.all(['x', 'y', 'team', 'z'].map((task) => system.client.submit({ task })))
    const first = await system.client.submit({ task: 'first', session_id: 's' })
    const parked = await system.client.submit({ task: 'second', session_id: 's' })
    await until('all that can run does', () => system.provider.requests.length >= 7, { everyMs: 5 })
    finish = true
    const two = await system.daemon(patient)
    const begun = performance.now()
    one.kill('SIGTERM')
    expect(await one.exited).toEqual({ code: 0, signal: null })
    const logs = await Promise.all([...tasks, first, parked].map(({ task_id }) => system.ended(task_id)))
    // No lease had to run out.
    expect(performance.now() - begun).toBeLessThan(15_000)
    for (const events of logs) {
      expect(events.at(-1)).toMatchObject({ type: 'task_completed' })
      expect(foldTask(events).ownersLost).toBe(0)
      expect(only(events, 'task_claimed').at(-1)?.data.daemon).toBe(two.id)
    }
  })

  it('of an idle daemon is over at once', async () => {
    await using system = await testSystem(server)
    const daemon = await system.daemon({ BEAVER_DRAIN_MS: '60000' })
    const begun = performance.now()
    daemon.kill('SIGTERM')
    expect(await daemon.exited).toEqual({ code: 0, signal: null })
    expect(performance.now() - begun).toBeLessThan(20_000)
  })
})
