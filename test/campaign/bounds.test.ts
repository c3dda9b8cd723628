// Bounds that are times of the clock: of a stop, and of an answer beside a flood. A gate on a busy machine
// cannot judge them.
import { held, until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { manyFaults, strangeLog } from '../support/garbage.ts'
import { freeze } from '../support/freeze.ts'
import { ownServer, testServer } from '../support/nats.ts'
import { workingIn } from '../support/processes.ts'
import { testSystem, told } from '../support/system.ts'

/**
 * A stop may take 4.5 s, and the end of the process after it 1.5 s
 * (packages/platform/src/process/lifeline.ts). The rest is a moment.
 */
const stopMsMax = 6_500

const msOf = async (work: Promise<unknown>): Promise<number> => {
  const since = performance.now()
  await work
  return performance.now() - since
}

it.each(['thrash', 'system call', 'wait'])(
  'SIGTERM ends a daemon in time while a tool holds up a thread: %s',
  async (what) => {
    await using server = await testServer()
    await using system = await testSystem(server, {
      tools: [new URL('../support/bad-tools.ts', import.meta.url).pathname],
    })
    system.provider.answerBy(() => use(['patient', { what }]))
    const daemon = await system.daemon()
    const { task_id } = await system.client.submit({ task: 'hold' })
    await system.reached(task_id, 'the tool runs', (all) => told(all).includes('tool_call_started'))
    daemon.kill('SIGTERM')
    expect(await msOf(daemon.exited)).toBeLessThan(stopMsMax)
    expect(told(await system.events(task_id)).at(-1)).toBe('task_released')
    // A program outlives the daemon whose tool called it.
    for (const { pid } of workingIn(system.workspace)) process.kill(pid, 'SIGKILL')
  },
)

it('SIGTERM ends a daemon in time while NATS does not answer', async () => {
  await using server = await ownServer()
  await using system = await testSystem(server)
  system.provider.answerBy(() => held<FakeReply>().promise)
  const daemon = await system.daemon()
  await system.client.submit({ task: 'think' })
  await until('the model is asked', () => system.provider.requests.length === 1)
  await freeze(server.pid)
  try {
    daemon.kill('SIGTERM')
    expect(await msOf(daemon.exited)).toBeLessThan(stopMsMax)
  } finally {
    process.kill(server.pid, 'SIGCONT')
  }
})

it('a task is answered within 20 s behind 3,000 acceptances of 27 kB that are no records', async () => {
  await using server = await testServer()
  await using system = await testSystem(server)
  system.provider.answerBy(() => say('42'))
  const daemon = await system.daemon()
  for (let i = 0; i < 3_000; i++) system.nc.publish(system.subjects.accepted(strangeLog()), manyFaults)
  await system.nc.flush()
  expect(await msOf(system.client.run({ task: 'go on' }, { timeoutMs: 60_000 }))).toBeLessThan(20_000)
  expect(daemon.stderr).not.toMatch(/callback_failed|task_crashed|UnhandledPromise|uncaught/)
})
