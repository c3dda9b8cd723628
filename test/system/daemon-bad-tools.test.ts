// Tools that end, break or fill the thread they share with other agents, or kill the daemon: only their own
// calls suffer.
import { ownerLosses } from '@beaver/core/fold'
import { type Held, held, until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DaemonProcess } from '../support/daemon.ts'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, type TestSystem, testSystem, told } from '../support/system.ts'

const badTools = new URL('../support/bad-tools.ts', import.meta.url).pathname

let server: TestServer
let system: TestSystem
let daemon: DaemonProcess
/** What the model answers to the innocent tasks after their call. */
let gate: Held<FakeReply>
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, { tools: [badTools], daemon: { worker_heap_mb_max: 64 } })
  // A task `<tool>: <what>` calls that tool once and then says what it read; the innocent ones call `echo`
  // and wait for `gate`.
  system.provider.answerBy(({ text, results }) => {
    const [tool = '', what] = text.split(': ')
    if (what === undefined) return results.length === 0 ? use(['echo', { text: 'a' }]) : gate.promise
    return results.length === 0 ? use([tool, { what }]) : say(`read ${results.at(-1)}`)
  })
  daemon = await system.daemon()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** Starts tasks with a gate of their own. Resolves when all of them wait for it. */
async function startInnocents(name: string, count: number): Promise<readonly string[]> {
  gate = held<FakeReply>()
  const tasks = await Promise.all(
    Array.from({ length: count }, (_, i) => system.client.submit({ task: `${name} ${i}` })),
  )
  const waiting = (): number =>
    new Set(system.provider.about(name).flatMap(({ results, text }) => (results.length === 1 ? [text] : [])))
      .size
  await until('the innocent ones wait', () => waiting() === count, { everyMs: 10, withinMs: 40_000 })
  return tasks.map(({ task_id }) => task_id)
}

describe('with ten innocent tasks on the one thread', () => {
  let tasks: readonly string[]
  beforeAll(async () => void (tasks = await startInnocents('innocent', 10)))

  const run = async (task: string) => system.ended((await system.client.submit({ task })).task_id, 50_000)
  const resultsOf = (events: Awaited<ReturnType<typeof run>>) =>
    only(events, 'tool_result_recorded').map(({ data }) => data)

  it.each([
    ['bad', 'exit', 'process.exit'],
    ['bad', 'exit later', 'process.exit'],
    ['bad', 'throw later', 'thrown later'],
    ['bad', 'reject unheard', 'rejected unheard'],
    ['bad', 'kill itself', 'process.kill'],
    ['once', 'throw later', 'thrown later'],
    ['pure', 'exit', 'process.exit'],
    ['pure', 'throw later', 'thrown later'],
  ])('the tool "%s" that does "%s" ends its call and no thread', async (tool, what, words) => {
    const events = await run(`${tool}: ${what}`)
    expect(events.at(-1)?.type).toBe('task_completed')
    expect(resultsOf(events)).toMatchObject([
      { success: false, error: 'tool_crash', content: expect.stringContaining(words) as string },
    ])
    expect(told(events)).not.toContain('run_restarted')
  })

  it.each([
    ['bad', 'end the thread', 'tool_crash'],
    ['pure', 'end the thread', 'tool_crash'],
    // A call that may not be made twice is in doubt: the model hears of that, and may call again.
    ['once', 'end the thread', 'in_doubt'],
    ['bad', 'fill the heap', 'out_of_memory'],
  ])(
    'the tool "%s" that does "%s" costs its run one thread, and then only its call: %s',
    async (tool, what, error) => {
      const events = await run(`${tool}: ${what}`)
      expect(events.at(-1)?.type).toBe('task_completed')
      expect(only(events, 'run_restarted')).toMatchObject([{ data: { restarts: 1, suspect_tools: [tool] } }])
      expect(resultsOf(events)).toMatchObject([{ success: false, error }])
    },
    60_000,
  )

  it('one that throws after its call has ended harms nobody', async () => {
    const events = await run('bad: throw after its end')
    expect(events.at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: 'read done already' },
    })
  })

  it('the innocent tasks all complete, without a charge, and their answers are not asked for again', async () => {
    gate.settle(say('done'))
    for (const task of tasks) {
      const events = await system.ended(task)
      expect(told(events).at(-1)).toBe('task_completed')
      expect(told(events)).not.toContain('run_restarted')
      expect(only(events, 'assistant_message_added')).toHaveLength(2)
    }
  })
})

// The last one: it ends the daemon. A pure tool leaves no trace, so that all of them are suspect and the
// death is not charged: packages/core/src/fold/owner-losses.test.ts.
it('the tool that kills the daemon is the only suspect: no death is charged to the tasks beside it', async () => {
  const tasks = await startInnocents('bystander', 5)
  const { task_id } = await system.client.submit({ task: 'bad: kill the daemon' })
  expect(await daemon.exited).toMatchObject({ signal: 'SIGKILL' })
  expect(ownerLosses(await system.events(task_id))).toMatchObject({
    lost: 1,
    lastCharged: true,
    suspects: { names: ['bad'] },
  })
  for (const task of tasks)
    expect(ownerLosses(await system.events(task))).toMatchObject({
      lost: 1,
      charged: 0,
      suspects: { names: [] },
    })
})
