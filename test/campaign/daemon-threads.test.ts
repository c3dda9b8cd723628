// The death of a worker thread inside a daemon: its loops are started again from the journal, in a new thread
// of the same daemon.
import { held, until } from '@beaver/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FakeReply, say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, testSystem, told } from '../support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

/**
 * An answer that is small on the line and fills a heap of 64 MB when it is read. (Far more of it would take
 * V8 minutes to give up.)
 */
const heapFilling = (): FakeReply => ({ body: `{"choices":[${'{},'.repeat(500_000)}{}]}` })

// V8 ends a thread whose heap is full when it can interrupt it. Within one parse it cannot: if that passes
// the limit by more than 16 MB, V8 ends the process, and another daemon or its supervisor takes over. So it
// may take a second try to see the thread die alone.
const tries = { retry: 2 }

it(
  'a provider whose answer fills the heap kills the thread, not the daemon: every loop of it goes on, one with a team too',
  tries,
  async () => {
    await using system = await testSystem(server, { daemon: { worker_heap_mb_max: 64 } })
    const [gate, node] = [held<FakeReply>(), held<FakeReply>()]
    let floods = 0
    system.provider.answerBy(({ text, results }) => {
      if (text === 'flood') return floods++ === 0 ? heapFilling() : say('survived')
      if (text.includes('<instruction ')) return node.promise
      if (text === 'team')
        return results.length === 0
          ? use(['SequentialWorkflow', { task: 't', agents: [{ name: 'a', instruction: 'do a' }] }])
          : say('as the team says')
      return results.length === 0 ? use(['echo', { text: 'a' }]) : gate.promise
    })
    const daemon = await system.daemon({ BEAVER_WORKER_THREADS: '1' })
    const [beside, team] = [
      await system.client.submit({ task: 'beside' }),
      await system.client.submit({ task: 'team' }),
    ]
    await until(
      'the loops beside it wait',
      () =>
        system.provider.about('beside').length === 2 && system.provider.about('<instruction ').length === 1,
      {
        everyMs: 5,
      },
    )
    const flood = await system.client.submit({ task: 'flood' })
    const flooded = await system.ended(flood.task_id)
    gate.settle(say('done'))
    node.settle(say('result of a'))

    expect(flooded.at(-1)).toMatchObject({
      type: 'task_completed',
      epoch: 1,
      data: { final_output: 'survived' },
    })
    expect(only(flooded, 'run_restarted')).toMatchObject([
      { data: { failure: { class: 'out_of_memory' }, restarts: 1 } },
    ])
    const others = [await system.ended(beside.task_id), await system.ended(team.task_id)]
    for (const events of others) {
      expect(events.at(-1)?.type).toBe('task_completed')
      // They waited for the model: the loss is not charged to them.
      expect(told(events)).not.toContain('run_restarted')
      expect(only(events, 'task_claimed').map((claim) => claim.data.daemon)).toEqual([daemon.id])
    }
    // What was in the journal was not asked for again: the first answer of `beside`, the root's answer and
    // the team of `team`.
    expect(system.provider.about('beside').map((request) => request.results.length)).toEqual([0, 1, 1])
    expect(
      told(others[1] ?? []).filter((type) => type === 'task_team_run_started' || type === 'node_started'),
    ).toEqual(['task_team_run_started', 'node_started'])
  },
)

it(
  'an answer that kills the thread every time fails its task after the bound, and the daemon goes on',
  tries,
  async () => {
    await using system = await testSystem(server, { daemon: { worker_heap_mb_max: 64 } })
    system.provider.answerBy(({ text }) => (text === 'flood' ? heapFilling() : say('42')))
    await system.daemon({ BEAVER_WORKER_THREADS: '1' })
    const events = await system.ended((await system.client.submit({ task: 'flood' })).task_id)
    expect(events.at(-1)).toMatchObject({
      type: 'task_failed',
      data: { failure: { class: 'out_of_memory' } },
    })
    expect(only(events, 'run_restarted')).toHaveLength(1)
    expect(
      (await system.ended((await system.client.submit({ task: 'after it' })).task_id)).at(-1)?.type,
    ).toBe('task_completed')
  },
)
