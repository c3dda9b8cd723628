// Teams at size, through a real daemon: chains, fan-outs and fan-ins of hundreds and thousands of nodes, and
// steps of the team that one journal message cannot hold.
import type { TaskOutcome } from '@beaver/client'
import { type RecordedEvent, splitBatch } from '@beaver/core/journal'
import { natsJournal } from '@beaver/nats'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { refuse, say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, testSystem, type TestSystem } from '../support/system.ts'

let server: TestServer
let system: TestSystem
const calls = new Map<string, readonly [workflow: string, args: object]>()

beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, { team: { agents_max: 2_000, concurrent_nodes_max: 64 } })
  system.provider.answerBy(({ text, results }) => {
    const call = calls.get(text)
    if (call !== undefined) return results.length === 0 ? use(call) : say('as the team says')
    const part = /<instruction [^>]*>\n(\S*) (\S+)/.exec(text)
    return part?.[1] === 'fail' ? refuse(401) : say(`did ${part?.[2]}`)
  })
  await system.daemon()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function run(
  task: string,
  workflow: string,
  args: object,
): Promise<{ outcome: TaskOutcome; events: readonly RecordedEvent[] }> {
  calls.set(task, [workflow, { task, ...args }])
  const outcome = await system.client.run({ task })
  const events: RecordedEvent[] = []
  for await (const each of system.client.watch(outcome.task_id)) events.push(each)
  return { outcome, events }
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
const agents = (
  count: number,
  instruction: (i: number) => string = (i) => `part ${i}`,
  name: (i: number) => string = (i) => `n${i}`,
) => numbers(count).map((i) => ({ name: name(i), instruction: instruction(i) }))

/** The entries of a task's log in its stream: how many records each holds, and of how many bytes. */
async function entriesOf(taskId: string, sessionId: string): Promise<{ records: number; bytes: number }[]> {
  const journal = await natsJournal(system.nc, system.subjects)
  const entries = await journal.read({ tenant: 'local', session: sessionId, task: taskId } as never)
  return entries.map(({ payload }) => ({ records: splitBatch(payload).length, bytes: payload.length }))
}

it('a chain of 100 runs in order, each node with the output of the one before it', async () => {
  const { outcome, events } = await run('chain', 'SequentialWorkflow', { agents: agents(100) })
  expect([outcome.status, outcome.outputs]).toEqual(['completed', [{ node_id: 'n99', output: 'did 99' }]])
  expect(only(events, 'node_completed').map((event) => event.data.node_id)).toEqual(
    numbers(100).map((i) => `n${i}`),
  )
  const told = only(events, 'user_message_added').map((event) => event.data.content)
  expect(told.at(-1)).toMatch(
    /<dependency_output from="n98" mark="(\w+)">\ndid 98\n<\/dependency_output mark="\1">/,
  )
})

it('500 nodes into one: it gets the outputs of all, in declared order', async () => {
  const sink = { name: 'sink', instruction: 'part sink' }
  const edges = numbers(500).map((i) => [`n${499 - i}`, 'sink'])
  const { outcome, events } = await run('fan-in', 'GraphWorkflow', {
    agents: [...agents(500), sink],
    edges,
    output_agent: 'sink',
  })
  expect([outcome.status, outcome.outputs]).toEqual(['completed', [{ node_id: 'sink', output: 'did sink' }]])
  const told = only(events, 'user_message_added').at(-1)?.data.content ?? ''
  expect(
    [...told.matchAll(/<dependency_output from="(\w+)" mark="\w+">\n(.*)\n/g)].map(
      ([, from, output]) => `${from}: ${output}`,
    ),
  ).toEqual(numbers(500).map((i) => `n${i}: did ${i}`))
})

it('512 agents with instructions of 4 KB each run: the graph is one payload of 2 MB', async () => {
  const { outcome, events } = await run('large', 'ConcurrentWorkflow', {
    agents: agents(512, (i) => `part ${i} ${'文'.repeat(1_400)}`),
  })
  expect(outcome.status).toBe('completed')
  expect(outcome.outputs.map((each) => each.output)).toEqual(numbers(512).map((i) => `did ${i}`))
  expect(JSON.stringify(only(events, 'task_team_run_started')[0]?.data).length).toBeGreaterThan(700_000)
})

it('a node that fails and blocks 1,999 others ends the team: the step is more than a message holds, and lands whole', async () => {
  const name = (i: number): string => `agent number ${i} of a long chain`
  const { outcome, events } = await run('blocked', 'SequentialWorkflow', {
    agents: agents(2_000, (i) => `${i === 0 ? 'fail' : 'part'} ${i}`, name),
  })
  expect([outcome.status, outcome.failure?.class]).toEqual(['incomplete', 'provider_refused'])
  expect(only(events, 'node_blocked').map((event) => [event.data.node_id, event.data.cause_node_id])).toEqual(
    numbers(1_999).map((i) => [name(i + 1), name(0)]),
  )
  expect(events.map((event) => event.taskseq)).toEqual(events.map((_, i) => i + 1))
  const entries = await entriesOf(outcome.task_id, outcome.session_id)
  expect(entries.filter((entry) => entry.records > 100).length).toBeGreaterThan(1)
  expect(Math.max(...entries.map((entry) => entry.bytes))).toBeLessThan(1024 * 1024)
})
